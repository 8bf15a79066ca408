//! VirtualClock's service order (Zhang 1991, section 3.1): each packet is stamped with its
//! flow's auxiliary clock, and packets are served in the order of their stamps.
//!
//! Upon a packet of `len` bytes from a flow with reserved rate AR:
//! `auxVC ← max(real time, auxVC) + Vtick`, with `Vtick = len / AR` from the packet's own
//! size ("if packets vary in size, the value of Vtick should be computed from individual
//! packet sizes"), and the packet is stamped with auxVC.
//!
//! Choices where the paper is silent:
//! - Equal stamps are served in the order of arrival.
//! - A flow without a reservation is datagram traffic: stamped [`Time::NEVER`], first in
//!   first out among its like, served when no reserved flow has a packet, pushed out first.
//! - A pushed-out packet's advance stays on the clock: it was sent too fast.
//! - A **held** flow keeps its stamps, so it may catch up with its reservation; a flow that
//!   was **absent** rejoins with its first packet stamped as a newcomer's would be now, and
//!   the packets behind it moved by the same span. A flow ahead of its clock stays ahead.
//!   Datagrams have no clock to lose: an absent datagram flow keeps its place among them.
//! - A change of the reservation stamps later packets; those queued keep theirs. When a
//!   datagram flow gains a reservation, what it has queued is stamped as one burst sent now.

use super::StampRule;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyRecord, Role};
use crate::queues::Queues;
use crate::units::{Rate, Span, Time};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "virtual-clock",
    title: "VirtualClock",
    role: Role::Scheduler,
    help: "Stamps each packet with its flow's auxiliary clock, which advances by packet size over reserved rate, \
           and serves packets in the order of their stamps; flows without a reservation get what is left, first in first out.",
    source: "Zhang 1991, section 3.1",
    params: &[],
    reads: &["reserve"],
};

#[derive(Clone, Copy)]
struct Clock {
    /// The stamp of the flow's latest packet: auxVC.
    aux_vc: Time,
    /// The reserved rate AR; `None` for datagrams.
    reserve: Option<Rate>,
    /// What absences have added to the stamps of packets queued before them.
    shift: Span,
    /// What a datagram's stamp counts as once its flow has a reservation.
    datagrams_at: Time,
}

const NEWCOMER: Clock =
    Clock { aux_vc: Time::from_ticks(0), reserve: None, shift: Span::ZERO, datagrams_at: Time::NEVER };

/// The latest stamp of a flow with a reservation: sooner than any datagram's.
const LATEST: u64 = Time::NEVER.ticks() - 1;

/// What the datagrams that the flow has queued take at `rate`: they count as one burst.
fn datagrams(rate: Rate, flow: FlowIx, queues: &Queues) -> Span {
    let queued = queues.of(flow).map(|queued| &queued.packet);
    let datagrams = queued.filter(|packet| packet.tag == Time::NEVER.ticks());
    datagrams.fold(Span::ZERO, |sum, packet| sum + rate.time_for(packet.len))
}

/// The rule of VirtualClock.
#[derive(Default)]
pub struct VirtualClock {
    clocks: Vec<Clock>,
}

impl StampRule for VirtualClock {
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        if self.clocks.len() <= flow.ix() {
            self.clocks.resize(flow.ix() + 1, NEWCOMER);
        }
        let clock = &mut self.clocks[flow.ix()];
        if let (None, Some(rate)) = (clock.reserve, contract.reserve)
            && let burst = datagrams(rate, flow, queues)
            && burst > Span::ZERO
        {
            clock.aux_vc = clock.aux_vc.max(now) + burst;
            clock.datagrams_at = clock.aux_vc;
        }
        clock.reserve = contract.reserve;
        Ok(())
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.clocks[flow.ix()].aux_vc
    }

    #[inline]
    fn stamp(&mut self, now: Time, packet: &mut Packet, _: &Queues) {
        let clock = &mut self.clocks[packet.flow.ix()];
        packet.tag = match clock.reserve {
            Some(rate) => {
                clock.aux_vc = clock.aux_vc.max(now) + rate.time_for(packet.len);
                clock.aux_vc.before(clock.shift).ticks().min(LATEST)
            }
            None => Time::NEVER.ticks(),
        };
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        let clock = &self.clocks[flow.ix()];
        if tag == Time::NEVER.ticks() {
            return if clock.reserve.is_some() { clock.datagrams_at.ticks() } else { tag };
        }
        tag.saturating_add(clock.shift.ticks()).min(LATEST)
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, queues: &Queues) {
        let key = Time::from_ticks(self.key(flow, head.tag));
        let clock = &mut self.clocks[flow.ix()];
        if let Some(rate) = clock.reserve {
            let datagram = head.tag == Time::NEVER.ticks();
            let first = if datagram { datagrams(rate, flow, queues) } else { rate.time_for(head.len) };
            let late = (now + first).since(key);
            clock.shift += late;
            clock.aux_vc += late;
            clock.datagrams_at += late;
        }
    }

    fn memory(&self) -> usize {
        self.clocks.capacity() * size_of::<Clock>()
    }
}
