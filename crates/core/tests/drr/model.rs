//! The loop of the paper, quantum by quantum.

use crate::common::rate;
use crate::common::twins::{Line, Model, Waiting};
use tidegate_core::contract::Contract;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::{Rate, Time};

/// A list of flows with their deficits in 2⁻²⁴ bytes, the first of which may always send, and those
/// that rest.
///
/// The loop of the paper's figures 3 and 4 sends a packet, and then looks whether its flow has
/// another: without one the flow leaves the list and its deficit is 0, and a packet that has come
/// by then is of the same turn. So a flow whose last packet is in service has its turn until the
/// next packet is to be sent.
pub struct Drr {
    line: Line,
    quantum: u64,
    unreserved: u64,
    turns: Vec<Turn>,
    /// Flow of the packet sent last, until the next one is sent.
    served: Option<usize>,
    /// Flows that may not send in their next turn, in the order in which they began to rest.
    resting: Vec<Turn>,
    /// Deficits and turns of flows that are held.
    held: Vec<Turn>,
    next_round: u64,
    /// The round that has begun.
    round: u64,
    /// The largest weight so far.
    largest: u128,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: usize,
    round: u64,
    deficit: u64,
    /// True if the flow has had its quantum, and true if it has sent.
    begun: bool,
    sent: bool,
    /// Deficit when the turn began.
    before: u64,
}

const BYTE: u64 = 1 << 24;

/// A rate as it is held, in units of 2⁻¹⁶ bit/s.
pub fn weight(rate: Rate) -> u128 {
    let held = u128::from(rate.time_for(1 << 24).ticks());
    ((800_000_000_000u128 << 40) + held / 2) / held
}

impl Drr {
    pub fn new(quantum: u64, unreserved: u64) -> Drr {
        Drr {
            line: Line::default(),
            quantum,
            unreserved,
            turns: Vec::new(),
            served: None,
            resting: Vec::new(),
            held: Vec::new(),
            next_round: 0,
            round: 0,
            largest: 0,
        }
    }

    fn weight_of(&self, contract: &Contract) -> u128 {
        weight(contract.reserve.unwrap_or_else(|| rate(self.unreserved)))
    }

    fn quantum_of(&self, flow: usize) -> u64 {
        let of = self.weight_of(&self.line.flows[flow].0);
        let quantum = u128::from(self.quantum * BYTE) * of / self.largest;
        (quantum as u64).max(1)
    }

    fn need(&self, flow: usize) -> u64 {
        self.line.of(flow).next().map_or(0, |head| u64::from(head.len) * BYTE)
    }

    fn is_empty(&self, flow: usize) -> bool {
        self.line.of(flow).next().is_none()
    }

    fn forget(&mut self, flow: usize) {
        for list in [&mut self.turns, &mut self.resting, &mut self.held] {
            list.retain(|turn| turn.flow != flow);
        }
    }

    /// Moves flows whose next turns have become too short for their packets among the resting.
    fn see_to_changes(&mut self) {
        for turn in std::mem::take(&mut self.turns) {
            match turn.begun {
                true => self.turns.push(turn),
                false => self.take_turns(turn),
            }
        }
    }

    /// Goes on turn by turn, until the first flow may send, or has no packet yet.
    fn pass_turns(&mut self) {
        while !(self.turns.is_empty() && self.resting.is_empty()) {
            let Some(first) = self.turns.first().copied() else {
                self.begin_round(self.round + 1);
                continue;
            };
            if !first.begun {
                self.begin_round(first.round);
                let deficit = first.deficit + self.quantum_of(first.flow);
                self.turns[0] = Turn { before: first.deficit, deficit, begun: true, ..first };
            }
            let turn = self.turns[0];
            if turn.deficit >= self.need(turn.flow) {
                return;
            }
            self.turns.remove(0);
            self.next_round = turn.round + 1;
            self.take_turns(Turn { begun: false, sent: false, round: turn.round + 1, ..turn });
        }
    }

    /// Puts the flow behind all others, if it may send in its next turn; otherwise it rests.
    fn take_turns(&mut self, turn: Turn) {
        match turn.deficit + self.quantum_of(turn.flow) >= self.need(turn.flow) {
            true => self.turns.push(turn),
            false => self.resting.push(turn),
        }
    }

