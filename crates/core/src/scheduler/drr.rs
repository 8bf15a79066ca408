//! Deficit round robin (Shreedhar and Varghese 1996): flows take turns, and in its turn each flow
//! may send a quantum of bytes plus its deficit, which is the unused rest of its previous turn.
//!
//! ```text
//! deficit ← deficit + quantum                          at the beginning of a turn
//! while the first packet is no longer than deficit     deficit ← deficit − len, and it is sent
//! deficit ← 0                                          when no packet is left
//! ```
//!
//! A flow's weight is its reservation, or `unreserved` without one. The flow with the largest
//! weight has the quantum `quantum`, and the others have less, in proportion. The largest weight is
//! that of all flows that the node has had: when a flow goes, nothing changes for others. Quanta
//! and deficits are held in units of 2⁻²⁴ bytes.
//!
//! With `quantum` as long as the largest packet, no flow sends more than two full packets in a row,
//! however much larger its weight is than the others'. (The paper gives the flow with the smallest
//! weight a quantum of the largest packet, to let each turn send one. A turn of a flow with a
//! thousand times the weight is then 1.5 MB, and all others wait for it.)
//!
//! A flow that has to wait for several quanta until it may send its first packet is not visited in
//! between: it *rests* until the round in which it may, and then joins behind all others. So a
//! packet takes a few steps where quanta are no shorter than packets, and O(log flows) otherwise,
//! for any number of rounds.
//!
//! Choices where the paper is silent:
//! - A flow has no packet left when the next packet is selected and none of it is queued. It keeps
//!   its turn while its last packet is in service, and if the node then idles until another flow
//!   sends. With the next packet it continues the turn.
//! - A **held** flow keeps its deficit. A flow that is held after the first packet of its turn
//!   continues the turn when it rejoins; other flows rejoin behind all present ones. A flow that is
//!   held without a packet gives up its place at once; a class learns of the hold with its next
//!   packet. A flow that was **absent** rejoins behind all present ones without a deficit.
//! - A packet that is dropped at the head of its queue is not charged.
//! - Push-out takes the latest packet of the flow with the largest backlog, in the unit of the
//!   pool's limit: the paper's longest queue. No flow loses its only packet while another has two.
//! - A change of the weights applies to the quanta of later turns; deficits stay. Flows whose next
//!   turns become too short for their packets rest, in the order of these turns.

mod flow;
mod linux;
mod params;
mod weights;

use alloc::vec::Vec;
pub use params::{DrrForm, DrrParams};

use flow::{DrrFlow, FRACTION, STALE, Turn};

use super::traits::ASK_AGAIN;
use super::turns::Turns;
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::Queues;
use crate::ranking::flow_heap::FlowHeap;
use crate::units::Time;

/// Deficit round robin.
pub struct Drr {
    params: DrrParams,
    /// Flows that may send in their next turn. The first has begun its turn, and may send its first
    /// packet or has none; all others have one.
    turns: Turns,
    /// The flow that sent last, if the next packet has not been selected since.
    served: Option<FlowIx>,
    flows: Vec<DrrFlow>,
    /// Flows that rest, by the round in which they may send, then in the order in which they began
    /// to rest.
    resting: FlowHeap,
    /// Number of times that flows have begun to rest.
    rests: u64,
    /// The largest weight that a flow has had.
    largest: u64,
    /// Number of times that it has grown.
    scale: u64,
    /// Flows whose quanta have changed while they took turns.
    changed: Vec<FlowIx>,
}

/// Returns the quantum of a flow with this weight, in units of 2⁻²⁴ bytes; the flow with the largest
/// weight has `most` bytes.
fn quantum(most: u32, weight: u64, largest: u64) -> u64 {
    let quantum = (u128::from(most) << FRACTION) * u128::from(weight) / u128::from(largest);
    u64::try_from(quantum).unwrap_or(u64::MAX).max(1)
}

/// Returns the length of the flow's first packet.
fn head(flow: FlowIx, queues: &Queues) -> u32 {
    queues.first(flow).map_or(0, |first| first.packet.len)
}

impl Drr {
    fn new(params: DrrParams) -> Drr {
        Drr {
            params,
            turns: Turns::default(),
            served: None,
            flows: Vec::new(),
            resting: FlowHeap::default(),
            rests: 0,
            largest: 1,
            scale: 0,
            changed: Vec::new(),
        }
    }

    /// Returns the flow, with its quantum brought up to date.
    #[inline]
    fn renewed(&mut self, flow: FlowIx) -> &mut DrrFlow {
        let state = &mut self.flows[flow.ix()];
        if state.scale != self.scale {
            state.quantum = quantum(self.params.quantum, state.weight, self.largest);
            state.scale = self.scale;
        }
        state
    }

