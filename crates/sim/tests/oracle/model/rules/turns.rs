//! Round robins: a list of members, turn by turn.

use super::super::tree::{Member, Queued};
use tidegate_core::units::Rate;

/// A byte in 2⁻²⁴ bytes.
const BYTE: u64 = 1 << 24;

/// The rate as it is held, in units of 2⁻¹⁶ bit/s.
fn weight(rate: Rate) -> u128 {
    let held = u128::from(rate.time_for(1 << 24).ticks());
    ((800_000_000_000u128 << 40) + held / 2) / held
}

/// A member's turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    place: usize,
    round: u64,
    /// In 2⁻²⁴ bytes; of packet round robin, in packets.
    deficit: u64,
    /// True if it has had its quantum.
    begun: bool,
}

/// The turns of a node. The first member may always send, or its last packet is in service.
///
/// Deficit round robin checks for another packet of a member after it has sent one (Shreedhar and
/// Varghese 1996, figure 4): a member whose last packet is in service has its turn until the next packet is to be
/// sent. After packet round robin's packet, the turn is over. In Linux's form the check comes when
/// the next packet is to be sent (`drr_dequeue`), behind members that have joined meanwhile, and a
/// member without a packet is off the list at once.
#[derive(Clone)]
pub struct Turns {
    /// Quantum in bytes of the largest weight, and the weight without a reservation; `None` for a
    /// packet a turn.
    quantum: Option<(u64, Rate)>,
    /// True if a turn ends when the next packet is to be sent.
    ends_late: bool,
    list: Vec<Turn>,
    /// The member whose packet was sent, until the next packet is sent.
    served: Option<usize>,
    /// Members that may not send in their next turn, in the order in which they began to rest.
    resting: Vec<Turn>,
    next_round: u64,
    /// The round that has begun.
    round: u64,
    /// The largest weight so far.
    largest: u128,
}

impl Turns {
    pub fn new(quantum: Option<(u64, Rate)>, ends_late: bool) -> Turns {
        let (list, resting) = (Vec::new(), Vec::new());
        Turns { quantum, ends_late, list, served: None, resting, next_round: 0, round: 0, largest: 0 }
    }

    /// Bytes or packets that a member may send in a turn.
    fn quantum_of(&self, place: usize, members: &[Member]) -> u64 {
        let Some((bytes, unreserved)) = self.quantum else { return 1 };
        let of = |member: &Member| weight(member.contract.reserve.unwrap_or(unreserved));
        let quantum = u128::from(bytes * BYTE) * of(&members[place]) / self.largest;
        (quantum as u64).max(1)
    }

    /// A member comes, or its reservation changes.
    pub fn opened(&mut self, reserve: Option<Rate>) {
        if let Some((_, unreserved)) = self.quantum {
            self.largest = self.largest.max(weight(reserve.unwrap_or(unreserved)));
        }
    }

    fn cost(&self, packet: &Queued) -> u64 {
        if self.quantum.is_some() { u64::from(packet.len) * BYTE } else { 1 }
    }

    /// Members whose next turns have become too short for their packets rest.
    fn see_to_changes(&mut self, members: &[Member]) {
        for turn in std::mem::take(&mut self.list) {
            match turn.begun || members[turn.place].queue.is_empty() {
                true => self.list.push(turn),
                false => self.take_turns(turn, members),
            }
        }
    }

    /// A packet has joined the queue of a member.
    pub fn joined(&mut self, place: usize, members: &[Member]) {
        self.see_to_changes(members);
        let is_alone = self.list.is_empty() && self.resting.is_empty();
        if self.list.iter().chain(&self.resting).all(|turn| turn.place != place) {
            self.take_turns(Turn { place, round: self.next_round, deficit: 0, begun: false }, members);
        }
        if is_alone || !self.ends_late {
            self.pass_turns(members);
        }
    }

    /// The next packet is to be sent: a member without one by now takes no turns.
    pub fn choose(&mut self, members: &[Member]) {
        self.see_to_changes(members);
        if let Some(served) = self.served.take().filter(|served| members[*served].queue.is_empty()) {
            self.forget(served);
        }
        self.pass_turns(members);
    }

