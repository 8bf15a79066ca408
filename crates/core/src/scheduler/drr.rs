//! Deficit round robin (Shreedhar and Varghese 1996): flows take turns, and in its turn each flow may send a
//! quantum of bytes plus its deficit, which is the unused rest of its previous turn.
//!
//! ```text
//! deficit ← deficit + quantum                          at the beginning of a turn
//! while the first packet is no longer than deficit     deficit ← deficit − len, and it is sent
//! deficit ← 0                                          when no packet is left
//! ```
//!
//! A flow's weight is its reservation, or `unreserved` without one. The flow with the largest weight has the quantum
//! `quantum`, and the others have less, in proportion. The largest weight is that of all flows that the node has had:
//! when a flow goes, nothing changes for others. Quanta and deficits are held in units of 2⁻²⁴ bytes.
//!
//! With `quantum` as long as the largest packet, no flow sends more than two packets in a row, however much larger its
//! weight is than the others'. Therefore shares are those of the weights as long as flows have a packet or two queued: a
//! turn never lasts longer than a queue. (The paper gives the flow with the smallest weight a quantum of the largest
//! packet, to let each turn send one. A turn of a flow with a thousand times the weight is then 1.5 MB, which no queue
//! holds, and all others wait for it.)
//!
//! A flow that has to wait for several quanta until it may send its first packet is not visited in between: it *rests*
//! until the round in which it may, and then joins behind all others. So a packet takes a few steps where quanta are no
//! shorter than packets, and O(log flows) otherwise, for any number of rounds.
//!
//! Choices where the paper is silent:
//! - A flow has no packet left once the service of its last one begins: with a later packet, it joins behind
//!   all others.
//! - A **held** flow keeps its deficit. A flow that is held after the first packet of its turn continues the
//!   turn when it rejoins; other flows rejoin behind all present ones. A flow that was **absent** rejoins
//!   there without a deficit.
//! - A packet that is dropped at the head of its queue is not charged.
//! - Push-out takes the latest packet of the flow that has most queued, in the unit of the pool's limit: the paper's
//!   longest queue. So a flow that floods loses its own packets, and no flow loses its only one while others have more.
//! - A change of the weights applies to the quanta of later turns; deficits stay.

mod params;

pub use params::DrrParams;

use super::turns::Turns;
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::flow_heap::FlowHeap;
use crate::packet::{FlowIx, Packet};
use crate::queues::Queues;
use crate::units::Time;

/// Fractional bits of a byte.
const FRACTION: u32 = 24;

/// The progress of a flow's turn.
#[derive(Clone, Copy, Default, PartialEq)]
enum Turn {
    /// It has not begun.
    #[default]
    Ahead,
    /// It has begun, with the quantum added to this deficit, and nothing has been sent yet.
    Begun(u64),
    /// A packet has been sent.
    Sending,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    weight: u64,
    /// Quantum of a turn, in 2⁻²⁴ bytes, as is the deficit.
    quantum: u64,
    /// The scale that the quantum is of.
    scale: u64,
    deficit: u64,
    turn: Turn,
    /// The round of the first turn for which it rests; only while it does.
    rests_from: Option<u64>,
    /// The length of the packet that it rests for.
    awaits: u32,
    /// Its rank among flows that rest until the same round.
    nth_rest: u64,
}

impl Flow {
    /// Number of further quanta after which it may send this number of bytes.
    fn turns_for(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(1 << FRACTION).saturating_sub(self.deficit).div_ceil(self.quantum)
    }

    /// Whether its deficit covers a packet of this length.
    fn may_send(&self, len: u32) -> bool {
        self.deficit >= u64::from(len) << FRACTION
    }

    fn give(&mut self, quanta: u64) {
        self.deficit = self.deficit.saturating_add(self.quantum.saturating_mul(quanta));
    }

    /// Begins its turn, with a quantum.
    fn begin_turn(&mut self) {
        self.turn = Turn::Begun(self.deficit);
        self.give(1);
    }

    /// Takes back a turn in which nothing has been sent, when the flow is held.
    fn interrupt_turn(&mut self) {
        if let Turn::Begun(before) = self.turn {
            (self.deficit, self.turn) = (before, Turn::Ahead);
        }
    }

    /// Clears its deficit and its turn, when no packet of it is left or it is absent.
    fn forget_turn(&mut self) {
        (self.deficit, self.turn) = (0, Turn::Ahead);
    }
}

/// Deficit round robin.
pub struct Drr {
    params: DrrParams,
    /// Flows that may send in their next turn. The first has begun its turn, and may send its first packet.
    turns: Turns,
    flows: Vec<Flow>,
    /// Flows that rest, by the round in which they may send, then in the order in which they began to.
    resting: FlowHeap,
    /// How often flows have begun to rest.
    rests: u64,
    /// The largest weight that a flow has had.
    largest: u64,
    /// How often it has grown.
    scale: u64,
}

/// The scale of a quantum that is not up to date.
const STALE: u64 = u64::MAX;

/// The length of the flow's first packet.
fn head(flow: FlowIx, queues: &Queues) -> u32 {
    queues.first(flow).map_or(0, |first| first.packet.len)
}

impl Drr {
    fn new(params: DrrParams) -> Drr {
        Drr {
            params,
            turns: Turns::default(),
            flows: Vec::new(),
            resting: FlowHeap::default(),
            rests: 0,
            largest: 1,
            scale: 0,
        }
    }