    /// Lets turns pass until that of the flow whose first packet, of this length, has been
    /// selected.
    #[inline]
    fn choose(&mut self, flow: FlowIx, len: u32, queues: &Queues) {
        if let Some(served) = self.served.take()
            && served != flow
            && queues.len(served) == 0
        {
            self.leave(served);
            self.flows[served.ix()].forget_turn();
        }
        self.pass_turns_with(flow, len, queues);
        debug_assert_eq!(self.turns.first(), Some(flow));
    }

    /// Lets turns pass until the first flow may send its first packet, or has none and keeps its
    /// turn.
    fn pass_turns(&mut self, queues: &Queues) {
        self.pass_turns_by(|flow| head(flow, queues));
    }

    /// Like [`pass_turns`](Self::pass_turns), while a flow's first packet, of this length, is not
    /// in its queue.
    fn pass_turns_with(&mut self, flow: FlowIx, len: u32, queues: &Queues) {
        self.pass_turns_by(|other| if other == flow { len } else { head(other, queues) });
    }

    /// Like [`pass_turns`](Self::pass_turns), with the lengths of first packets; 0 without one.
    #[inline]
    fn pass_turns_by(&mut self, head: impl Fn(FlowIx) -> u32) {
        loop {
            let Some(flow) = self.turns.first() else {
                let Some(((round, _), _)) = self.resting.top() else { return };
                self.turns.advance_to(round);
                self.wake(round);
                continue;
            };
            if self.flows[flow.ix()].turn == Turn::Ahead {
                self.wake(self.turns.round(flow));
                self.renewed(flow).begin_turn();
            }
            let state = &mut self.flows[flow.ix()];
            let len = head(flow);
            if state.may_send(len) {
                return;
            }
            state.turn = Turn::Ahead;
            self.turns.end_turn();
            self.rest_if_it_must(flow, len);
        }
    }

    /// Lets a flow that takes turns rest if it may not send a packet of this length in its next
    /// turn.
    #[inline]
    fn rest_if_it_must(&mut self, flow: FlowIx, len: u32) {
        let from = self.turns.round(flow);
        if self.renewed(flow).needs_turns(len) {
            self.turns.leave(flow);
            self.rest(flow, from, len);
        }
    }

    /// Returns a flow that was held in its turn to that turn, behind the flow whose turn it is
    /// while that has no packet.
    fn go_on(&mut self, flow: FlowIx, queues: &Queues) {
        let emptied = self.turns.first().filter(|first| queues.len(*first) == 0);
        emptied.into_iter().for_each(|first| self.turns.leave(first));
        self.turns.join_first(flow);
        emptied.into_iter().for_each(|first| self.turns.join_first(first));
    }

    /// Adds a flow whose first packet has this length: it takes turns at once, or rests until it
    /// may send.
    fn join(&mut self, flow: FlowIx, len: u32) {
        if self.renewed(flow).needs_turns(len) {
            self.rest(flow, self.turns.next_round(), len);
        } else {
            self.turns.join(flow);
        }
    }

    /// Lets a flow rest from this round on until it may send a packet of this length.
    fn rest(&mut self, flow: FlowIx, from: u64, len: u32) {
        self.rests += 1;
        let state = &mut self.flows[flow.ix()];
        (state.awaits, state.nth_rest) = (len, self.rests);
        self.rest_on(flow, from);
    }

    /// Like [`rest`](Self::rest), for a flow that has begun to rest.
    fn rest_on(&mut self, flow: FlowIx, from: u64) {
        // Flows that rest until the current round take turns already.
        let next_round = self.round().saturating_add(1);
        let state = self.renewed(flow);
        let turns = state.turns_for(u64::from(state.awaits)).max(1);
        state.rests_from = Some(from);
        let rank = (from.saturating_add(turns - 1).max(next_round), state.nth_rest);
        self.resting.set(flow, rank);
    }

    /// Wakes the flows that may send in this round: they take turns again, behind all others.
    fn wake(&mut self, round: u64) {
        while let Some(((until, _), flow)) = self.resting.top()
            && until <= round
        {
            self.end_rest(flow, until);
            self.turns.join(flow);
        }
    }

    /// Ends the rest of a flow, which has had its turns before this round. Returns false if it did
    /// not rest.
    fn end_rest(&mut self, flow: FlowIx, round: u64) -> bool {
        let state = &mut self.flows[flow.ix()];
        let Some(from) = state.rests_from.take() else { return false };
        state.give(round.saturating_sub(from));
        self.resting.remove(flow);
        true
    }

