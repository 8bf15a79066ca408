//! A link whose pool is divided again and again, slot by slot, beside counts without bounds.

use std::collections::{BTreeMap, VecDeque};
use tidegate_core::credit::messages::{Counter, CreditCell, CreditCheck, VcIx};
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::{Adaptation, Arrival, Receiver, Sender};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// The end that allocates.
#[derive(Clone, Copy, Debug)]
pub enum By {
    Nobody { buf_alloc: u32, n2: u32 },
    Sender { pool: u32, n2: u32 },
    Receiver(Adaptation),
}

/// A link and its traffic, in slots of a cell and in per cent.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub by: By,
    pub protocol: Protocol,
    pub there: u64,
    pub back: u64,
    pub interval: u64,
    pub checks: Option<u64>,
    pub data_lost: u64,
    pub credit_lost: u64,
    pub credit_repeated: u64,
    pub credit_late: u64,
    /// Chance in a thousand that a VC starts or stops to have cells in a slot; 0 for greedy ones.
    pub turns: u64,
    /// Chance in a thousand that a VC is blocked or continues behind the receiver in a slot.
    pub blocks: u64,
}

pub fn clean(by: By, there: u64, back: u64, interval: u64) -> Setting {
    Setting {
        by,
        protocol: Protocol::Cup,
        there,
        back,
        interval,
        checks: None,
        data_lost: 0,
        credit_lost: 0,
        credit_repeated: 0,
        credit_late: 0,
        turns: 0,
        blocks: 0,
    }
}

/// Slots from the sending of a cell to the use of its credit, when it is forwarded at once.
pub fn rtt(setting: &Setting) -> u64 {
    setting.there + 1 + setting.back
}

pub struct Vc {
    pub on: bool,
    pub blocked: bool,
    pub tx: u64,
    pub fwd: u64,
    pub forwarded: u64,
    fwd_before: u64,
    /// Numbers of the cells that are queued.
    queue: VecDeque<u64>,
    next: u64,
}

enum OnLink {
    Data(usize, u64),
    Check(CreditCheck),
}

pub struct World {
    pub setting: Setting,
    rng: Rng,
    pub now: u64,
    pub sender: Sender,
    pub receiver: Receiver,
    pub vcs: Vec<Vc>,
    data: VecDeque<(u64, OnLink)>,
    /// Credit cells by their time of arrival and a number.
    credits: BTreeMap<(u64, u64), CreditCell>,
    turn: [usize; 2],
    pub departures: Vec<(u64, usize)>,
    pub dropped: u64,
    pub most: u64,
    pub credit_cells: u64,
    pub lost: u64,
}

pub fn vc_ix(vc: usize) -> VcIx {
    VcIx(vc as u32)
}

impl World {
    pub fn new(setting: Setting, seed: u64, vcs: usize) -> World {
        let every = setting.checks.map(Span::from_ticks);
        let pool = match setting.by {
            By::Nobody { .. } => None,
            By::Sender { pool, .. } => Some(pool),
            By::Receiver(adaptation) => Some(adaptation.pool),
        };
        let (mut sender, mut receiver) = (Sender::new(every).unwrap(), Receiver::new(setting.protocol, pool));
        for _ in 0..vcs {
            let (at_sender, at_receiver, n2) = match setting.by {
                By::Nobody { buf_alloc, n2 } => (buf_alloc, buf_alloc, n2),
                By::Sender { pool, n2 } => (n2, pool, n2),
                By::Receiver(_) => (1, 1, 1),
            };
            let start = Counter::from_bits(u32::MAX - 5);
            sender.open(at_sender, start).unwrap();
            receiver.open(at_receiver, n2, start).unwrap();
        }
        let vc = || Vc {
            on: setting.turns == 0,
            blocked: false,
            tx: 0,
            fwd: 0,
            forwarded: 0,
            fwd_before: 0,
            queue: VecDeque::new(),
            next: 0,
        };
        World {
            setting,
            rng: Rng::named(seed, "credit"),
            now: 0,
            sender,
            receiver,
            vcs: (0..vcs).map(|_| vc()).collect(),
            data: VecDeque::new(),
            credits: BTreeMap::new(),
            turn: [0, 0],
            departures: Vec::new(),
            dropped: 0,
            most: 0,
            credit_cells: 0,
            lost: 0,
        }
    }

    fn at(&self) -> Time {
        Time::ORIGIN + Span::from_ticks(self.now)
    }

    fn happens(&mut self, of: u64, chance: u64) -> bool {
        chance > 0 && self.rng.below(of) < chance
    }

    fn next(vcs: &[Vc], last: &mut usize, ready: impl Fn(usize, &Vc) -> bool) -> Option<usize> {
        let turn = (1..=vcs.len()).map(|step| (*last + step) % vcs.len()).find(|&vc| ready(vc, &vcs[vc]))?;
        *last = turn;
        Some(turn)
    }

    pub fn run(&mut self, slots: u64) {
        (0..slots).for_each(|_| self.slot());
    }

