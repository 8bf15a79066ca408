//! Both ends on a link that loses and repeats, slot by slot, beside counts without bounds.

use std::collections::{BTreeSet, VecDeque};
use tidegate_core::credit::messages::{
    Counter, Credit as Tells, CreditCell, CreditCheck, CreditRecord, VcIx,
};
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::{Arrival, Receiver, Sender};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// Behaviour of a link, in slots of a cell and in per cent.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    pub there: u64,
    pub back: u64,
    pub data_lost: u64,
    pub credit_lost: u64,
    pub credit_repeated: u64,
    /// Slots by which a credit cell may be later than others.
    pub credit_late: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub wire: Wire,
    /// Slots between the checks of a VC.
    pub checks: Option<u64>,
    /// Slots in a hundred in which the receiver's output is free.
    pub served: u64,
    /// Slots in a hundred in which a VC gets a cell to send; greedy from 100 on.
    pub offered: u64,
    /// Number of times that records are repeated.
    pub repeats: u32,
}

enum OnLink {
    Data(usize),
    Check(CreditCheck, u64),
}

/// Counts of a VC, which do not wrap, and the values derived from them.
#[derive(Default)]
pub struct Vc {
    pub buf_alloc: u64,
    n2: u64,
    pub waiting: u64,
    pub tx: u64,
    pub rx: u64,
    pub fwd: u64,
    reported: u64,
    due: bool,
    repeats: u32,
    /// The greatest Fwd_Cnt of all records that have come.
    pub known: u64,
    pub forwarded: u64,
}

impl Vc {
    pub fn balance(&self) -> u64 {
        self.buf_alloc - (self.tx - self.known)
    }

    pub fn queued(&self) -> u64 {
        self.rx - self.fwd
    }
}

/// A credit cell on its way, and its content without wrapping.
struct Credit {
    at: u64,
    cell: CreditCell,
    tells: Vec<(usize, u64)>,
}

pub struct World {
    pub setting: Setting,
    rng: Rng,
    pub now: u64,
    start: u32,
    pub sender: Sender,
    pub receiver: Receiver,
    pub vcs: Vec<Vc>,
    data: VecDeque<(u64, OnLink)>,
    credits: Vec<Credit>,
    turn: [usize; 2],
    pub departures: Vec<(u64, usize)>,
    pub checks: u64,
    pub lost: u64,
    pub late: u64,
    pub repeated: u64,
}

pub fn vc_ix(vc: usize) -> VcIx {
    VcIx(vc as u32)
}

