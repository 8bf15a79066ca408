//! The frame of time-division multiplexing.

use super::super::Ticks;
use super::value;
use tidegate_core::params::Value;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::Rate;

/// The frame of time-division multiplexing.
pub struct Frame {
    rate: Rate,
    slot: Ticks,
    began: Option<Ticks>,
    /// The place of the member that owns each slot.
    owners: Vec<Option<usize>>,
    /// Number of slots of each member.
    owned: Vec<usize>,
    /// Packets that a member may send in a frame in slots of others.
    window: u64,
    /// Frame in which each member has last done so, and the number of packets that it sent so.
    borrowed: Vec<(u64, u64)>,
}

impl Frame {
    /// A frame of these parameters that divides this rate.
    pub fn new(kind: &SchedulerKind, rate: Rate) -> Frame {
        let (Some(Value::Size(bytes)), Some(Value::Integer(slots)), Some(Value::Integer(window))) =
            (value(kind, "slot"), value(kind, "slots"), value(kind, "window"))
        else {
            panic!("a frame without slots")
        };
        let (owned, borrowed) = (Vec::new(), Vec::new());
        let slot = rate.time_for(bytes as u32).ticks().max(1);
        let owners = vec![None; slots as usize];
        Frame { rate, slot, began: None, owners, owned, window: window as u64, borrowed }
    }

    /// A member comes, or its reservation changes.
    pub fn opened(&mut self, now: Ticks, place: usize, reserve: Option<Rate>) {
        self.began.get_or_insert(now);
        self.owned.resize(self.owned.len().max(place + 1), 0);
        self.borrowed.resize(self.owned.len(), (0, 0));
        let bits = |rate: Rate| rate.bits_per_second();
        let worth = |rate: Rate| bits(rate) / bits(self.rate) * self.owners.len() as f64;
        let needed = reserve.map_or(0, |rate| (worth(rate) * (1.0 - 1e-6)).ceil() as usize);
        if needed != self.owned[place] {
            self.assign(place, needed);
        }
    }

    /// When slots begin from `at` on, for one frame.
    pub fn slots_from(&self, at: Ticks) -> Vec<Ticks> {
        let Some(began) = self.began else { return Vec::new() };
        let first = began + (at - began).div_ceil(self.slot) * self.slot;
        (0..=self.owners.len() as u64).map(|nth| first + nth * self.slot).collect()
    }

    /// Gives a member `needed` slots, each at the first free one from its even share on.
    pub fn assign(&mut self, place: usize, needed: usize) {
        let frame = self.owners.len();
        for owner in &mut self.owners {
            if *owner == Some(place) {
                *owner = None;
            }
        }
        for nth in 0..needed {
            let even = nth * frame / needed;
            let free = (even..even + frame).map(|at| at % frame).find(|at| self.owners[*at].is_none());
            self.owners[free.expect("a free slot")] = Some(place);
        }
        self.owned[place] = needed;
    }

    /// Number of the frame at this time.
    fn number(&self, now: Ticks) -> u64 {
        (now - self.began.unwrap_or(now)) / (self.slot * self.owners.len() as u64)
    }

    /// Packets that a member may still send in this frame in slots of others.
    pub fn left(&self, now: Ticks, place: usize) -> u64 {
        let (frame, borrowed) = self.borrowed[place];
        self.window - if frame == self.number(now) { borrowed } else { 0 }
    }

    /// A member has sent in the slot that begins now.
    pub fn sent(&mut self, now: Ticks, place: usize, reserves: bool) {
        let own = if reserves { Some(Some(place)) } else { Some(None) };
        if self.owner_from(now) != own {
            self.borrowed[place] = (self.number(now), self.window - self.left(now, place) + 1);
        }
    }

    /// Owner of the slot that begins now; `None` for a slot without owner.
    pub fn owner_from(&self, now: Ticks) -> Option<Option<usize>> {
        let since = now - self.began?;
        let number = since / self.slot;
        since.is_multiple_of(self.slot).then(|| self.owners[(number % self.owners.len() as u64) as usize])
    }
}
