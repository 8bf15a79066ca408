//! Time-division multiplexing, the paper's comparison for VirtualClock (Zhang 1991, sections 3 and
//! 5).
//!
//! Time is divided into frames of `slots` slots, each as long as a packet of `slot` bytes at
//! `rate`. A flow owns as many slots of the frame as its reservation needs, spread evenly, and
//! its packets start at the beginning of its own slots only. A slot whose owner has no packet is
//! wasted.
//!
//! With `window`, it is Mukherji's schedule (section 5.2): a slot whose owner has no packet may be
//! used by another flow, which may send `window` packets in such slots in each frame.
//!
//! Choices where the paper is silent:
//! - Slots are counted from the time at which the first flow is set up.
//! - A reservation is rounded up to whole slots, and refused when too few are free.
//! - Slots without an owner carry flows without a reservation, first in first out; while every slot
//!   has an owner, such a flow waits.
//! - The window is that of a frame: all are full again when a frame begins. Of the flows whose
//!   window is not used up, the one whose first packet came first uses an idle slot.
//! - An unowned slot without a packet of a flow without a reservation is idle as well.
//! - A packet longer than a slot also takes the slots after its own: `slot` should be the length of
//!   the largest packet. A slot that begins while the link is busy is lost to its owner.
//! - A packet that arrives exactly at the beginning of its slot is sent in it, unless the slot has
//!   gone to another flow at the same instant, by that flow's window.
//! - Push-out takes the latest arrival.
//! - When the rate changes, slots become longer or shorter from then on, and every flow is assigned
//!   as many as its reservation now needs, in the order of the flows, while slots are free.

mod params;
mod slots;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
pub use params::TdmParams;

use slots::slots_needed;

