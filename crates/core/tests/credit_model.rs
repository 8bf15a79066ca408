//! A bounded model check of the Credit Update Protocol: both ends as they are, on links that may
//! lose, delay, repeat and reorder as they like, in every order of steps. Nothing overruns, and from
//! every state that can be reached all cells get through once nothing more is lost. The VCs of
//! several upstream nodes may share a pool, which is divided at any moment.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use tidegate_core::credit::messages::{Counter, CreditCell, CreditCheck, VcIx};
use tidegate_core::credit::output_pool::OutputPool;
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::{Adaptation, Arrival, Confirmation, Receiver, Sender};
use tidegate_core::units::{Span, Time};

/// Bounds of the search.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Upstream nodes, with a link each.
    nodes: usize,
    /// VCs of each.
    vcs: usize,
    buf_alloc: u32,
    n2: u32,
    /// Cells that each VC of the first node sends, and of the others.
    cells: u32,
    others: u32,
    /// Cells and checks that are on a link at once, and credit cells.
    on_link: usize,
    credits: usize,
    /// The pool that all VCs share, which has room for their first allocations, and the number of
    /// times that it is divided.
    pool: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
enum OnLink {
    Data(VcIx),
    Check(CreditCheck),
}

/// A link from an upstream node, and its sender.
#[derive(Clone, Debug)]
struct Link {
    sender: Sender,
    left: Vec<u32>,
    cells: VecDeque<OnLink>,
    credits: Vec<CreditCell>,
}

#[derive(Clone, Debug)]
struct State {
    links: Vec<Link>,
    receivers: Vec<Receiver>,
    pool: Option<OutputPool>,
    /// Divisions of the pool that may still come.
    divisions: u32,
}

/// Time does not pass: a check may be due at any moment, and alone confirms an allocation.
const NOW: Time = Time::ORIGIN;
const CHECKED: Time = Time::NEVER;

