//! A bounded model check of the Credit Update Protocol: both ends as they are, on a link that may
//! lose, delay, repeat and reorder as it likes, in every order of steps. Nothing overruns, and from
//! every state that can be reached all cells get through once nothing more is lost.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use tidegate_core::credit::messages::{Counter, CreditCell, CreditCheck, VcIx};
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::{Arrival, Receiver, Sender};
use tidegate_core::units::{Span, Time};

/// Bounds of the search.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    vcs: usize,
    buf_alloc: u32,
    n2: u32,
    /// Cells that each VC sends.
    cells: u32,
    /// Cells and checks that are on the link at once, and credit cells.
    on_link: usize,
    credits: usize,
}

#[derive(Clone, Copy, Debug)]
enum OnLink {
    Data(VcIx),
    Check(CreditCheck),
}

#[derive(Clone, Debug)]
struct State {
    sender: Sender,
    receiver: Receiver,
    left: Vec<u32>,
    link: VecDeque<OnLink>,
    credits: Vec<CreditCell>,
}

/// Time does not pass: a check may be due at any moment.
const NOW: Time = Time::NEVER;

impl State {
    fn new(bounds: Bounds) -> State {
        let start = Counter::from_bits(u32::MAX - 1);
        let mut sender = Sender::new(Some(Span::TICK)).unwrap();
        let mut receiver = Receiver::new(Protocol::Cup, None);
        for _ in 0..bounds.vcs {
            sender.open(bounds.buf_alloc, start).unwrap();
            receiver.open(bounds.buf_alloc, bounds.n2, start).unwrap();
        }
        let left = vec![bounds.cells; bounds.vcs];
        State { sender, receiver, left, link: VecDeque::new(), credits: Vec::new() }
    }

    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let credits: Vec<_> = self.credits.iter().map(|cell| format!("{:?}", cell.records())).collect();
        let ends = (&self.sender, &self.receiver, &self.link);
        format!("{ends:?} {:?} {credits:?}", self.left).hash(&mut hasher);
        hasher.finish()
    }

    fn send(&self, vc: usize) -> Option<State> {
        let ix = VcIx(vc as u32);
        if self.left[vc] == 0 || self.sender.balance(ix) == 0 {
            return None;
        }
        let mut next = self.clone();
        next.sender.sent(NOW, ix).unwrap();
        next.left[vc] -= 1;
        next.link.push_back(OnLink::Data(ix));
        Some(next)
    }

    fn check(&self) -> Option<State> {
        let mut next = self.clone();
        let check = next.sender.take_check(NOW)?;
        next.link.push_back(OnLink::Check(check));
        Some(next)
    }

    fn deliver(&self) -> Option<State> {
        let mut next = self.clone();
        match next.link.pop_front()? {
            OnLink::Data(vc) => assert_eq!(next.receiver.arrived(NOW, vc), Arrival::Stored, "{self:?}"),
            OnLink::Check(check) => _ = next.receiver.checked(NOW, &check),
        }
        Some(next)
    }

    fn lose(&self) -> Option<State> {
        let mut next = self.clone();
        next.link.pop_front()?;
        Some(next)
    }

    fn forward(&self, vc: usize) -> Option<State> {
        let ix = VcIx(vc as u32);
        (self.receiver.queued(ix) > 0).then(|| {
            let mut next = self.clone();
            next.receiver.left(ix);
            next
        })
    }

    fn credit(&self) -> Option<State> {
        let mut next = self.clone();
        let cell = next.receiver.take_credit_cell()?;
        next.credits.push(cell);
        Some(next)
    }

    /// A credit cell comes, and stays on the link as its own copy when it `repeats`.
    fn credited(&self, nth: usize, repeats: bool) -> State {
        let mut next = self.clone();
        let cell = next.credits[nth];
        if !repeats {
            next.credits.remove(nth);
        }
        next.sender.credited(NOW, &cell, |_, _| ());
        next
    }

    fn without_credit(&self, nth: usize) -> State {
        let mut next = self.clone();
        next.credits.remove(nth);
        next
    }

    /// All states reached by one step.
    fn next(&self, bounds: Bounds) -> Vec<State> {
        let mut found = Vec::new();
        if self.link.len() < bounds.on_link {
            found.extend((0..bounds.vcs).filter_map(|vc| self.send(vc)));
            found.extend(self.check());
        }
        if self.credits.len() < bounds.credits {
            found.extend(self.credit());
        }
        found.extend((0..bounds.vcs).filter_map(|vc| self.forward(vc)));
        found.extend(self.deliver());
        found.extend(self.lose());
        for nth in 0..self.credits.len() {
            found.extend([self.credited(nth, false), self.credited(nth, true), self.without_credit(nth)]);
        }
        found
    }

    /// Returns true if all cells get through when nothing more is lost.
    fn recovers(&self, bounds: Bounds) -> bool {
        let mut state = self.clone();
        for _ in 0..20 * bounds.vcs as u32 * (bounds.cells + bounds.buf_alloc) {
            let all_sent = state.left.iter().all(|left| *left == 0);
            let agree = (0..bounds.vcs).all(|vc| state.sender.balance(VcIx(vc as u32)) == bounds.buf_alloc);
            if all_sent && agree && state.link.is_empty() {
                return true;
            }
            let step =
                state.deliver().or_else(|| (!state.credits.is_empty()).then(|| state.credited(0, false)));
            let step = step.or_else(|| (0..bounds.vcs).find_map(|vc| state.forward(vc)));
            let step =
                step.or_else(|| state.credit()).or_else(|| (0..bounds.vcs).find_map(|vc| state.send(vc)));
            match step.or_else(|| state.check()) {
                Some(next) => state = next,
                None => return false,
            }
        }
        false
    }
}

/// Checks every state that can be reached; returns their number.
fn explore(bounds: Bounds) -> usize {
    let first = State::new(bounds);
    let mut seen = BTreeSet::from([first.key()]);
    let mut open = vec![first];
    while let Some(state) = open.pop() {
        assert!(state.recovers(bounds), "{bounds:?}: {state:?}");
        for next in state.next(bounds) {
            if seen.insert(next.key()) {
                open.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn nothing_overruns_and_nothing_stands_still() {
    let small = Bounds { vcs: 1, buf_alloc: 2, n2: 1, cells: 3, on_link: 2, credits: 2 };
    let mut all =
        vec![small, Bounds { buf_alloc: 2, n2: 2, ..small }, Bounds { buf_alloc: 3, n2: 2, ..small }];
    if std::env::var_os("TIDEGATE_VERIFY").is_some() {
        all.extend([
            Bounds { buf_alloc: 3, n2: 2, cells: 5, on_link: 3, credits: 3, ..small },
            Bounds { vcs: 2, buf_alloc: 2, n2: 1, cells: 2, on_link: 2, credits: 1 },
            Bounds { vcs: 2, buf_alloc: 2, n2: 2, cells: 2, on_link: 2, credits: 1 },
        ]);
    }
    for bounds in all {
        let states = explore(bounds);
        println!("{bounds:?}: {states} states");
        assert!(states > 100, "{bounds:?}: {states}");
    }
}
