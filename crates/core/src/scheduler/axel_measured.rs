//! Axel by measured delays: acceleration also by the time for which a packet has waited upstream
//! (Pincheira 1994, section 5).
//!
//! Axel accelerates a flow while its backlog at this server grows. A burst that an earlier server
//! has spread no longer shows there. As under FIFO+, each packet carries the sum c of its waiting
//! times at the earlier hops less the mean waiting times there. The difference of c between two
//! packets of a flow is the smoothing that has occurred between them.
//!
//! The rule is Axel's with another measure of the flow's lag in place of the backlog b / r:
//! - `"supplement"`: lag = b / r + c;
//! - `"replace"`: lag = c.
//!
//! Upon each packet, `δ = min(lag, W/r) − min(lag', W/r)` where the lag has grown since the flow's
//! previous packet, from lag' to lag; else 0. The bound of W/r on a flow's gain stays.
//!
//! Choices where the report is silent:
//! - The expected delay at an upstream hop is the mean over all packets of all flows there, as
//!   under FIFO+. A mean that stays the same cancels out of the differences.
//! - A lag may be negative: the packet was faster than the mean.
//! - The first packet of a flow has no packet before it: its δ is zero.
//!
//! Its price beside Axel: a field in every packet, with the accuracy of the clock, and a mean at
//! every port.

use super::Stamped;
use super::axel::accelerate;
use super::mean_wait::MeanWait;
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters, words,
};
use crate::units::{Span, Time};

words! {
    /// The part of the measured delays in a flow's lag.
    pub enum Upstream {
        /// They are added to the backlog.
        Supplement = "supplement",
        /// They are put in its place.
        Replace = "replace",
    }
}

parameters! {
    /// Parameters of Axel by measured delays.
    #[derive(Copy)]
    pub struct AxelMeasuredParams {
        /// Server at which a flow's backlog is counted: an ideal one that serves the flow alone at
        /// its reserved rate, or the port itself
        backlog: Backlog = Backlog::Ideal,
        /// Measured delays that a flow is accelerated by: those at the hops before, added to the
        /// backlog or in its place
        upstream: Upstream = Upstream::Supplement,
    }
}

impl PolicyParams for AxelMeasuredParams {
    type Policy = Stamped<Restamped<AxelMeasured>>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "axel-measured",
        title: "Axel by measured delays",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Axel that also accelerates a flow whose packets have waited longer and longer at the hops \
               before: a burst that an earlier hop has spread still passes quickly. Packets carry the \
               deviation of their delay from the mean.",
        source: "Pincheira 1994, section 5",
        params: AxelMeasuredParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Deviation,
    };

    fn make(&self) -> Result<Self::Policy, Refused> {
        let rule = AxelMeasured { upstream: self.upstream, mean_wait: MeanWait::default() };
        Ok(Restamped::scheduler(rule, self.backlog))
    }

    fn example() -> AxelMeasuredParams {
        AxelMeasuredParams { backlog: Backlog::Ideal, upstream: Upstream::Replace }
    }
}

/// The rule of Axel by measured delays.
pub struct AxelMeasured {
    upstream: Upstream,
    mean_wait: MeanWait,
}

impl Restamp for AxelMeasured {
    /// Lag of the flow's previous packet in ticks; `None` before its first one.
    type Own = Option<i128>;

    #[inline]
    fn stamp(&self, latest: Time, lag_before: &mut Option<i128>, arrival: &Arrival) -> Time {
        let carried = i128::from(arrival.carry);
        //= pincheira1994 5
        let lag = match self.upstream {
            Upstream::Supplement => i128::from(arrival.backlog.ticks()) + carried,
            Upstream::Replace => carried,
        };
        let before = lag_before.replace(lag).unwrap_or(lag);
        let limit = i128::from(arrival.workahead.ticks());
        let grown = (lag.min(limit) - before.min(limit)).max(0);
        let grown = Span::from_ticks(u64::try_from(grown).unwrap_or(u64::MAX));
        accelerate(latest, grown, arrival).max(arrival.baseline.before(arrival.workahead))
    }

    #[inline]
    fn dequeued(&mut self, now: Time, packet: &mut Packet) {
        self.mean_wait.carry_deviation(now, packet);
    }
}
