//! Deficit round robin (Shreedhar and Varghese 1996): flows take turns, and in its turn each flow may send a
//! quantum of bytes plus its deficit, which is the unused rest of its previous turn.
//!
//! ```text
//! deficit ← deficit + quantum                          at the beginning of a turn
//! while the first packet is no longer than deficit     deficit ← deficit − len, and it is sent
//! deficit ← 0                                          when no packet is left
//! ```
//!
//! A flow's quantum is in proportion to its reservation: it is `quantum` for a reservation of `unreserved`,
//! which is also the weight of a flow without a reservation. Quanta are from a byte to 8 TiB; quanta and
//! deficits are held in units of 2⁻¹⁶ bytes.
//!
//! Each packet takes a few steps when no quantum is shorter than a packet. When no flow may send in a round,
//! the rounds until one may are counted at once: the work between two packets is O(flows) for any number of
//! rounds.
//!
//! Choices where the paper is silent:
//! - A flow has no packet left once the service of its last one begins: with a later packet, it joins behind
//!   all others.
//! - A **held** flow keeps its deficit. A flow that is held after the first packet of its turn continues the
//!   turn when it rejoins; other flows rejoin behind all present ones. A flow that was **absent** rejoins
//!   there without a deficit.
//! - A packet that is dropped at the head of its queue is not charged.
//! - Push-out takes the packet that would be sent in the latest round; among several, the latest arrival. So
//!   a flow that floods loses its own packets. (The paper takes it from the longest queue by bytes.)
//! - A change of the reservation applies to the quanta of later turns.

use super::turns::Turns;
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::queues::{Queued, Queues};
use crate::stats::Count;
use crate::units::{Rate, Time};

