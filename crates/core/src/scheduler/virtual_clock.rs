//! VirtualClock's service order (Zhang 1991, section 3.1): each packet is stamped with its
//! flow's auxiliary clock, and packets are served in the order of their stamps.
//!
//! Upon a packet of `len` bytes from a flow with reserved rate AR:
//! `auxVC ← max(real time, auxVC) + Vtick`, with `Vtick = len / AR` from the packet's own
//! size ("if packets vary in size, the value of Vtick should be computed from individual
//! packet sizes"), and the packet is stamped with auxVC.
//!
//! Head start (section 3.2.2): a flow with a head start P reads "real time − P" where others read
//! real time. The clock is kept P ahead, and the stamp is the clock less P.
//!
//! Synchronisation (section 3.1): when the flow's monitor has checked the flow, auxVC takes the
//! value of VirtualClock. The paper does so at once if the link is idle or sends a packet with a
//! later stamp than auxVC (`synchronise = "later-stamp"`). The flow may then claim the same time
//! twice while the link is busy, and other flows wait beyond their bound. By default auxVC takes
//! the value at the flow's first packet after the queue has been empty, datagrams aside: no packet
//! stamped earlier is still waiting, and nothing is claimed twice ([`bounds`](crate::bounds) has
//! the proof). Applied after the current packet is stamped, as in the paper, the first rule may
//! reorder a flow; so it is applied before, and auxVC never goes below the stamps of the flow's
//! queued packets.
//!
//! Bound on the lead (`lead`, not in the paper): a flow that sends alone runs its clock ahead of
//! real time, and waits that long once others send. With the bound, when the first packet of a flow
//! has a stamp later than `real time + lead + Vtick`, the flow's clock and the stamps of all its
//! queued packets are moved back so that the first has that value. So the packet is sent by then,
//! and the stamps of the waiting packets stay Vtick apart. The bounds of the other flows hold as
//! without `lead` if no flow's packet takes longer than `lead` at its reserved rate;
//! `docs/schedulers/virtual-clock.md` has the proof.
//!
//! With `stamp = "virtual-clock"` auxVC lags behind real time as VirtualClock does and is set to
//! real time at checks only: section 3.2.4 argues against this, and the setting exists for
//! experiments. Without a monitor, no flow is ever checked.
//!
//! Choices where the paper is silent:
//! - Equal stamps are served in the order of arrival.
//! - A flow without a reservation is datagram traffic: stamped [`Time::NEVER`], served first in,
//!   first out when no reserved flow has a packet, and pushed out first.
//! - The advance of a pushed-out packet stays on the clock: its flow sent too fast.
//! - A **held** flow keeps its stamps, so it may catch up with its reservation; a flow that was
//!   **absent** rejoins with its first packet stamped as a newcomer's would be now, and with the
//!   packets behind it moved by the same span. A flow whose clock is ahead stays ahead. Datagrams
//!   have no clock: an absent datagram flow keeps its place among them.
//! - A change of the reservation applies to the stamps of later packets; queued packets keep
//!   theirs. When a datagram flow gains a reservation, its queued packets are stamped as one burst
//!   sent now.

mod params;

use alloc::vec::Vec;
pub use params::{StampClock, Synchronise, VirtualClockParams};

use super::StampRule;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::Queues;
use crate::ranking::lazy_table::LazyTable;
use crate::stats::Count;
use crate::units::{Rate, Span, Time};
use core::hint::black_box;

#[derive(Clone, Copy)]
struct Clock {
    /// auxVC, kept ahead by the flow's head start: the latest packet's stamp is auxVC less the head
    /// start.
    aux_vc: Time,
    /// The reserved rate AR; `None` for datagrams.
    reserve: Option<Rate>,
}

const NEWCOMER: Clock = Clock { aux_vc: Time::from_ticks(0), reserve: None };

