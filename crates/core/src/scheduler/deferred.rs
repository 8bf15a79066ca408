//! Deferred (Pincheira 1994, section 3): VirtualClock's stamps, less the flow's backlog.
//!
//! Upon a packet of length l from a flow with the contract (W, r, r̂) and the backlog b: `stamp ←
//! max(VirtualClock's stamp − min(b, W)/r, the flow's previous stamp + l/r̂)`.
//!
//! The stamps of a flow whose backlog shrinks advance faster than VirtualClock's, so the flow loses
//! exactly when the link is loaded: the report rejects the discipline for this reason. A flow
//! without a backlog has VirtualClock's stamps.
//!
//! The report's backlog is "the number of bits back-logged inside the server": the port's own
//! queue, which is the default. At the ideal server of rate r a flow that keeps to W is stamped
//! with little more than its packets' arrivals: Deferred is then almost FIFO.
//!
//! `scheduler/restamped.rs` lists the choices where the report is silent.

use super::Stamped;
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::units::Time;

parameters! {
    /// Parameters of Deferred.
    #[derive(Copy)]
    pub struct DeferredParams {
        /// Server at which a flow's backlog is counted: an ideal one that serves the flow alone at
        /// its reserved rate, or the port itself
        backlog: Backlog = Backlog::Real,
    }
}

impl PolicyParams for DeferredParams {
    type Policy = Stamped<Restamped<Deferred>>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "deferred",
        title: "Deferred",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Stamps packets like VirtualClock, minus the time that the flow's backlog, up to W, takes at \
               its reserved rate: a burst is accelerated while it builds up and delayed while it drains. A \
               step towards Axel, not for use.",
        source: "Pincheira 1994, section 3",
        params: DeferredParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Self::Policy, Refused> {
        Ok(Restamped::scheduler(Deferred, self.backlog))
    }

    fn example() -> DeferredParams {
        DeferredParams { backlog: Backlog::Ideal }
    }
}

/// The rule of Deferred.
pub struct Deferred;

impl Restamp for Deferred {
    type Own = ();

    #[inline]
    fn stamp(&self, latest: Time, (): &mut (), arrival: &Arrival) -> Time {
        //= pincheira1994 3
        let deferred = arrival.baseline.before(arrival.backlog.min(arrival.workahead));
        //= pincheira1994 3
        deferred.max(latest + arrival.peak_tick)
    }
}
