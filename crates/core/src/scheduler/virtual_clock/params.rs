//! VirtualClock's record and its parameters.

use super::VirtualClock;
use crate::contract::Refused;
use crate::curves::{Exact, left_by};
use crate::params::{
    Carry, FixedPort, KeepsRates, Line, NoLine, Parameters, PolicyParams, PolicyRecord, Role, Service,
    Sharer, Stamps, parameters, words,
};
use crate::scheduler::Stamped;
use crate::units::Span;

parameters! {
    /// Parameters of VirtualClock.
    #[derive(Copy)]
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

impl VirtualClockParams {
    fn reserved_line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        if port.flows[index].contract.reserve.is_none() {
            let before = port.arrivals(|_, flow| flow.contract.reserve.is_some())?;
            return Ok(Line {
                flows: port.chosen(|flow| flow.contract.reserve.is_none()),
                service: left_by(&before, &port.server),
                is_whole_port: false,
                source: "behind all reservations (Le Boudec and Thiran 2001, section 6.2)",
            });
        }
        // Behind cells that go ahead, a packet with stamp s leaves once the server has had the time for
        // the reservations up to s, and the packet in service: after its latency, at its rate.
        let (rate, latency) = port.left_by_cells()?;
        let keeps = self.keeps_rates().ok_or(NoLine::Because("its clocks save credit"))?;
        let late = |flow: &Sharer| {
            let time = flow.contract.reserve.map(|reserve| reserve.time_for(flow.largest));
            time.zip(keeps.longest_packet).is_some_and(|(time, lead)| time > lead)
        };
        let reserved: Exact = port.flows.iter().map(Sharer::reserve).sum();
        let no = |words| Err(NoLine::Because(words));
        match () {
            () if port.flows.iter().any(|flow| flow.contract.head_start > Span::ZERO) => no("head starts"),
            () if reserved > rate => no("the reservations exceed the link"),
            () if port.flows.iter().any(late) => no("a packet takes longer than `lead` at its flow's rate"),
            () => Ok(port.own_line(
                index,
                port.flows[index].reserve(),
                &((port.largest(|_| true) / &rate + latency) * &port.rate),
                "VirtualClock (Figueira and Pasquale 1995; Xie and Lam 1995)",
            )),
        }
    }
}

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

    /// A flow with a reservation has its packets sent by their stamps and L / C, L being the largest
    /// packet of any flow ([`bounds`](crate::bounds) has the proof). Flows without one are in a
    /// line behind all others.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        port.or_arbitrary(index, self.reserved_line(port, index))
    }

    fn example() -> VirtualClockParams {
        VirtualClockParams { stamp: StampClock::AuxVc, synchronise: Synchronise::EmptyQueue, lead: None }
    }
}