/// Offsets of a flow's stamps from its clock; few flows have any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Offsets {
    /// The head start P.
    head_start: Span,
    /// Span that absences have added to the stamps of packets queued before them.
    shift: Span,
    /// Stamp that the datagrams of a flow count as once the flow has a reservation; `None` while
    /// they count as datagrams.
    datagrams_at: Option<Time>,
    /// Ticks that the bound on the lead has taken off the stamps of queued packets. Tags include
    /// it, and both are modulo 2⁶⁴: the sum for a flow that is never without packets may exceed the
    /// range of time.
    pulled_back: u64,
}

/// A check whose effect waits for an empty queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Checked {
    /// Reading of VirtualClock.
    virtual_clock: Time,
    /// Value of `VirtualClock::emptied` when the flow was checked.
    emptied: u64,
}

/// The latest possible stamp of a flow with a reservation: earlier than that of any datagram.
pub(super) const LATEST: u64 = Time::NEVER.ticks() - 1;

/// Transmission time at `rate` of the datagrams that the flow has queued: they count as one burst.
fn datagrams(rate: Rate, flow: FlowIx, queues: &Queues) -> Span {
    let queued = queues.of(flow).map(|queued| &queued.packet);
    let datagrams = queued.filter(|packet| packet.tag == Time::NEVER.ticks());
    datagrams.fold(Span::ZERO, |sum, packet| sum + rate.time_for(packet.len))
}

/// The rule of VirtualClock.
#[derive(Default)]
pub struct VirtualClock {
    clocks: Vec<Clock>,
    offsets: LazyTable<Offsets>,
    /// Checks after which the clock has not been set back yet.
    checked: LazyTable<Option<Checked>>,
    /// Number of such checks.
    pending: u32,
    /// Number of times that service began with no stamped packet waiting, while such checks were
    /// pending.
    emptied: u64,
    /// True if clocks may lag behind real time until they are checked.
    saves_credit: bool,
    /// True if a check takes effect only once the queue has been empty.
    waits: bool,
    /// Maximum lead of a first packet's stamp over real time, beyond its own Vtick.
    lead: Option<Span>,
}

impl VirtualClock {
    /// Creates the rule with these parameters, without flows.
    pub fn new(params: &VirtualClockParams) -> VirtualClock {
        VirtualClock {
            clocks: Vec::new(),
            offsets: LazyTable::default(),
            checked: LazyTable::default(),
            pending: 0,
            emptied: 0,
            saves_credit: params.stamp == StampClock::VirtualClock,
            waits: params.synchronise == Synchronise::EmptyQueue,
            lead: params.lead,
        }
    }

    /// auxVC of a flow.
    pub(super) fn aux_vc(&self, flow: FlowIx) -> Time {
        self.clocks[flow.ix()].aux_vc
    }

    /// The reserved rate of a flow; `None` for a datagram flow.
    pub(super) fn reserve(&self, flow: FlowIx) -> Option<Rate> {
        self.clocks[flow.ix()].reserve
    }

    /// Span that absences have added to the stamps of packets queued before them.
    pub(super) fn shift(&self, flow: FlowIx) -> Span {
        self.offsets.get(flow).shift
    }

    /// Advance of a newcomer's clock for `head`: for the packet alone, or for the burst of
    /// datagrams whose stamp it shares.
    pub(super) fn first_tick(&self, flow: FlowIx, head: &Packet, queues: &Queues) -> Option<Span> {
        let rate = self.reserve(flow)?;
        let is_datagram = head.tag == Time::NEVER.ticks();
        Some(if is_datagram { datagrams(rate, flow, queues) } else { rate.time_for(head.len) })
    }

    /// Moves the flow's clock and the stamps of its queued packets by `late`.
    pub(super) fn postpone(&mut self, flow: FlowIx, late: Span) {
        let mut offsets = self.offsets.get(flow);
        self.clocks[flow.ix()].aux_vc += late;
        offsets.shift += late;
        offsets.datagrams_at = offsets.datagrams_at.map(|at| at + late);
        self.offsets.set(flow, offsets);
    }