    /// Returns the round of the current turn.
    fn round(&self) -> u64 {
        self.turns.first().map_or(self.turns.next_round(), |first| self.turns.round(first))
    }

    /// Removes the flow from the turns.
    fn leave(&mut self, flow: FlowIx) {
        if !self.end_rest(flow, self.round()) {
            self.turns.leave(flow);
        }
    }
}

impl Scheduler for Drr {
    fn set_flow(&mut self, _: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.turns.grow_to(flow.0 + 1);
        self.resting.grow_to(flow.0 + 1);
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, DrrFlow { scale: STALE, ..DrrFlow::default() });
        }
        let weight = contract.reserve.unwrap_or(self.params.unreserved).weight();
        self.weigh(flow, weight);
        Ok(())
    }

    /// A flow without a packet keeps its turn until the next packet is selected.
    fn forgettable_at(&self, now: Time, flow: FlowIx, _: &Queues) -> Time {
        if self.flows[flow.ix()].turn == Turn::Sending { now + ASK_AGAIN } else { Time::from_ticks(0) }
    }

    #[inline]
    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let (flow, len) = (packet.flow, packet.len);
        self.see_to_changes(queues);
        if queues.is_empty() {
            self.turns.restart();
        }
        if queues.len(flow) > 0 {
            return;
        }
        let (takes_part, state) = (queues.takes_part(flow), &mut self.flows[flow.ix()]);
        if state.turn == Turn::Sending {
            match takes_part {
                true if !self.turns.contains(flow) => self.turns.join_first(flow),
                false if !state.may_send(len) => state.turn = Turn::Ahead,
                _ => {}
            }
            return self.pass_turns_with(flow, len, queues);
        }
        if takes_part && (self.turns.len() > 0 || self.resting.top().is_some()) {
            self.join(flow, len);
        } else if takes_part {
            // Alone: turns pass until it may send.
            self.turns.join(flow);
            let state = self.renewed(flow);
            let passed = state.turns_for(u64::from(len)).max(1) - 1;
            state.give(passed);
            state.begin_turn();
            self.turns.skip_rounds(passed);
        }
    }

    #[inline]
    fn advance(&mut self, _: Time, queues: &Queues) {
        self.see_to_changes(queues);
    }

    #[inline]
    fn select(&self, _: Time, queues: &Queues) -> Select {
        let spent = self.spent(queues);
        let next = self.turns.iter().find(|flow| queues.len(*flow) > 0 && Some(*flow) != spent);
        next.or_else(|| self.again(spent?, queues))
            .or_else(|| Some(self.resting.top()?.1))
            .map_or(Select::Idle, Select::Flow)
    }

    #[inline]
    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        self.choose(flow, packet.len, queues);
        let state = &mut self.flows[flow.ix()];
        state.deficit = state.deficit.saturating_sub(u64::from(packet.len) << FRACTION);
        state.turn = Turn::Sending;
        self.served = Some(flow);
        match self.params.form {
            DrrForm::LookAhead => self.pass_turns(queues),
            DrrForm::Linux => self.leave_if_emptied(flow, queues),
        }
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        let flow = packet.flow;
        self.see_to_changes(queues);
        if why == Removal::DroppedAtHead {
            self.choose(flow, packet.len, queues);
        }
        if queues.len(flow) == 0 {
            self.leave(flow);
            self.flows[flow.ix()].forget_turn();
        }
        self.pass_turns(queues);
    }

    fn loses_by_length(&self) -> bool {
        true
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        self.see_to_changes(queues);
        let state = &mut self.flows[flow.ix()];
        let takes_turns = self.turns.contains(flow) || state.rests_from.is_some();
        match queues.participation(flow) {
            Participation::Active if queues.len(flow) == 0 || takes_turns => return,
            Participation::Active if state.turn == Turn::Sending => self.go_on(flow, queues),
            Participation::Active => self.join(flow, head(flow, queues)),
            Participation::Held => {
                state.interrupt_turn();
                self.leave(flow);
            }
            Participation::Absent => {
                self.leave(flow);
                self.flows[flow.ix()].forget_turn();
            }
        }
        self.pass_turns(queues);
    }

    fn release(&mut self, flow: FlowIx) {
        self.leave(flow);
        self.flows[flow.ix()].forget_turn();
    }

    fn gauges(&self, _: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("deficit", self.flows[flow.ix()].deficit as f64 / f64::from(1 << FRACTION));
    }

    fn memory(&self) -> usize {
        self.turns.memory()
            + self.changed.capacity() * size_of::<FlowIx>()
            + self.flows.capacity() * size_of::<DrrFlow>()
            + self.resting.memory()
    }
}
