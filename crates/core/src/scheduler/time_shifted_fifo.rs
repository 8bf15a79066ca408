//! Time-shifted FIFO (RFC 9332, section 4.2.2): first in, first out over an L4S and a Classic queue,
//! in which Classic packets count as if they had arrived later by a time shift.
//!
//! ```text
//! stamp ← arrival              of a packet with ECT(1) or CE: L4S (RFC 9331, section 5.1)
//! stamp ← arrival + shift      of any other: Classic
//! ```
//!
//! L4S packets are therefore sent first while no Classic packet has waited longer than they have by
//! the shift. Beyond that both queues are served in the order of arrival: an L4S flow that does not
//! answer to marks starves no Classic one.
//!
//! Choices where the RFC leaves one:
//! - Packets of a flow keep their order: an L4S packet behind a Classic one of its flow has at least
//!   the stamp of that packet.
//! - Equal stamps are served in the order of arrival.
//! - A **held** flow keeps its stamps; one that was **absent** is stamped as if its first packet
//!   had arrived when it rejoins.
//! - The ECN field of a packet in a class is not visible at the scheduler above: a class is Classic.

use super::floors::Floors;
use super::{StampRule, Stamped};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::queues::Queues;
use crate::units::{Span, Time};

parameters! {
    /// Parameters of time-shifted FIFO.
    #[derive(Copy, Eq)]
    pub struct TimeShiftedFifoParams {
        /// Time by which a Classic packet counts as later than it arrived
        shift: Span = Span::from_millis(50),
    }
}

impl PolicyParams for TimeShiftedFifoParams {
    type Policy = Stamped<TimeShiftedFifo>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "time-shifted-fifo",
        title: "Time-shifted FIFO",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves packets in the order of arrival, with those that are not L4S (ECT(1) or CE) counted as later by a \
               time shift: the scheduler of DualPI2, which drops and marks nothing by itself.",
        source: "RFC 9332, section 4.2.2",
        params: TimeShiftedFifoParams::PARAMS,
        reads: &[],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Stamped<TimeShiftedFifo>, Refused> {
        Ok(Stamped::new(TimeShiftedFifo { shift: self.shift, floors: Floors::default() }))
    }

    fn example() -> TimeShiftedFifoParams {
        TimeShiftedFifoParams { shift: Span::from_millis(30) }
    }

    fn waits_for_ties(&self) -> bool {
        true
    }
}

/// The rule of time-shifted FIFO.
pub struct TimeShiftedFifo {
    shift: Span,
    floors: Floors,
}

impl TimeShiftedFifo {
    /// The stamp of a packet that arrives at `at`.
    #[inline]
    fn shifted(&self, at: Time, packet: &Packet) -> u64 {
        if packet.mark.is_l4s() { at.ticks() } else { (at + self.shift).ticks() }
    }
}

impl StampRule for TimeShiftedFifo {
    fn set_flow(&mut self, _: Time, _: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        Ok(())
    }

    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        packet.tag = self.floors.tag(packet.flow, self.shifted(packet.arrived, packet), queues);
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        self.floors.key(flow, tag)
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, _: &Queues) {
        self.floors.rejoin(flow, self.shifted(now, head));
    }

    fn memory(&self) -> usize {
        self.floors.memory()
    }
}
