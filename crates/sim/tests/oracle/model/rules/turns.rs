//! Round robins: a list of members, turn by turn.

use super::super::tree::{Member, Queued};
use tidegate_core::units::Rate;

/// What 2⁻¹⁶ bytes a byte is.
const BYTE: u64 = 1 << 16;

/// A member's turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    place: usize,
    round: u64,
    /// In 2⁻¹⁶ bytes; of packet round robin, in packets.
    deficit: u64,
    /// Whether it has had its quantum.
    begun: bool,
}

/// The turns of a node. The first member may always send.
pub struct Turns {
    /// Quantum in bytes and the weight that it is for; `None` for a packet a turn.
    quantum: Option<(u64, Rate)>,
    list: Vec<Turn>,
    next_round: u64,
}

impl Turns {
    pub fn new(quantum: Option<(u64, Rate)>) -> Turns {
        Turns { quantum, list: Vec::new(), next_round: 0 }
    }

    /// What a member may send in a turn.
    fn quantum_of(&self, member: &Member) -> u64 {
        let Some((bytes, unreserved)) = self.quantum else { return 1 };
        let bits = |rate: Rate| rate.bits_per_second();
        let weight = member.contract.reserve.map_or(1.0, |reserve| bits(reserve) / bits(unreserved));
        (bytes as f64 * weight * BYTE as f64).round() as u64
    }

    fn cost(&self, packet: &Queued) -> u64 {
        if self.quantum.is_some() { u64::from(packet.len) * BYTE } else { 1 }
    }

    /// A packet has joined the queue of a member.
    pub fn joined(&mut self, place: usize, members: &[Member]) {
        if self.list.iter().all(|turn| turn.place != place) {
            self.list.push(Turn { place, round: self.next_round, deficit: 0, begun: false });
            if self.list.len() == 1 {
                self.settle(members);
            }
        }
    }

    /// The first packet of the first member is sent.
    pub fn sent(&mut self, packet: &Queued, members: &[Member]) {
        let cost = self.cost(packet);
        self.list[0].deficit -= cost;
        self.emptied(members);
    }

    /// Who has no packet left takes no turns.
    pub fn emptied(&mut self, members: &[Member]) {
        self.list.retain(|turn| !members[turn.place].queue.is_empty());
        self.settle(members);
    }

    /// Turns pass until the first member may send.
    fn settle(&mut self, members: &[Member]) {
        while let Some(mut turn) = self.list.first().copied() {
            if !turn.begun {
                turn.deficit += self.quantum_of(&members[turn.place]);
                turn.begun = true;
            }
            self.list[0] = turn;
            if turn.deficit >= self.cost(&members[turn.place].queue[0]) {
                return;
            }
            self.list.remove(0);
            self.next_round = turn.round + 1;
            self.list.push(Turn { begun: false, round: turn.round + 1, ..turn });
        }
    }

    pub fn first(&self) -> Option<usize> {
        self.list.first().map(|turn| turn.place)
    }

    /// The round in which a member's latest packet is sent, when it has so many packets and bytes behind that.
    pub fn round_of_last(&self, place: usize, members: &[Member], behind: (u64, u64)) -> u64 {
        let member = &members[place];
        let turn = self.list.iter().find(|turn| turn.place == place).expect("it has packets");
        let behind = self.quantum.map_or(behind.0, |_| behind.1 * BYTE);
        let need = member.queue.iter().map(|packet| self.cost(packet)).sum::<u64>() + behind;
        let (mut round, mut deficit) = (turn.round, turn.deficit);
        if !turn.begun {
            deficit += self.quantum_of(member);
        }
        while deficit < need {
            deficit += self.quantum_of(member);
            round += 1;
        }
        round
    }
}