use super::{Hold, Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::Queues;
use crate::ranking::flow_heap::FlowHeap;
use crate::units::{Rate, Span, Time};

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Member {
    /// Number of slots that it owns.
    slots: usize,
    reserve: Option<Rate>,
    /// Frame in which it has last sent in a slot of others, and the number of packets sent so.
    borrowed: (u64, u16),
}

const NEWCOMER: Member = Member { slots: 0, reserve: None, borrowed: (0, 0) };

/// A frame of slots and their owners.
//= zhang1991 5.2
pub struct Tdm {
    /// The scheduler's own rate, if it has one.
    own_rate: Option<Rate>,
    /// The rate that the frame divides; `None` when it is unknown.
    rate: Option<Rate>,
    /// The length of a slot, in bytes.
    slot_bytes: u32,
    /// The duration of a slot.
    slot: Span,
    /// The beginning of one slot, from which the others are counted.
    began: Option<Time>,
    owners: Vec<u32>,
    members: Vec<Member>,
    /// Flows without a reservation that may send, by the arrival of their first packet.
    datagrams: FlowHeap,
    /// Number of packets that a flow may send in a frame in slots of others.
    window: u16,
    /// Number of the current frame.
    frame: u64,
    /// Flows that may send in a slot of others in this frame, by the arrival of their first packet.
    borrowers: FlowHeap,
    /// Flows whose window is used up in this frame.
    exhausted: Vec<FlowIx>,
}

impl Tdm {
    /// Creates a frame without owners.
    ///
    /// # Errors
    /// When a slot is beyond the longest span.
    pub fn new(params: &TdmParams) -> Result<Tdm, Refused> {
        let TdmParams { rate: own_rate, slot: slot_bytes, slots, window } = *params;
        let mut tdm = Tdm {
            own_rate,
            rate: None,
            slot_bytes,
            slot: Span::from_ticks(1),
            began: None,
            owners: vec![NOBODY; usize::from(slots).max(1)],
            members: Vec::new(),
            datagrams: FlowHeap::default(),
            window,
            frame: 0,
            borrowers: FlowHeap::default(),
            exhausted: Vec::new(),
        };
        tdm.divide(own_rate);
        Ok(tdm)
    }

    /// Divides this rate into slots from now on.
    fn divide(&mut self, rate: Option<Rate>) {
        self.rate = rate;
        self.slot = rate.map_or(Span::ZERO, |rate| rate.time_for(self.slot_bytes)).max(Span::from_ticks(1));
    }

    /// Number of slots that a reservation needs.
    fn needed(&self, reserve: Option<Rate>) -> Result<usize, Refused> {
        let rate = self.rate.ok_or_else(|| Refused("tdm needs a rate, its own or its link's".into()))?;
        Ok(reserve.map_or(0, |reserve| slots_needed(reserve, rate, self.owners.len() as u16) as usize))
    }

    /// Gives the flow `needed` slots, spread as evenly as the free ones allow.
    //= zhang1991 3
    fn assign(&mut self, flow: FlowIx, needed: usize) {
        let frame = self.owners.len();
        self.owners.iter_mut().filter(|owner| **owner == flow.0).for_each(|owner| *owner = NOBODY);
        for nth in 0..needed {
            let ideal = nth * frame / needed;
            let free = (0..frame).map(|after| (ideal + after) % frame).find(|at| self.owners[*at] == NOBODY);
            if let Some(at) = free {
                self.owners[at] = flow.0;
            }
        }
    }

    /// Returns the first slot that begins at or after `now`: its time, and its number.
    fn next_slot(&self, now: Time) -> (Time, u64) {
        let (slot, began) = (self.slot.ticks(), self.began.unwrap_or(now));
        let number = now.since(began).ticks().div_ceil(slot);
        (began + Span::from_ticks(number.saturating_mul(slot)), number)
    }

    /// The frame and the position in it of the slot with this number.
    fn place(&self, number: u64) -> (u64, usize) {
        let frame = self.owners.len() as u64;
        (number / frame, (number % frame) as usize)
    }

    /// Owner of the slots in which a flow sends before all others.
    fn owner(&self, flow: FlowIx) -> u32 {
        if self.members[flow.ix()].reserve.is_some() { flow.0 } else { NOBODY }
    }

    /// Returns the flow that would send in the slot with this number.
    fn sender(&self, number: u64, queues: &Queues) -> Option<FlowIx> {
        let (frame, at) = self.place(number);
        self.entitled(at, queues).or_else(|| self.borrower(frame))
    }

    /// Returns the flow that would send in an idle slot of this frame.
    //= zhang1991 5.2
    fn borrower(&self, frame: u64) -> Option<FlowIx> {
        let waiting = self.borrowers.top().map(|(_, flow)| flow);
        // In a later frame all windows are full; which of the flows it is shows then.
        waiting.or_else(|| self.exhausted.first().copied().filter(|_| frame != self.frame))
    }

    /// Returns the flow that sends before all others in the slot at this position.
    fn entitled(&self, at: usize, queues: &Queues) -> Option<FlowIx> {
        match self.owners[at] {
            NOBODY => self.datagrams.top().map(|(_, flow)| flow),
            owner => {
                let flow = FlowIx(owner);
                (queues.len(flow) > 0 && queues.takes_part(flow)).then_some(flow)
            }
        }
    }

    /// Updates a flow's place.
    fn refresh(&mut self, flow: FlowIx, queues: &Queues) {
        let reserves = self.members[flow.ix()].reserve.is_some();
        match queues.first(flow) {
            Some(head) if !reserves && queues.takes_part(flow) => {
                self.datagrams.set(flow, (0, head.order));
            }
            _ => self.datagrams.remove(flow),
        }
        if self.window > 0 {
            self.refresh_borrower(flow, queues);
        }
    }

    /// Updates a flow's place among those that may use idle slots.
    fn refresh_borrower(&mut self, flow: FlowIx, queues: &Queues) {
        self.borrowers.remove(flow);
        self.exhausted.retain(|other| *other != flow);
        if let Some(head) = queues.first(flow).filter(|_| queues.takes_part(flow)) {
            self.insert_borrower(flow, head.order);
        }
    }

    /// Inserts a flow that may send and is not there, by the order of its first packet.
    fn insert_borrower(&mut self, flow: FlowIx, order: u64) {
        match self.left(flow, self.frame) {
            0 => self.exhausted.push(flow),
            _ => self.borrowers.insert(flow, (0, order)),
        }
    }

    /// Number of packets that a flow may still send in slots of others in this frame.
    fn left(&self, flow: FlowIx, frame: u64) -> u16 {
        let (of_frame, borrowed) = self.members[flow.ix()].borrowed;
        if of_frame == frame { self.window.saturating_sub(borrowed) } else { self.window }
    }

    /// Fills all windows when a new frame has begun.
    fn begin_frame(&mut self, now: Time, queues: &Queues) {
        let (frame, _) = self.place(self.next_slot(now).1);
        if core::mem::replace(&mut self.frame, frame) == frame {
            return;
        }
        for flow in core::mem::take(&mut self.exhausted) {
            self.refresh_borrower(flow, queues);
        }
    }
}

impl Scheduler for Tdm {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if self.own_rate.is_some() || self.rate == rate {
            return;
        }
        // The next slot is the first of the new length.
        if self.rate.is_some() && self.began.is_some() {
            self.began = Some(self.next_slot(now).0);
        }
        self.divide(rate);
        self.owners.fill(NOBODY);
        // Frames are counted anew.
        self.frame = u64::MAX;
        self.members.iter_mut().for_each(|member| member.borrowed = NEWCOMER.borrowed);
        for flow in 0..self.members.len() {
            let needed = self.needed(self.members[flow].reserve).unwrap_or(0);
            let free = self.owners.iter().filter(|owner| **owner == NOBODY).count();
            self.members[flow].slots = needed.min(free);
            self.assign(FlowIx(flow as u32), needed.min(free));
        }
    }

    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.began.get_or_insert(now);
        let needed = self.needed(contract.reserve)?;
        let owned = self.members.get(flow.ix()).map_or(0, |member| member.slots);
        let free = self.owners.iter().filter(|owner| **owner == NOBODY).count() + owned;
        if needed > free {
            return Err(Refused(format!(
                "{needed} slots are needed, and {free} of {} are free",
                self.owners.len()
            )));
        }
        if self.members.len() <= flow.ix() {
            self.members.resize(flow.ix() + 1, NEWCOMER);
        }
        self.datagrams.grow_to(flow.0 + 1);
        self.borrowers.grow_to(flow.0 + 1);
        if needed != owned {
            self.assign(flow, needed);
        }
        let member = &mut self.members[flow.ix()];
        (member.slots, member.reserve) = (needed, contract.reserve);
        self.refresh(flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let (flow, order) = (packet.flow, queues.arriving());
        packet.tag = order;
        if queues.len(flow) == 0 && self.members[flow.ix()].reserve.is_none() && queues.takes_part(flow) {
            self.datagrams.insert(flow, (0, order));
        }
        if self.window > 0 && queues.len(flow) == 0 && queues.takes_part(flow) {
            self.insert_borrower(flow, order);
        }
    }

    fn advance(&mut self, now: Time, queues: &Queues) {
        if self.window > 0 {
            self.begin_frame(now, queues);
        }
    }

    fn select(&self, now: Time, queues: &Queues) -> Select {
        if queues.is_empty() {
            return Select::Idle;
        }
        let (begins, first) = self.next_slot(now);
        let mut at = begins;
        for after in 0..=self.owners.len() as u64 {
            if let Some(flow) = self.sender(first.saturating_add(after), queues) {
                return if at == now { Select::Flow(flow) } else { Select::NotBefore(at) };
            }
            at += self.slot;
        }
        match self.datagrams.top() {
            // Every slot has an owner, so flows without a reservation have none.
            Some(_) => Select::NotBefore(Time::NEVER),
            None => Select::Idle,
        }
    }

    fn holds(&self, now: Time, flow: FlowIx, _: &Queues) -> Option<(Hold, Time)> {
        let (begins, first) = self.next_slot(now);
        let owner = self.owner(flow);
        let may_send = |after: &u64| {
            let (frame, at) = self.place(first.saturating_add(*after));
            self.owners[at] == owner || self.left(flow, frame) > 0
        };
        let after = (0..=self.owners.len() as u64).find(may_send);
        let begins = |after: u64| begins + Span::from_ticks(self.slot.ticks().saturating_mul(after));
        let at = after.map_or(Time::NEVER, begins);
        (at > now).then_some((Hold::Slot, at))
    }

    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let (frame, at) = self.place(self.next_slot(cx.now).1);
        if self.window > 0 && self.owners[at] != self.owner(packet.flow) {
            //= zhang1991 5.2
            let left = self.left(packet.flow, frame);
            self.members[packet.flow.ix()].borrowed = (frame, self.window - left + 1);
        }
        self.refresh(packet.flow, queues);
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        self.refresh(packet.flow, queues);
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        self.refresh(flow, queues);
    }

    fn release(&mut self, flow: FlowIx) {
        self.assign(flow, 0);
        self.members[flow.ix()] = NEWCOMER;
    }

    fn memory(&self) -> usize {
        self.owners.capacity() * size_of::<u32>()
            + self.members.capacity() * size_of::<Member>()
            + self.datagrams.memory()
            + self.borrowers.memory()
            + self.exhausted.capacity() * size_of::<FlowIx>()
    }
}