    /// The flow, with its quantum brought up to date.
    #[inline]
    fn renewed(&mut self, flow: FlowIx) -> &mut Flow {
        let state = &mut self.flows[flow.ix()];
        if state.scale != self.scale {
            let most = u128::from(self.params.quantum) << FRACTION;
            let quantum = most * u128::from(state.weight) / u128::from(self.largest);
            (state.quantum, state.scale) = (u64::try_from(quantum).unwrap_or(u64::MAX).max(1), self.scale);
        }
        state
    }

    /// Lets turns pass until the first flow may send its first packet.
    fn settle(&mut self, queues: &Queues) {
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
            if state.may_send(head(flow, queues)) {
                return;
            }
            state.turn = Turn::Ahead;
            self.turns.end_turn();
            let from = self.turns.round(flow);
            if self.renewed(flow).turns_for(u64::from(head(flow, queues))) > 1 {
                self.turns.leave(flow);
                self.rest(flow, from, head(flow, queues));
            }
        }
    }

    /// A flow whose first packet is so long takes turns: at once, or after those for which it has to wait.
    fn join(&mut self, flow: FlowIx, len: u32) {
        if self.renewed(flow).turns_for(u64::from(len)) > 1 {
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

    /// The same for a flow that has begun to rest.
    fn rest_on(&mut self, flow: FlowIx, from: u64) {
        // Those that rest until the round that has begun take turns already.
        let next_round = self.round().saturating_add(1);
        let state = self.renewed(flow);
        let turns = state.turns_for(u64::from(state.awaits)).max(1);
        state.rests_from = Some(from);
        let rank = (from.saturating_add(turns - 1).max(next_round), state.nth_rest);
        self.resting.set(flow, rank);
    }

    /// Flows that may send in this round take turns again, behind all others.
    fn wake(&mut self, round: u64) {
        while let Some(((until, _), flow)) = self.resting.top()
            && until <= round
        {
            self.end_rest(flow, until);
            self.turns.join(flow);
        }
    }

    /// Ends the rest of a flow, which has had its turns before this round. Whether it rested.
    fn end_rest(&mut self, flow: FlowIx, round: u64) -> bool {
        let state = &mut self.flows[flow.ix()];
        let Some(from) = state.rests_from.take() else { return false };
        state.give(round.saturating_sub(from));
        self.resting.remove(flow);
        true
    }

    /// The round of the turn that has begun.
    fn round(&self) -> u64 {
        self.turns.first().map_or(self.turns.next_round(), |first| self.turns.round(first))
    }

    /// The flow takes no turns from now on.
    fn leave(&mut self, flow: FlowIx) {
        if !self.end_rest(flow, self.round()) {
            self.turns.leave(flow);
        }
    }

    /// Sets the weight of a flow.
    fn weigh(&mut self, flow: FlowIx, weight: u64) {
        let state = &mut self.flows[flow.ix()];
        if core::mem::replace(&mut state.weight, weight) == weight {
            return;
        }
        state.scale = STALE;
        if weight <= self.largest {
            return self.rest_anew(flow);
        }
        (self.largest, self.scale) = (weight, self.scale + 1);
        if self.resting.top().is_some() {
            (0..self.flows.len() as u32).for_each(|flow| self.rest_anew(FlowIx(flow)));
        }
    }

    /// The quantum of a flow has changed: if it rests, it has had turns of the former, and waits for those of the latter.
    fn rest_anew(&mut self, flow: FlowIx) {
        if let Some(from) = self.flows[flow.ix()].rests_from {
            let from = from.max(self.round());
            self.end_rest(flow, from);
            self.rest_on(flow, from);
        }
    }
}

impl Scheduler for Drr {
    fn set_flow(&mut self, _: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.turns.reach(flow.0 + 1);
        self.resting.reach(flow.0 + 1);
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, Flow { scale: STALE, ..Flow::default() });
        }
        let weight = contract.reserve.unwrap_or(self.params.unreserved).weight();
        self.weigh(flow, weight);
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        if queues.is_empty() {
            self.turns.restart();
        }
        if queues.len(flow) == 0 && queues.takes_part(flow) {
            if self.turns.len() > 0 {
                return self.join(flow, packet.len);
            }
            // Alone: turns pass until it may send.
            self.turns.join(flow);
            let state = self.renewed(flow);
            let passed = state.turns_for(u64::from(packet.len)).max(1) - 1;
            state.give(passed);
            state.begin_turn();
            self.turns.skip_rounds(passed);
        }
    }

    #[inline]
    fn select(&self, _: Time, _: &Queues) -> Select {
        self.turns.first().map_or(Select::Idle, Select::Flow)
    }

    #[inline]
    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        let state = &mut self.flows[flow.ix()];
        state.deficit = state.deficit.saturating_sub(u64::from(packet.len) << FRACTION);
        state.turn = Turn::Sending;
        if queues.len(flow) == 0 {
            state.forget_turn();
            self.turns.leave(flow);
        }
        self.settle(queues);
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        let flow = packet.flow;
        if queues.len(flow) == 0 {
            self.leave(flow);
            self.flows[flow.ix()].forget_turn();
        }
        self.settle(queues);
    }

    fn loses_by_length(&self) -> bool {
        true
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        let state = &mut self.flows[flow.ix()];
        let takes_turns = self.turns.contains(flow) || state.rests_from.is_some();
        match queues.participation(flow) {
            Participation::Active if queues.len(flow) == 0 || takes_turns => return,
            Participation::Active if state.turn == Turn::Sending => self.turns.join_first(flow),
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
        self.settle(queues);
    }

    fn gauges(&self, _: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("deficit", self.flows[flow.ix()].deficit as f64 / f64::from(1 << FRACTION));
    }

    fn memory(&self) -> usize {
        self.turns.memory() + self.flows.capacity() * size_of::<Flow>() + self.resting.memory()
    }
}
