//! The discipline between Deferred and Axel (Pincheira 1994, section 3): stamps advance by `l/r −
//! max(0, Δb)/r`, with b up to W, and at least by l/r̂, but VirtualClock's stamps do not bound
//! them.
//!
//! The report rejects it: "by repeatedly building up backlog and then allowing it to drain, a flow
//! can increase its priority almost arbitrarily". It is included to show this effect; Axel is the
//! same discipline with a bound.
//!
//! `scheduler/restamped.rs` lists the choices where the report is silent.

use super::Stamped;
use super::axel::{accelerate, growth};
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::units::{Span, Time};

parameters! {
    /// Parameters of Axel without its bound.
    #[derive(Copy)]
    pub struct AxelUnboundedParams {
        /// Server at which a flow's backlog is counted: an ideal one that serves the flow alone at
        /// its reserved rate, or the port itself
        backlog: Backlog = Backlog::Real,
    }
}

impl PolicyParams for AxelUnboundedParams {
    type Policy = Stamped<Restamped<AxelUnbounded>>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "axel-unbounded",
        title: "Axel without its bound",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Axel without the bound on a flow's gain over VirtualClock: a flow that repeatedly fills and \
               drains its backlog takes the link from the others. A step towards Axel, not for use.",
        source: "Pincheira 1994, section 3",
        params: AxelUnboundedParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Self::Policy, Refused> {
        Ok(Restamped::scheduler(AxelUnbounded, self.backlog))
    }

    fn example() -> AxelUnboundedParams {
        AxelUnboundedParams { backlog: Backlog::Ideal }
    }
}

/// The rule of Axel without its bound.
pub struct AxelUnbounded;

impl Restamp for AxelUnbounded {
    /// Backlog that the flow's previous packet found.
    type Own = Span;

    #[inline]
    fn stamp(&self, latest: Time, backlog_before: &mut Span, arrival: &Arrival) -> Time {
        let before = core::mem::replace(backlog_before, arrival.backlog);
        //= pincheira1994 3
        accelerate(latest, growth(before, arrival.backlog, arrival.workahead), arrival)
    }
}