    /// Moves the flow's clock and the stamps of its queued packets back, so that its first packet
    /// is stamped no later than `latest` plus its transmission time at the reserved rate.
    fn pull_back(&mut self, latest: Time, first: &Packet) {
        let flow = first.flow;
        let Some(rate) = self.reserve(flow).filter(|_| first.tag != Time::NEVER.ticks()) else { return };
        let stamp = Time::from_ticks(self.key(flow, first.tag));
        let beyond = stamp.since(latest + rate.time_for(first.len));
        if beyond > Span::ZERO {
            let offsets = self.offsets.get_mut(flow);
            offsets.pulled_back = offsets.pulled_back.wrapping_add(beyond.ticks());
            let clock = &mut self.clocks[flow.ix()];
            clock.aux_vc = clock.aux_vc.before(beyond);
        }
    }

    /// Records a check of the flow; `None` once its clock no longer needs to be set back.
    fn set_checked(&mut self, flow: FlowIx, checked: Option<Checked>) {
        self.pending -= u32::from(self.checked.get(flow).is_some());
        self.pending += u32::from(checked.is_some());
        self.checked.set(flow, checked);
    }

    /// Sets the clock of a flow that was checked back to VirtualClock, if the queue has been empty
    /// since; else VirtualClock advances with the packet of `len` bytes that is about to be
    /// stamped.
    #[cold]
    fn set_back(&mut self, flow: FlowIx, len: u32) {
        let (Some(Checked { virtual_clock, emptied }), Some(rate)) =
            (self.checked.get(flow), self.clocks[flow.ix()].reserve)
        else {
            return;
        };
        let after = if emptied == self.emptied {
            Some(Checked { virtual_clock: virtual_clock + rate.time_for(len), emptied })
        } else {
            self.clocks[flow.ix()].aux_vc = virtual_clock;
            None
        };
        self.set_checked(flow, after);
    }
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
        let mut offsets = self.offsets.get(flow);
        if offsets.head_start != contract.head_start
            && let Some(last) = queues.last(flow)
        {
            // Queued packets keep their stamps, and later packets stay behind them.
            let stamp = Time::from_ticks(self.key(flow, last.packet.tag));
            let clock = &mut self.clocks[flow.ix()];
            if stamp < Time::NEVER {
                clock.aux_vc = clock.aux_vc.max(stamp + contract.head_start);
            }
        }
        let clock = &mut self.clocks[flow.ix()];
        offsets.head_start = contract.head_start;
        if clock.reserve.is_none() && self.saves_credit && clock.aux_vc > NEWCOMER.aux_vc {
            clock.aux_vc = clock.aux_vc.max(now);
        }
        if let (None, Some(rate)) = (clock.reserve, contract.reserve)
            && let burst = datagrams(rate, flow, queues)
            && burst > Span::ZERO
        {
            clock.aux_vc = clock.aux_vc.max(now) + burst;
            offsets.datagrams_at = Some(clock.aux_vc.before(offsets.head_start));
        }
        self.offsets.set(flow, offsets);
        clock.reserve = contract.reserve;
        Ok(())
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.clocks[flow.ix()].aux_vc
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        if self.pending > 0 {
            self.set_back(packet.flow, packet.len);
        }
        if self.lead.is_some() && queues.len(packet.flow) == 0 {
            let offsets = self.offsets.get(packet.flow);
            self.offsets.set(packet.flow, Offsets { pulled_back: 0, ..offsets });
        }
        let clock = &mut self.clocks[packet.flow.ix()];
        //= pincheira1994 2.3.1
        packet.tag = match clock.reserve {
            Some(rate) => {
                let lags = self.saves_credit && clock.aux_vc > NEWCOMER.aux_vc;
                //= zhang1991 3.2.4
                let from = if lags { clock.aux_vc } else { clock.aux_vc.max(packet.arrived) };
                //= zhang1991 3.1
                clock.aux_vc = from + rate.time_for(packet.len);
                let Offsets { head_start, shift, pulled_back, .. } = self.offsets.get(packet.flow);
                //= zhang1991 3.2.2
                let stamp = clock.aux_vc.before(head_start).before(shift).ticks().min(LATEST);
                stamp.wrapping_add(pulled_back).min(LATEST)
            }
            //= zhang1991 3.2.2
            None => Time::NEVER.ticks(),
        };
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        let offsets = self.offsets.get(flow);
        if tag == Time::NEVER.ticks() {
            let reserves = self.clocks[flow.ix()].reserve.is_some();
            return offsets.datagrams_at.filter(|_| reserves).map_or(tag, Time::ticks);
        }
        tag.wrapping_sub(offsets.pulled_back).saturating_add(offsets.shift.ticks()).min(LATEST)
    }

    fn key_behind(&self, flow: FlowIx, tag: u64, behind: Count) -> u64 {
        let key = self.key(flow, tag);
        match self.clocks[flow.ix()].reserve {
            Some(reserve) if tag != Time::NEVER.ticks() => {
                let behind = u32::try_from(behind.bytes).unwrap_or(u32::MAX);
                key.saturating_add(reserve.time_for(behind).ticks()).min(LATEST)
            }
            _ => key,
        }
    }

    #[inline]
    fn became_first(&mut self, now: Time, first: &Packet) {
        if let Some(lead) = self.lead {
            self.pull_back(now + lead, first);
        }
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, queues: &Queues) {
        if let Some(first) = self.first_tick(flow, head, queues) {
            let newcomer = now.before(self.offsets.get(flow).head_start) + first;
            self.postpone(flow, newcomer.since(Time::from_ticks(self.key(flow, head.tag))));
        }
    }

    fn synchronise(
        &mut self,
        flow: FlowIx,
        virtual_clock: Time,
        in_service: Option<(FlowIx, u64)>,
        queues: &Queues,
    ) {
        if self.saves_credit {
            let clock = &mut self.clocks[flow.ix()];
            clock.aux_vc = clock.aux_vc.max(virtual_clock);
            return;
        }
        if self.waits {
            let waits = !queues.is_empty();
            self.set_checked(flow, waits.then_some(Checked { virtual_clock, emptied: self.emptied }));
            if !waits {
                self.clocks[flow.ix()].aux_vc = virtual_clock;
            }
            return;
        }
        let last = queues.last(flow).map(|last| self.key(flow, last.packet.tag));
        let sending = in_service.map(|(flow, tag)| self.key(flow, tag));
        let clock = &mut self.clocks[flow.ix()];
        let head_start = self.offsets.get(flow).head_start;
        let stamp = clock.aux_vc.before(head_start).ticks();
        //= zhang1991 3.1
        if sending.is_none_or(|sending| sending > stamp) {
            let last = last.map_or(NEWCOMER.aux_vc, |last| Time::from_ticks(last) + head_start);
            clock.aux_vc = virtual_clock.max(last);
        }
    }

    #[inline(always)]
    fn dequeued(&mut self, _: Time, packet: &mut Packet, queues: &Queues) {
        let never = Time::NEVER.ticks();
        // A flow that sends a datagram has no packet with a stamp.
        let is_datagram = || packet.tag == never && self.key(packet.flow, never) == never;
        if self.pending > 0 && (queues.is_empty() || is_datagram()) {
            self.emptied += 1;
        }
    }

    #[inline]
    fn read_ahead(&self, flow: FlowIx) {
        black_box(self.clocks.get(flow.ix()).map(|clock| clock.aux_vc));
    }

    fn own_line(&self, flow: FlowIx, queues: &Queues) -> Option<Time> {
        self.reserve(flow)?;
        let Some(first) = queues.first(flow) else { return Some(self.aux_vc(flow)) };
        let stamp = Time::from_ticks(self.key(flow, first.packet.tag));
        let end = stamp + self.offsets.get(flow).head_start;
        Some(end.before(self.first_tick(flow, &first.packet, queues)?))
    }

    fn resume(&mut self, flow: FlowIx, own_line: Time) {
        if let Some(clock) = self.clocks.get_mut(flow.ix()) {
            clock.aux_vc = own_line;
        }
    }

    fn release(&mut self, flow: FlowIx) {
        self.clocks[flow.ix()].reserve = None;
        self.set_checked(flow, None);
    }

    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("lead", self.clocks[flow.ix()].aux_vc.since(now).as_secs_f64());
    }

    fn memory(&self) -> usize {
        self.clocks.capacity() * size_of::<Clock>() + self.offsets.memory() + self.checked.memory()
    }
}
