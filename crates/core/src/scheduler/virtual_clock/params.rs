//! VirtualClock's record and its parameters.

use super::VirtualClock;
use crate::contract::Refused;
use crate::params::{
    Carry, KeepsRates, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters, words,
};
use crate::scheduler::Stamped;
use crate::units::Span;

parameters! {
    /// Parameters of VirtualClock.
    pub struct VirtualClockParams {
        /// Clock that stamps packets: one that never lags behind real time, or the monitor's clock,
        /// which saves credit between checks
        stamp: StampClock = StampClock::AuxVc,
        /// When a monitor's check sets auxVC back to VirtualClock: once the queue has been empty,
        /// or at once while the link is idle or sends a packet with a later stamp
        synchronise: Synchronise = Synchronise::EmptyQueue,
        /// Most by which a flow's first packet may be stamped ahead of real time, beyond its own
        /// time at the reserved rate: a bound on how long a flow pays for traffic above its
        /// reservation; without it, unlimited
        lead: Option<Span>; gate = Some(GATE_LEAD),
    }
}

/// In gate files, a flow that has used an idle link pays for that use no longer than this. A packet
/// of 1514 bytes takes this long at 48 kbit/s. At or above that rate, the bounds for reserved rates
/// are those without `lead`. A pool of 1000 such packets drains in that time at 48 Mbit/s.
const GATE_LEAD: Span = Span::from_millis(250);

words! {
    /// The clock that stamps packets.
    pub enum StampClock {
        /// auxVC, which never lags behind real time.
        AuxVc = "aux-vc",
        /// VirtualClock, which saves credit between checks.
        VirtualClock = "virtual-clock",
    }
}

words! {
    /// The time at which a check sets auxVC back to VirtualClock.
    pub enum Synchronise {
        /// At the flow's first packet after the queue has been empty, datagrams aside.
        EmptyQueue = "empty-queue",
        /// At once if the link is idle or sends a packet with a later stamp (Zhang 1991, section
        /// 3.1).
        LaterStamp = "later-stamp",
    }
}

impl PolicyParams for VirtualClockParams {
    type Policy = Stamped<VirtualClock>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "virtual-clock",
        title: "VirtualClock",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Stamps each packet with its flow's auxiliary clock, which advances by packet size over reserved rate, \
               and serves packets in the order of their stamps; flows without a reservation share the \
               remaining capacity, first in first out.",
        source: "Zhang 1991, section 3.1",
        params: VirtualClockParams::PARAMS,
        reads: &["reserve", "head_start"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Stamped<VirtualClock>, Refused> {
        Ok(Stamped::new(VirtualClock::new(self)))
    }

    /// [`bounds`](crate::bounds) has the proof.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        let never_late = self.stamp == StampClock::AuxVc && self.synchronise == Synchronise::EmptyQueue;
        never_late.then_some(KeepsRates { in_classes: false, longest_packet: self.lead })
    }

    fn example() -> VirtualClockParams {
        VirtualClockParams { stamp: StampClock::AuxVc, synchronise: Synchronise::EmptyQueue, lead: None }
    }
}
