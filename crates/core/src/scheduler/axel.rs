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
//! [`restamped`](super::restamped) lists the choices where the report is silent.

use super::Stamped;
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::units::{Span, Time};

parameters! {
    /// Parameters of Axel.
    pub struct AxelParams {
        /// Server at which a flow's backlog is counted: an ideal one that serves the flow alone at
        /// its reserved rate, or the port itself
        backlog: Backlog = Backlog::Ideal,
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
        Ok(Restamped::scheduler(Axel, self.backlog))
    }

    fn example() -> AxelParams {
        AxelParams { backlog: Backlog::Real }
    }
}

/// The rule of Axel.
pub struct Axel;

impl Restamp for Axel {
    /// Backlog that the flow's previous packet found.
    type Own = Span;

    #[inline]
    fn stamp(&self, latest: Time, backlog_before: &mut Span, arrival: &Arrival) -> Time {
        let accelerated = accelerate(latest, backlog_before, arrival);
        //= pincheira1994 3
        accelerated.max(arrival.baseline.before(arrival.workahead))
    }
}

/// The clock after a packet, without the bound on a flow's gain by acceleration.
#[inline]
pub(super) fn accelerate(clock: Time, backlog_before: &mut Span, arrival: &Arrival) -> Time {
    let before = core::mem::replace(backlog_before, arrival.backlog);
    //= pincheira1994 3
    let grown = match arrival.backlog > before {
        true => arrival.backlog.min(arrival.workahead) - before,
        false => Span::ZERO,
    };
    //= pincheira1994 3
    clock.max(arrival.at) + (arrival.tick - grown).max(arrival.peak_tick)
}
