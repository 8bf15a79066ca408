//! PeakVC (Pincheira 1994, section 4.3): VirtualClock with clocks that tick at the peak rate r̂
//! instead of the average rate r.
//!
//! Upon a packet of length l: `vclock ← max(vclock, real time) + l/r̂`. A flow is served as if it
//! had reserved its peak rate, although only its average rate is set aside: no flow is protected
//! from one that sends at r̂ for longer than it declared. With r̂ = r it is VirtualClock, stamp for
//! stamp.
//!
//! `scheduler/restamped.rs` lists the choices where the report is silent.

use super::Stamped;
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::units::Time;

parameters! {
    /// Parameters of PeakVC: none.
    #[derive(Copy)]
    pub struct PeakVcParams {}
}

impl PolicyParams for PeakVcParams {
    type Policy = Stamped<Restamped<PeakVc>>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "peak-vc",
        title: "PeakVC",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "VirtualClock with clocks that advance at each flow's peak rate: bursts pass quickly, but a \
               flow that sends at its peak rate for too long is not limited.",
        source: "Pincheira 1994, section 4.3",
        params: PeakVcParams::PARAMS,
        reads: &["reserve", "peak"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Self::Policy, Refused> {
        Ok(Restamped::scheduler(PeakVc, Backlog::Ideal))
    }

    fn example() -> PeakVcParams {
        PeakVcParams {}
    }
}

/// The rule of PeakVC.
pub struct PeakVc;

impl Restamp for PeakVc {
    type Own = ();

    #[inline]
    fn stamp(&self, latest: Time, (): &mut (), arrival: &Arrival) -> Time {
        //= pincheira1994 4.3
        latest.max(arrival.at) + arrival.peak_tick
    }
}
