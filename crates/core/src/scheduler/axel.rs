//! Axel, a self-accelerating discipline (Pincheira 1994, section 3 and Figure 4): VirtualClock, but
//! the stamps of a flow that falls behind its own arrivals advance more slowly, down to the pace of
//! its peak rate.
//!
//! Upon a packet of length l from a flow with the contract (W, r, r̂), with `vclock` the flow's
//! clock and `baseVC` VirtualClock's:
//! - `δ = min(b, W) − min(b', W)` where the backlog has grown since the flow's previous packet,
//!   from b' to b; else 0;
//! - `vclock ← max(vclock, real time)`, `vclock ← max(vclock + l/r̂, vclock + l/r − δ/r)`;
//! - `baseVC ← max(baseVC, real time) + l/r`;
//! - `vclock ← max(vclock, baseVC − W/r)`, and the packet is stamped with vclock.
//!
//! The report's Figure 4 is misprinted: it has r instead of r̂, with which nothing is ever
//! accelerated, and computes `baseVC` from `vclock`. With r̂ = r Axel is VirtualClock, stamp for
//! stamp, as section 3 of the report says; the same holds with W = 0. A flow gains at most W/r on
//! VirtualClock, whatever it sends.
//!
//! Two settings are in the report beside the figure. With `delta = "simplified"` a backlog that
//! passes W between two packets counts as not grown (the figure's δ has two cases more; the report
//! allows 0 for both where packets are small beside W). With `acceleration` a time takes the place
//! of W/r, as section 5 suggests: the longest acceleration of a flow no longer follows from its W.
//!
//! `scheduler/restamped.rs` lists the choices where the report is silent.

use super::Stamped;
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::params::{
    Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters, words,
};
use crate::units::{Span, Time};

words! {
    /// The growth of a backlog that passes its limit between two packets.
    pub enum Delta {
        /// Counts up to the limit.
        Exact = "exact",
        /// Does not count.
        Simplified = "simplified",
    }
}

parameters! {
    /// Parameters of Axel.
    #[derive(Copy)]
    pub struct AxelParams {
        /// Server at which a flow's backlog is counted: an ideal one that serves the flow alone at
        /// its reserved rate, or the port itself
        backlog: Backlog = Backlog::Ideal,
        /// Growth of a backlog that passes W between two packets: counted up to W, or not at all,
        /// for packets that are small beside W
        delta: Delta = Delta::Exact,
        /// Most backlog that is counted, and most that a flow gains on VirtualClock, as a time;
        /// without it, W / r
        acceleration: Option<Span>,
    }
}

impl PolicyParams for AxelParams {
    type Policy = Stamped<Restamped<Axel>>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "axel",
        title: "Axel",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Stamps packets like VirtualClock, but advances the stamps of a flow whose backlog grows more \
               slowly, down to the pace of its peak rate, and never more than W / r before VirtualClock's: \
               bursts pass quickly, and each flow keeps its reserved rate.",
        source: "Pincheira 1994, section 3 and Figure 4",
        params: AxelParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Self::Policy, Refused> {
        Ok(Restamped::scheduler(Axel { delta: self.delta, acceleration: self.acceleration }, self.backlog))
    }

    fn example() -> AxelParams {
        AxelParams { backlog: Backlog::Real, delta: Delta::Simplified, acceleration: None }
    }
}

/// The rule of Axel.
pub struct Axel {
    /// Growth of a backlog that passes the limit.
    pub(super) delta: Delta,
    /// Limit in place of W / r.
    pub(super) acceleration: Option<Span>,
}

impl Restamp for Axel {
    /// Backlog that the flow's previous packet found.
    type Own = Span;

    #[inline]
    fn stamp(&self, latest: Time, backlog_before: &mut Span, arrival: &Arrival) -> Time {
        //= pincheira1994 5
        let limit = self.acceleration.unwrap_or(arrival.workahead);
        let before = core::mem::replace(backlog_before, arrival.backlog);
        //= pincheira1994 3
        let grown = match self.delta {
            Delta::Simplified if arrival.backlog > limit => Span::ZERO,
            _ => growth(before, arrival.backlog, limit),
        };
        //= pincheira1994 3
        accelerate(latest, grown, arrival).max(arrival.baseline.before(limit))
    }
}

/// Growth of a backlog, counted up to a limit: zero if it has not grown.
#[inline]
pub(super) fn growth(before: Span, backlog: Span, limit: Span) -> Span {
    //= pincheira1994 3
    match backlog > before {
        true => backlog.min(limit) - before,
        false => Span::ZERO,
    }
}

/// The clock after a packet whose flow has fallen behind by `grown`, without the bound on a flow's
/// gain by acceleration.
#[inline]
pub(super) fn accelerate(clock: Time, grown: Span, arrival: &Arrival) -> Time {
    //= pincheira1994 3
    clock.max(arrival.at) + (arrival.tick - grown).max(arrival.peak_tick)
}