    fn slot(&mut self) {
        let at = self.at();
        while let Some(first) = self.credits.first_entry()
            && first.key().0 <= self.now
        {
            self.sender.credited(at, &first.remove(), |_, _| ());
        }
        self.deliver();
        for vc in 0..self.vcs.len() {
            let (turns, blocks) = (self.setting.turns, self.setting.blocks);
            self.vcs[vc].on ^= self.happens(1000, turns);
            self.vcs[vc].blocked ^= self.happens(1000, blocks);
        }
        let ready = |_: usize, vc: &Vc| !vc.blocked && !vc.queue.is_empty();
        if let Some(vc) = Self::next(&self.vcs, &mut self.turn[0], ready) {
            self.receiver.left(vc_ix(vc));
            let state = &mut self.vcs[vc];
            let number = state.queue.pop_front().unwrap();
            assert!(number >= state.next, "VC {vc} is out of order");
            (state.next, state.fwd, state.forwarded) = (number + 1, state.fwd + 1, state.forwarded + 1);
            self.departures.push((self.now, vc));
        }
        if self.now.is_multiple_of(self.setting.interval) {
            self.allocate();
        }
        self.send();
        let queued: u64 = self.vcs.iter().map(|vc| vc.queue.len() as u64).sum();
        assert_eq!(queued, self.receiver.queued_in_all());
        self.most = self.most.max(queued);
        self.now += 1;
    }

    fn deliver(&mut self) {
        let at = self.at();
        while self.data.front().is_some_and(|(when, _)| *when <= self.now) {
            match self.data.pop_front().unwrap().1 {
                OnLink::Data(vc, number) => match self.receiver.arrived(at, vc_ix(vc)) {
                    Arrival::Stored => self.vcs[vc].queue.push_back(number),
                    Arrival::Dropped => {
                        self.dropped += 1;
                        self.vcs[vc].fwd += 1;
                        self.vcs[vc].fwd_before += 1;
                    }
                },
                OnLink::Check(check) => {
                    let found = self.receiver.checked(at, &check);
                    self.vcs[check.vc.0 as usize].fwd += u64::from(found);
                }
            }
        }
    }

    fn allocate(&mut self) {
        let at = self.at();
        match self.setting.by {
            By::Nobody { .. } => {}
            By::Sender { pool, n2 } => self.sender.allocate(at, pool, n2, |_, _| ()),
            By::Receiver(adaptation) => {
                let expected = self.equation_3(&adaptation);
                self.receiver.allocate(at, &adaptation);
                for (vc, most) in expected.into_iter().enumerate() {
                    let (given, n2) = self.receiver.allocated(vc_ix(vc));
                    let unbounded = adaptation.confirmation != tidegate_core::credit::Confirmation::Check;
                    assert!(if unbounded { u64::from(given) == most } else { u64::from(given) <= most });
                    assert_eq!(n2, adaptation.n2.unwrap_or(given / 4).clamp(1, given));
                }
            }
        }
    }

    /// Equation (3), rounded up, and no VC without a cell.
    fn equation_3(&mut self, adaptation: &Adaptation) -> Vec<u64> {
        let queued: u64 = self.vcs.iter().map(|vc| vc.queue.len() as u64).sum();
        let shared = u64::from(adaptation.divided).saturating_sub(queued + self.vcs.len() as u64);
        let used: Vec<u64> = self.vcs.iter().map(|vc| vc.fwd - vc.fwd_before).collect();
        let total: u64 = used.iter().sum();
        self.vcs.iter_mut().for_each(|vc| vc.fwd_before = vc.fwd);
        used.into_iter().map(|used| (shared * used).div_ceil(total.max(1)).max(1)).collect()
    }

    fn send(&mut self) {
        let at = self.at();
        if let Some(cell) = self.receiver.take_credit_cell() {
            self.credit_cells += 1;
            if self.happens(100, self.setting.credit_lost) {
                self.lost += 1;
            } else {
                for copy in 0..=u64::from(self.happens(100, self.setting.credit_repeated)) {
                    let late = self.rng.below(self.setting.credit_late + 1);
                    let at = self.now + 1 + self.setting.back + late;
                    self.credits.insert((at, 2 * self.credit_cells + copy), cell);
                }
            }
        }
        let sent = if let Some(check) = self.sender.take_check(at) {
            OnLink::Check(check)
        } else {
            let sender = &self.sender;
            let ready = |ix: usize, vc: &Vc| vc.on && sender.balance(vc_ix(ix)) > 0;
            let Some(vc) = Self::next(&self.vcs, &mut self.turn[1], ready) else { return };
            self.sender.sent(at, vc_ix(vc)).unwrap();
            self.vcs[vc].tx += 1;
            OnLink::Data(vc, self.vcs[vc].tx)
        };
        if self.happens(100, self.setting.data_lost) {
            self.lost += 1;
        } else {
            self.data.push_back((self.now + 1 + self.setting.there, sent));
        }
    }

    pub fn lose_nothing(&mut self) {
        let setting = &mut self.setting;
        (setting.data_lost, setting.credit_lost, setting.credit_repeated, setting.credit_late) = (0, 0, 0, 0);
    }
}