    /// Begins rounds one by one: a resting flow has had its turn in the round before, and takes
    /// turns again if it may send in this one.
    fn begin_round(&mut self, round: u64) {
        while self.round < round {
            self.round += 1;
            let resting = std::mem::take(&mut self.resting);
            let mut awake = Vec::new();
            for mut turn in resting {
                if turn.round < self.round {
                    turn.deficit += self.quantum_of(turn.flow);
                }
                match turn.deficit + self.quantum_of(turn.flow) >= self.need(turn.flow) {
                    true => awake.push(turn),
                    false => self.resting.push(turn),
                }
            }
            self.next_round = self.next_round.max(self.round);
            let next_round = self.next_round;
            self.turns.extend(awake.into_iter().map(|turn| Turn { round: next_round, ..turn }));
        }
    }

    fn join(&mut self, flow: usize, deficit: u64) {
        let round = self.next_round;
        self.take_turns(Turn { flow, round, deficit, begun: false, sent: false, before: 0 });
    }
}

impl Model for Drr {
    fn line(&mut self) -> &mut Line {
        &mut self.line
    }
    fn set(&mut self, contract: &Contract) {
        self.largest = self.largest.max(self.weight_of(contract));
    }
    fn arrived(&mut self, waiting: Waiting) {
        self.see_to_changes();
        let active = self.line.flows[waiting.flow].1 == Participation::Active;
        let mut present = self.turns.iter().chain(&self.resting);
        let present = present.any(|turn| turn.flow == waiting.flow);
        let held = self.held.iter().position(|turn| turn.flow == waiting.flow);
        match held {
            // It was held with its last packet in service, and is not held any more.
            Some(at) if active => {
                let turn = self.held.remove(at);
                self.turns.insert(0, turn);
            }
            // The packet is too long for the turn, which is over.
            Some(at) if self.held[at].deficit < self.need(waiting.flow) => {
                (self.held[at].begun, self.held[at].sent) = (false, false);
            }
            None if active && !present => self.join(waiting.flow, 0),
            _ => {}
        }
        self.pass_turns();
    }
    fn takes_part(&mut self, _: Time, flow: usize, _: Participation) {
        self.see_to_changes();
        for list in [&mut self.turns, &mut self.resting] {
            let listed = list.iter().position(|turn| turn.flow == flow);
            self.held.extend(listed.map(|at| list.remove(at)));
        }
        match self.line.flows[flow].1 {
            Participation::Held => {}
            Participation::Absent => self.forget(flow),
            Participation::Active if self.is_empty(flow) => {}
            Participation::Active => {
                let kept = self.held.iter().position(|turn| turn.flow == flow);
                match kept.map(|at| self.held.remove(at)) {
                    Some(turn) if turn.sent => {
                        // Behind the flow in turn while its last packet is in service.
                        let emptied = self.turns.first().is_some_and(|first| self.is_empty(first.flow));
                        let round = self.turns.first().map_or(self.next_round, |first| first.round);
                        self.turns.insert(usize::from(emptied), Turn { round, ..turn });
                    }
                    Some(turn) if turn.begun => self.join(flow, turn.before),
                    Some(turn) => self.join(flow, turn.deficit),
                    None => self.join(flow, 0),
                }
            }
        }
        self.pass_turns();
    }
    fn start(&mut self, _: Time) -> Option<Waiting> {
        self.see_to_changes();
        if self.line.packets.iter().any(|waiting| self.line.flows[waiting.flow].1 == Participation::Active)
            && let Some(served) = self.served.take().filter(|served| self.is_empty(*served))
        {
            self.forget(served);
        }
        self.pass_turns();
        let flow = self.turns.first()?.flow;
        let head = *self.line.of(flow).next()?;
        let sent = self.line.remove(head.body);
        self.turns[0].deficit -= u64::from(sent.len) * BYTE;
        self.turns[0].sent = true;
        self.served = Some(flow);
        self.pass_turns();
        Some(sent)
    }
    /// Takes from the longest queue.
    fn rank_to_lose(&mut self, last: Waiting) -> u64 {
        self.line.of(last.flow).count() as u64
    }
    fn removed(&mut self, gone: Waiting) {
        self.see_to_changes();
        if self.is_empty(gone.flow) {
            self.forget(gone.flow);
        }
        self.pass_turns();
    }
}