impl State {
    fn new(bounds: Bounds) -> State {
        let start = Counter::from_bits(u32::MAX - 1);
        let mut pool = bounds.pool.map(|(pool, _)| {
            let confirmation = Confirmation::Check;
            OutputPool::new(Adaptation { pool, divided: pool, n2: None, confirmation })
        });
        let Bounds { buf_alloc, n2, .. } = bounds;
        let (mut links, mut receivers) = (Vec::new(), Vec::new());
        for node in 0..bounds.nodes {
            let mut sender = Sender::new(Some(Span::TICK)).unwrap();
            let mut receiver = Receiver::new(Protocol::Cup, None);
            for _ in 0..bounds.vcs {
                let vc = sender.open(buf_alloc, start).unwrap();
                receiver.open(buf_alloc, n2, start).unwrap();
                pool.iter_mut().for_each(|pool| pool.join(node, vc, Confirmation::Check));
            }
            let left = vec![if node == 0 { bounds.cells } else { bounds.others }; bounds.vcs];
            links.push(Link { sender, left, cells: VecDeque::new(), credits: Vec::new() });
            receivers.push(receiver);
        }
        State { links, receivers, pool, divisions: bounds.pool.map_or(0, |(_, divisions)| divisions) }
    }

    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let records = |link: &Link| link.credits.iter().map(|cell| format!("{:?}", cell.records())).collect();
        let credits: Vec<Vec<String>> = self.links.iter().map(records).collect();
        let ends = |link: &Link| format!("{:?} {:?} {:?}", link.sender, link.cells, link.left);
        let links: Vec<String> = self.links.iter().map(ends).collect();
        let receiver = (&self.receivers, &self.pool, self.divisions);
        format!("{links:?} {receiver:?} {credits:?}").hash(&mut hasher);
        hasher.finish()
    }

    fn send(&self, node: usize, vc: usize) -> Option<State> {
        let ix = VcIx(vc as u32);
        let link = &self.links[node];
        if link.left[vc] == 0 || link.sender.balance(ix) == 0 {
            return None;
        }
        let mut next = self.clone();
        let link = &mut next.links[node];
        link.sender.sent(CHECKED, ix).unwrap();
        link.left[vc] -= 1;
        link.cells.push_back(OnLink::Data(ix));
        Some(next)
    }

    fn check(&self, node: usize) -> Option<State> {
        let mut next = self.clone();
        let check = next.links[node].sender.take_check(CHECKED)?;
        next.links[node].cells.push_back(OnLink::Check(check));
        Some(next)
    }

    fn deliver(&self, node: usize) -> Option<State> {
        let mut next = self.clone();
        let receiver = &mut next.receivers[node];
        match next.links[node].cells.pop_front()? {
            OnLink::Data(vc) => {
                let arrival = match &mut next.pool {
                    None => receiver.arrived(NOW, vc),
                    Some(pool) => pool.arrived(NOW, receiver, vc),
                };
                assert_eq!(arrival, Arrival::Stored, "{self:?}");
            }
            OnLink::Check(check) => _ = receiver.checked(NOW, &check),
        }
        Some(next)
    }

    fn lose(&self, node: usize) -> Option<State> {
        let mut next = self.clone();
        next.links[node].cells.pop_front()?;
        Some(next)
    }

    fn forward(&self, node: usize, vc: usize) -> Option<State> {
        let ix = VcIx(vc as u32);
        (self.receivers[node].queued(ix) > 0).then(|| {
            let mut next = self.clone();
            match &mut next.pool {
                None => next.receivers[node].left(ix),
                Some(pool) => pool.left(&mut next.receivers[node], ix),
            }
            next
        })
    }

    fn divide(&self) -> Option<State> {
        let mut next = self.clone();
        next.divisions = next.divisions.checked_sub(1)?;
        next.pool.as_ref()?.allocate(NOW, &mut next.receivers);
        Some(next)
    }

    fn credit(&self, node: usize) -> Option<State> {
        let mut next = self.clone();
        let cell = next.receivers[node].take_credit_cell()?;
        next.links[node].credits.push(cell);
        Some(next)
    }

    /// A credit cell comes, and stays on the link as its own copy when it `repeats`.
    fn credited(&self, node: usize, nth: usize, repeats: bool) -> State {
        let mut next = self.clone();
        let link = &mut next.links[node];
        let cell = link.credits[nth];
        if !repeats {
            link.credits.remove(nth);
        }
        link.sender.credited(CHECKED, &cell, |_, _| ());
        next
    }

    fn without_credit(&self, node: usize, nth: usize) -> State {
        let mut next = self.clone();
        next.links[node].credits.remove(nth);
        next
    }

    /// All states reached by one step.
    fn next(&self, bounds: Bounds) -> Vec<State> {
        let mut found: Vec<State> = self.divide().into_iter().collect();
        for (node, link) in self.links.iter().enumerate() {
            if link.cells.len() < bounds.on_link {
                found.extend((0..bounds.vcs).filter_map(|vc| self.send(node, vc)));
                found.extend(self.check(node));
            }
            if link.credits.len() < bounds.credits {
                found.extend(self.credit(node));
            }
            found.extend((0..bounds.vcs).filter_map(|vc| self.forward(node, vc)));
            found.extend(self.deliver(node));
            found.extend(self.lose(node));
            for nth in 0..link.credits.len() {
                let (once, twice) = (self.credited(node, nth, false), self.credited(node, nth, true));
                found.extend([once, twice, self.without_credit(node, nth)]);
            }
        }
        found
    }

    /// Returns true if all cells of a node get through when nothing more is lost.
    fn recovers(&self, bounds: Bounds, node: usize) -> bool {
        let mut state = self.clone();
        for _ in 0..20 * bounds.vcs as u32 * (bounds.cells + bounds.others + bounds.buf_alloc) {
            let link = &state.links[node];
            let all_sent = link.left.iter().all(|left| *left == 0);
            let agrees = |vc| link.sender.balance(vc) == link.sender.buf_alloc(vc);
            if all_sent && (0..bounds.vcs).all(|vc| agrees(VcIx(vc as u32))) && link.cells.is_empty() {
                return true;
            }
            let step = state
                .deliver(node)
                .or_else(|| (!link.credits.is_empty()).then(|| state.credited(node, 0, false)))
                .or_else(|| (0..bounds.vcs).find_map(|vc| state.forward(node, vc)))
                .or_else(|| state.credit(node))
                .or_else(|| (0..bounds.vcs).find_map(|vc| state.send(node, vc)));
            match step.or_else(|| state.check(node)) {
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
        assert!((0..bounds.nodes).all(|node| state.recovers(bounds, node)), "{bounds:?}: {state:?}");
        if let (Some(pool), Some((most, _))) = (&state.pool, bounds.pool) {
            let queued: u64 = state.receivers.iter().map(Receiver::queued_in_all).sum();
            assert!(pool.queued() == queued && queued <= u64::from(most), "{bounds:?}: {state:?}");
        }
        for next in state.next(bounds) {
            if seen.insert(next.key()) {
                open.push(next);
            }
        }
    }
    seen.len()
}

const SMALL: Bounds =
    Bounds { nodes: 1, vcs: 1, buf_alloc: 2, n2: 1, cells: 3, others: 0, on_link: 2, credits: 2, pool: None };

fn explore_all(few: &[Bounds], more: &[Bounds]) {
    let more = if std::env::var_os("TIDEGATE_VERIFY").is_some() { more } else { &[] };
    for bounds in few.iter().chain(more) {
        let states = explore(*bounds);
        println!("{bounds:?}: {states} states");
        assert!(states > 100, "{bounds:?}: {states}");
    }
}

#[test]
fn nothing_overruns_and_nothing_stands_still() {
    explore_all(
        &[SMALL, Bounds { buf_alloc: 2, n2: 2, ..SMALL }, Bounds { buf_alloc: 3, n2: 2, ..SMALL }],
        &[
            Bounds { buf_alloc: 3, n2: 2, cells: 5, on_link: 3, credits: 3, ..SMALL },
            Bounds { vcs: 2, buf_alloc: 2, n2: 1, cells: 2, on_link: 2, credits: 1, ..SMALL },
            Bounds { vcs: 2, buf_alloc: 2, n2: 2, cells: 2, on_link: 2, credits: 1, ..SMALL },
        ],
    );
}

#[test]
fn nor_does_a_pool_of_several_upstream_nodes() {
    let pool = Bounds { nodes: 2, cells: 2, on_link: 1, credits: 1, pool: Some((4, 1)), ..SMALL };
    // An idle VC frees its places, and one that sends another cell takes part.
    explore_all(&[pool], &[Bounds { others: 1, ..pool }, Bounds { pool: Some((4, 2)), ..pool }]);
}