impl World {
    pub fn new(setting: Setting, seed: u64, start: u32, vcs: &[(u32, u32)]) -> World {
        let every = setting.checks.map(Span::from_ticks);
        let (mut sender, mut receiver) =
            (Sender::new(every).unwrap(), Receiver::new(Protocol::Cup, None).repeating(setting.repeats));
        let mut open = Vec::new();
        for (number, (buf_alloc, n2)) in vcs.iter().enumerate() {
            let counter = Counter::from_bits(start);
            assert_eq!(sender.open(*buf_alloc, counter), Ok(vc_ix(number)));
            assert_eq!(receiver.open(*buf_alloc, *n2, counter), Ok(vc_ix(number)));
            open.push(Vc { buf_alloc: u64::from(*buf_alloc), n2: u64::from(*n2), ..Vc::default() });
        }
        World {
            setting,
            rng: Rng::named(seed, "credit"),
            now: 0,
            start,
            sender,
            receiver,
            vcs: open,
            data: VecDeque::new(),
            credits: Vec::new(),
            turn: [0, 0],
            departures: Vec::new(),
            checks: 0,
            lost: 0,
            late: 0,
            repeated: 0,
        }
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn wrapped(&self, count: u64) -> Counter {
        Counter::from_bits(self.start.wrapping_add(count as u32))
    }

    fn next(vcs: &[Vc], last: &mut usize, ready: impl Fn(&Vc) -> bool) -> Option<usize> {
        let turn = (1..=vcs.len()).map(|step| (*last + step) % vcs.len()).find(|&vc| ready(&vcs[vc]))?;
        *last = turn;
        Some(turn)
    }

    fn slot(&mut self) {
        self.deliver_credits();
        self.deliver_data();
        self.serve();
        self.send_credits();
        self.send_data();
        self.compare();
        self.now += 1;
    }

    fn deliver_credits(&mut self) {
        let now = self.now;
        for Credit { cell, tells, .. } in self.credits.extract_if(.., |credit| credit.at <= now) {
            let mut expected = BTreeSet::new();
            for (vc, fwd) in tells {
                let state = &mut self.vcs[vc];
                self.late += u64::from(fwd < state.known);
                if state.balance() == 0 && fwd > state.known {
                    expected.insert(vc_ix(vc));
                }
                state.known = state.known.max(fwd);
            }
            let mut revived = BTreeSet::new();
            let now = Time::ORIGIN + Span::from_ticks(now);
            self.sender.credited(now, &cell, |vc, has| assert!(has && revived.insert(vc)));
            assert_eq!(revived, expected);
        }
    }

    fn deliver_data(&mut self) {
        let at = Time::ORIGIN + Span::from_ticks(self.now);
        while self.data.front().is_some_and(|(at, _)| *at <= self.now) {
            match self.data.pop_front().unwrap().1 {
                OnLink::Data(vc) => {
                    assert_eq!(self.receiver.arrived(at, vc_ix(vc)), Arrival::Stored);
                    self.vcs[vc].rx += 1;
                    assert!(self.vcs[vc].queued() <= self.vcs[vc].buf_alloc);
                }
                OnLink::Check(check, tx) => {
                    let state = &mut self.vcs[check.vc.0 as usize];
                    let lost = tx - state.rx;
                    assert_eq!(u64::from(self.receiver.checked(at, &check)), lost);
                    (state.rx, state.fwd, state.due) = (tx, state.fwd + lost, true);
                }
            }
        }
    }

    fn serve(&mut self) {
        if !self.happens(self.setting.served) {
            return;
        }
        if let Some(vc) = Self::next(&self.vcs, &mut self.turn[0], |vc| vc.queued() > 0) {
            self.receiver.left(vc_ix(vc));
            let state = &mut self.vcs[vc];
            state.fwd += 1;
            state.forwarded += 1;
            state.due |= state.fwd - state.reported >= state.n2;
            self.departures.push((self.now, vc));
        }
    }

    fn send_credits(&mut self) {
        let due = self.vcs.iter().filter(|vc| vc.due).count();
        assert_eq!(self.receiver.records_due(), due);
        let cell = self.receiver.take_credit_cell();
        assert_eq!(cell.is_some(), due > 0);
        // The link back has nothing else to send.
        let Some(cell) = cell.or_else(|| self.receiver.take_repeat_cell()) else {
            assert!(!self.receiver.repeats_wait() && self.vcs.iter().all(|vc| vc.repeats == 0));
            return;
        };
        let fresh = due.min(6);
        let mut tells = Vec::new();
        for (place, CreditRecord { vc, credit, allocation }) in cell.records().iter().enumerate() {
            let vc = vc.0 as usize;
            assert!(tells.iter().all(|(other, _)| *other != vc), "one record of a VC in a cell");
            assert_eq!((*credit, *allocation), (Tells::Forwarded(self.wrapped(self.vcs[vc].fwd)), None));
            let state = &mut self.vcs[vc];
            assert_eq!(state.due, place < fresh, "what is due comes first");
            if state.due {
                (state.due, state.reported, state.repeats) = (false, state.fwd, self.setting.repeats);
            } else {
                state.repeats -= 1;
                self.repeated += 1;
            }
            tells.push((vc, state.fwd));
        }
        let wire = self.setting.wire;
        if self.happens(wire.credit_lost) {
            self.lost += 1;
            return;
        }
        for _ in 0..=u32::from(self.happens(wire.credit_repeated)) {
            let at = self.now + 1 + wire.back + self.rng.below(wire.credit_late + 1);
            self.credits.push(Credit { at, cell, tells: tells.clone() });
        }
    }

    fn send_data(&mut self) {
        let wire = self.setting.wire;
        for vc in 0..self.vcs.len() {
            let offered = self.happens(self.setting.offered);
            self.vcs[vc].waiting += u64::from(offered);
        }
        let now = Time::ORIGIN + Span::from_ticks(self.now);
        let sent = if let Some(check) = self.sender.take_check(now) {
            self.checks += 1;
            let tx = self.vcs[check.vc.0 as usize].tx;
            assert_eq!(check.tx_cnt, self.wrapped(tx));
            OnLink::Check(check, tx)
        } else {
            assert!(self.sender.next_check() > now);
            let ready = |vc: &Vc| vc.waiting > 0 && vc.balance() > 0;
            let Some(vc) = Self::next(&self.vcs, &mut self.turn[1], ready) else { return };
            assert_eq!(self.sender.sent(now, vc_ix(vc)), Ok(()));
            self.vcs[vc].waiting -= 1;
            self.vcs[vc].tx += 1;
            OnLink::Data(vc)
        };
        if self.happens(wire.data_lost) {
            self.lost += 1;
        } else {
            self.data.push_back((self.now + 1 + wire.there, sent));
        }
    }

    fn compare(&mut self) {
        let now = Time::ORIGIN + Span::from_ticks(self.now);
        for (number, vc) in self.vcs.iter().enumerate() {
            assert_eq!(u64::from(self.sender.balance(vc_ix(number))), vc.balance());
            assert_eq!(u64::from(self.receiver.queued(vc_ix(number))), vc.queued());
            if vc.balance() == 0 {
                assert!(self.sender.sent(now, vc_ix(number)).is_err());
            }
        }
    }

    pub fn run(&mut self, slots: u64) {
        (0..slots).for_each(|_| self.slot());
    }

    pub fn lose_nothing(&mut self) {
        let wire = &mut self.setting.wire;
        (wire.data_lost, wire.credit_lost, wire.credit_repeated, wire.credit_late) = (0, 0, 0, 0);
    }

    pub fn rtt(&self) -> u64 {
        self.setting.wire.there + 1 + self.setting.wire.back
    }
}

pub fn clean(there: u64, back: u64) -> Wire {
    Wire { there, back, data_lost: 0, credit_lost: 0, credit_repeated: 0, credit_late: 0 }
}