parameters! {
    /// Parameters of deficit round robin.
    #[derive(Eq)]
    pub struct DrrParams {
        /// Quantum: bytes per turn of a flow with the weight `unreserved`; at least its largest packet, so that every turn sends
        /// one
        quantum: u32 as Size = 1_514,
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

const UNRESERVED: Rate = match Rate::from_bits_per_second(10_000) {
    Some(rate) => rate,
    None => panic!(),
};

/// Fractional bits of a byte.
const FRACTION: u32 = 16;
/// The longest turn: 8 TiB.
const LONGEST_TURN: u64 = 1 << (43 + FRACTION);

impl DrrParams {
    /// The quantum of a flow with this reservation, in 2⁻¹⁶ bytes: from a byte to the longest turn.
    fn quantum_of(&self, reserve: Option<Rate>) -> u64 {
        let weight =
            reserve.map_or(1.0, |reserve| reserve.bits_per_second() / self.unreserved.bits_per_second());
        let quantum = f64::from(self.quantum) * weight * f64::from(1 << FRACTION);
        (quantum.round() as u64).clamp(1 << FRACTION, LONGEST_TURN)
    }
}

impl PolicyParams for DrrParams {
    type Made = Drr;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "drr",
        title: "Deficit round robin",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves backlogged flows in turn; in its turn a flow sends a quantum of bytes in proportion \
               to its reservation, plus the unused rest of its last turn.",
        source: "Shreedhar and Varghese 1996",
        params: DrrParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Drr, Refused> {
        Ok(Drr { params: *self, turns: Turns::default(), flows: Vec::new() })
    }

    fn example() -> DrrParams {
        DrrParams { quantum: 1_500, unreserved: UNRESERVED }
    }
}

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
    /// Quantum of a turn, in 2⁻¹⁶ bytes, as is the deficit.
    quantum: u64,
    deficit: u64,
    turn: Turn,
    /// The round in which its latest packet is sent.
    latest: u64,
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
    /// The first flow has begun its turn, and may send its first packet.
    turns: Turns,
    flows: Vec<Flow>,
}

/// The length of the flow's first packet.
fn head(flow: FlowIx, queues: &Queues) -> u32 {
    queues.first(flow).map_or(0, |first| first.packet.len)
}

impl Drr {
    /// Lets turns pass until the first flow may send its first packet.
    fn settle(&mut self, queues: &Queues) {
        let mut passed = 0;
        while let Some(flow) = self.turns.first() {
            let state = &mut self.flows[flow.ix()];
            if state.turn == Turn::Ahead {
                state.begin_turn();
            }
            if state.may_send(head(flow, queues)) {
                return;
            }
            state.turn = Turn::Ahead;
            self.turns.end_turn();
            passed += 1;
            if passed == self.turns.len() {
                self.skip_rounds(queues);
                passed = 0;
            }
        }
    }

    /// No flow may send in a whole round: skips all rounds up to the one in which a flow may.
    #[cold]
    fn skip_rounds(&mut self, queues: &Queues) {
        let turns_for = |flow: FlowIx| self.flows[flow.ix()].turns_for(u64::from(head(flow, queues)));
        let rounds = self.turns.iter().map(turns_for).min().unwrap_or(1).saturating_sub(1);
        if rounds > 0 {
            self.turns.iter().for_each(|flow| self.flows[flow.ix()].give(rounds));
            self.turns.skip_rounds(rounds);
        }
    }

    /// Records the round in which the flow sends the last of its first `bytes` queued bytes.
    fn note_latest(&mut self, flow: FlowIx, bytes: u64) {
        self.flows[flow.ix()].latest = self.round_of(flow, bytes);
    }

    fn round_of(&self, flow: FlowIx, bytes: u64) -> u64 {
        let listed = self.turns.contains(flow);
        let round = if listed { self.turns.round(flow) } else { self.turns.next_round() };
        let state = &self.flows[flow.ix()];
        // The quantum of a turn that has begun is in the deficit.
        let turns = (state.turns_for(bytes) + u64::from(state.turn != Turn::Ahead)).max(1) - 1;
        round.saturating_add(turns)
    }
}

impl Scheduler for Drr {
    fn set_flow(
        &mut self,
        _: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.turns.reach(flow.0 + 1);
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, Flow::default());
        }
        self.flows[flow.ix()].quantum = self.params.quantum_of(contract.reserve);
        self.note_latest(flow, queues.bytes_of(flow));
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
            let alone = self.turns.len() == 0;
            self.turns.join(flow);
            if alone {
                // Lets turns pass until it may send.
                let state = &mut self.flows[flow.ix()];
                let passed = state.turns_for(u64::from(packet.len)).max(1) - 1;
                state.give(passed);
                state.begin_turn();
                self.turns.skip_rounds(passed);
            }
        }
        self.note_latest(flow, queues.bytes_of(flow) + u64::from(packet.len));
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
            self.flows[flow.ix()].forget_turn();
            self.turns.leave(flow);
        }
        self.settle(queues);
        self.note_latest(flow, queues.bytes_of(flow));
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        match behind.bytes {
            0 => self.flows[flow.ix()].latest,
            // A token is the only packet in its queue.
            bytes => self.round_of(flow, u64::from(last.packet.len) + bytes),
        }
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        let state = &mut self.flows[flow.ix()];
        match queues.participation(flow) {
            Participation::Active if queues.len(flow) == 0 || self.turns.contains(flow) => return,
            Participation::Active if state.turn == Turn::Sending => self.turns.join_first(flow),
            Participation::Active => self.turns.join(flow),
            Participation::Held => {
                state.interrupt_turn();
                self.turns.leave(flow);
            }
            Participation::Absent => {
                state.forget_turn();
                self.turns.leave(flow);
            }
        }
        self.settle(queues);
        self.note_latest(flow, queues.bytes_of(flow));
    }

    fn gauges(&self, _: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("deficit", self.flows[flow.ix()].deficit as f64 / f64::from(1 << FRACTION));
    }

    fn memory(&self) -> usize {
        self.turns.memory() + self.flows.capacity() * size_of::<Flow>()
    }
}