    /// The first packet of the first member is sent, and out of its queue.
    pub fn sent(&mut self, packet: &Queued, members: &[Member]) {
        let cost = self.cost(packet);
        self.list[0].deficit -= cost;
        let place = self.list[0].place;
        let leaves_at_once = self.quantum.is_none() || self.ends_late;
        match leaves_at_once && members[place].queue.is_empty() {
            true => self.forget(place),
            false => self.served = Some(place),
        }
        if !self.ends_late {
            self.pass_turns(members);
        }
    }

    /// The latest packet of a member was removed and will not be sent.
    pub fn removed(&mut self, place: usize, members: &[Member]) {
        self.see_to_changes(members);
        if members[place].queue.is_empty() {
            self.forget(place);
        }
        self.pass_turns(members);
    }

    fn forget(&mut self, place: usize) {
        self.list.retain(|turn| turn.place != place);
        self.resting.retain(|turn| turn.place != place);
    }

    fn may_send(&self, turn: &Turn, members: &[Member]) -> bool {
        members[turn.place].queue.first().is_none_or(|first| turn.deficit >= self.cost(first))
    }

    /// Returns true if a member may send in its next turn.
    fn may_send_then(&self, turn: &Turn, members: &[Member]) -> bool {
        let deficit = turn.deficit + self.quantum_of(turn.place, members);
        self.may_send(&Turn { deficit, ..*turn }, members)
    }

    /// Joins behind all others if it may send in its next turn.
    fn take_turns(&mut self, turn: Turn, members: &[Member]) {
        match self.may_send_then(&turn, members) {
            true => self.list.push(turn),
            false => self.resting.push(turn),
        }
    }

    /// Turns pass until the first member may send, or has no packet yet.
    fn pass_turns(&mut self, members: &[Member]) {
        while !(self.list.is_empty() && self.resting.is_empty()) {
            let Some(mut turn) = self.list.first().copied() else {
                self.begin_round(self.round + 1, members);
                continue;
            };
            if !turn.begun {
                self.begin_round(turn.round, members);
                turn.deficit += self.quantum_of(turn.place, members);
                turn.begun = true;
            }
            self.list[0] = turn;
            if self.may_send(&turn, members) {
                return;
            }
            self.list.remove(0);
            self.next_round = turn.round + 1;
            self.take_turns(Turn { begun: false, round: turn.round + 1, ..turn }, members);
        }
    }

    /// Advances the rounds one by one. A resting member has had its turn in the previous round, and
    /// takes turns again if it may send in this one.
    fn begin_round(&mut self, round: u64, members: &[Member]) {
        while self.round < round {
            self.round += 1;
            for mut turn in std::mem::take(&mut self.resting) {
                if turn.round < self.round {
                    turn.deficit += self.quantum_of(turn.place, members);
                }
                match self.may_send_then(&turn, members) {
                    true => self.list.push(Turn { round: self.next_round.max(self.round), ..turn }),
                    false => self.resting.push(turn),
                }
            }
            self.next_round = self.next_round.max(self.round);
        }
    }

    /// The member whose packet would be sent now.
    pub fn first(&self, members: &[Member]) -> Option<usize> {
        let mut then = self.clone();
        then.choose(members);
        then.list.first().map(|turn| turn.place)
    }

    /// Push-out's rank of a member with `behind` packets and bytes behind its token. Under deficit
    /// round robin it is the member's backlog, with an only packet behind all others. With a packet
    /// a turn it is the round in which the latest packet is sent.
    pub fn rank_of_last(&self, member: &Member, place: usize, behind: (u64, u64), in_bytes: bool) -> u64 {
        let packets = member.queue.len() as u64 + behind.0;
        match self.quantum {
            Some(_) if in_bytes => {
                let bytes = member.queue.iter().map(|packet| u64::from(packet.len)).sum::<u64>() + behind.1;
                if packets > 1 { (1 << 62) + bytes } else { bytes }
            }
            Some(_) => packets,
            None => {
                let turn = self.list.iter().find(|turn| turn.place == place).expect("it has packets");
                turn.round + packets - (turn.deficit + u64::from(!turn.begun))
            }
        }
    }
}
