//! Flows by rank, for schedulers: the smallest on top, at a cost that hardly grows with the number
//! of flows.
//!
//! The smallest ranks are sorted in a short ring, the [prefix](crate::ranking::sorted_prefix). When
//! there are more flows than it holds, the others wait in a [radix
//! ladder](crate::ranking::radix_ladder), and the next few of them move into the prefix together
//! when it is empty. Their data can then be read together, too: many concurrent cache misses cost
//! little more than one.
//!
//! A late rank, below those already in the ladder, goes into the prefix if it belongs there.
//! Otherwise it goes into a heap between the two, until there are enough of them to lower the
//! ladder's base. An entry of the ladder or the heap whose flow was removed or ranked again stays
//! in place as a stale entry, and is discarded when its turn comes. When most entries are stale,
//! all stale entries are removed.

use crate::packet::FlowIx;
use crate::ranking::radix_ladder::{CHUNK, RadixLadder};
use crate::ranking::sorted_prefix::{MAX_PREFIX, Rank, RankedFlow, SortedPrefix};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Least number of flows that move into an empty prefix, if there are as many: there is room for
/// `CHUNK` more.
const REFILL: usize = MAX_PREFIX - CHUNK;
/// Number of late entries that may wait before the ladder takes them.
const FEW: usize = 64;
/// Stale entries are cleared out when they outnumber both this figure and the valid entries.
const STALE: usize = 256;

/// A late entry: its rank is below the ladder's base.
#[derive(Clone, Debug)]
struct Late(RankedFlow);

impl PartialEq for Late {
    fn eq(&self, other: &Late) -> bool {
        self.0.wide() == other.0.wide()
    }
}
impl Eq for Late {}
impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Late) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Late {
    fn cmp(&self, other: &Late) -> core::cmp::Ordering {
        self.0.wide().cmp(&other.0.wide())
    }
}

/// Flows by rank. Each flow is in the ladder at most once.
#[derive(Clone, Debug)]
pub(crate) struct FlowLadder {
    /// The flows with the smallest ranks. Empty only when there is no flow at all.
    prefix: SortedPrefix,
    /// Entries above the prefix and below the ladder's base.
    late: BinaryHeap<Reverse<Late>>,
    ladder: RadixLadder,
    /// Number of entries in `late` and `ladder`.
    outside: usize,
    /// Generation of each flow's latest entry outside the prefix; odd while that entry is valid.
    generations: Vec<u32>,
    /// Number of stale entries outside the prefix.
    stale: usize,
    /// The flows that moved into the prefix together, until they are read.
    near: [FlowIx; MAX_PREFIX],
    near_len: usize,
}

impl Default for FlowLadder {
    fn default() -> FlowLadder {
        FlowLadder {
            prefix: SortedPrefix::default(),
            late: BinaryHeap::new(),
            ladder: RadixLadder::default(),
            outside: 0,
            generations: Vec::new(),
            stale: 0,
            near: [FlowIx(0); MAX_PREFIX],
            near_len: 0,
        }
    }
}

impl FlowLadder {
    /// Makes room for every flow index below `flows`.
    pub(crate) fn grow_to(&mut self, flows: u32) {
        if self.generations.len() < flows as usize {
            self.generations.resize(flows as usize, 0);
        }
    }

    /// Returns the flow with the smallest rank.
    #[inline]
    pub(crate) fn top(&self) -> Option<FlowIx> {
        self.prefix.first().map(|entry| FlowIx(entry.flow))
    }

    fn contains(&self, flow: FlowIx) -> bool {
        self.prefix.find(flow).is_some() || self.generations[flow.ix()] % 2 == 1
    }

    /// Inserts a flow that is not in the ladder.
    #[inline]
    pub(crate) fn insert(&mut self, flow: FlowIx, rank: Rank) {
        debug_assert!(!self.contains(flow));
        let entry = RankedFlow { rank, flow: flow.0, generation: 0 };
        if self.prefix.len == MAX_PREFIX || self.outside > 0 {
            return self.insert_among_many(entry);
        }
        self.prefix.insert(entry);
    }

    /// Like [`insert`](Self::insert), when the prefix is full or there are entries outside it.
    #[inline(never)]
    fn insert_among_many(&mut self, entry: RankedFlow) {
        if self.prefix.last().is_some_and(|last| last.wide() < entry.wide()) {
            return self.put_outside(entry);
        }
        if self.prefix.len == MAX_PREFIX
            && let Some(last) = self.prefix.pop_last()
        {
            self.put_outside(last);
        }
        self.prefix.insert(entry);
    }

    /// Inserts an entry that ranks above the prefix.
    fn put_outside(&mut self, mut entry: RankedFlow) {
        let generation = &mut self.generations[entry.flow as usize];
        *generation = generation.wrapping_add(1);
        entry.generation = *generation;
        if self.outside == 0 {
            self.ladder.set_base(self.prefix.last().map_or(entry.wide(), RankedFlow::wide));
        }
        self.outside += 1;
        if entry.wide() >= self.ladder.base() {
            return self.ladder.insert(entry);
        }
        self.late.push(Reverse(Late(entry)));
        if self.late.len() > FEW && self.late.len() > self.ladder.len() / 8 {
            self.lower_base();
        }
    }

    /// Lowers the ladder's base and moves the late entries into it. Buckets are redistributed as
    /// their turn comes, with a bounded cost for each late entry.
    #[inline(never)]
    fn lower_base(&mut self) {
        let first = self.late.peek().map_or(0, |Reverse(Late(entry))| entry.wide());
        self.ladder.lower_base(first);
        for Reverse(Late(entry)) in self.late.drain() {
            self.ladder.insert(entry);
        }
    }

    /// Removes the flow, if it is in the ladder.
    #[inline]
    pub(crate) fn remove(&mut self, flow: FlowIx) {
        match self.prefix.first() {
            // The most frequent case: the flow that has just sent.
            Some(first) if first.flow == flow.0 => self.prefix.pop_first(),
            _ => return self.remove_elsewhere(flow),
        }
        if self.prefix.len == 0 && self.outside > 0 {
            self.refill();
        }
    }

    #[inline(never)]
    fn remove_elsewhere(&mut self, flow: FlowIx) {
        let generation = &mut self.generations[flow.ix()];
        if generation.is_multiple_of(2) {
            if let Some(nth) = self.prefix.find(flow) {
                self.prefix.remove(nth);
            }
            return;
        }
        *generation = generation.wrapping_add(1);
        self.stale += 1;
        if self.stale > STALE && 2 * self.stale > self.outside {
            self.clear_out();
        }
    }

    /// Returns the flows that moved into the prefix together since the previous call, if any: the
    /// next ones to be on top.
    #[inline(always)]
    pub(crate) fn take_near(&mut self) -> Option<&[FlowIx]> {
        match core::mem::take(&mut self.near_len) {
            0 => None,
            len => self.near.get(..len),
        }
    }

    /// Moves the next flows into the empty prefix.
    #[inline(never)]
    fn refill(&mut self) {
        self.move_next();
        self.near.iter_mut().zip(self.prefix.flows()).for_each(|(place, flow)| *place = flow);
        self.near_len = self.prefix.len;
    }

    fn move_next(&mut self) {
        while self.prefix.len < REFILL {
            if let Some(Reverse(Late(entry))) = self.late.pop() {
                self.outside -= 1;
                if leaves(&mut self.generations, &mut self.stale, &entry) {
                    self.prefix.push_last(entry);
                }
                continue;
            }
            if self.ladder.len() == 0 {
                return;
            }
            let (prefix, generations, stale) = (&mut self.prefix, &mut self.generations, &mut self.stale);
            let before = prefix.len;
            self.ladder.take_first(|entry| {
                let holds = leaves(generations, stale, entry);
                if holds {
                    prefix.push_last(*entry);
                }
                holds
            });
            prefix.sort_from(before);
            self.outside = self.ladder.len();
            if let Some(last) = self.prefix.last() {
                self.ladder.set_base(last.wide());
            }
        }
    }

    /// Removes the stale entries.
    #[cold]
    fn clear_out(&mut self) {
        let mut all = Vec::with_capacity(self.late.len() + self.ladder.len());
        all.extend(self.late.drain().map(|Reverse(Late(entry))| entry));
        while self.ladder.len() > 0 {
            self.ladder.take_first(|entry| {
                all.push(*entry);
                true
            });
        }
        all.retain(|entry| self.generations[entry.flow as usize] == entry.generation);
        self.stale = 0;
        let base = self.prefix.last().map_or(0, RankedFlow::wide);
        self.ladder.set_base(base);
        self.outside = all.len();
        all.into_iter().for_each(|entry| self.ladder.insert(entry));
    }

    /// Bytes of memory held, for the memory report.
    pub(crate) fn memory(&self) -> usize {
        self.prefix.memory()
            + self.late.capacity() * size_of::<Late>()
            + self.ladder.memory()
            + self.generations.capacity() * size_of::<u32>()
    }
}

/// Returns true if an entry that leaves the ladder or the heap is valid; its flow is then no longer
/// in either.
#[inline(always)]
fn leaves(generations: &mut [u32], stale: &mut usize, entry: &RankedFlow) -> bool {
    let generation = &mut generations[entry.flow as usize];
    let holds = *generation == entry.generation;
    *generation = generation.wrapping_add(u32::from(holds));
    *stale = stale.wrapping_sub(usize::from(!holds));
    holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::{BTreeMap, BTreeSet};

    /// A ladder and a sorted map, with the same flows.
    struct Twins {
        ladder: FlowLadder,
        ranks: BTreeMap<u32, Rank>,
        sorted: BTreeSet<(Rank, u32)>,
        order: u64,
    }

    impl Twins {
        fn new(flows: u32) -> Twins {
            let mut ladder = FlowLadder::default();
            ladder.grow_to(flows);
            Twins { ladder, ranks: BTreeMap::new(), sorted: BTreeSet::new(), order: 0 }
        }

        fn set(&mut self, flow: u32, key: u64) {
            self.order += 1;
            self.rank(flow, (key, self.order));
        }

        fn rank(&mut self, flow: u32, rank: Rank) {
            self.ladder.remove(FlowIx(flow));
            self.ladder.insert(FlowIx(flow), rank);
            if let Some(before) = self.ranks.insert(flow, rank) {
                self.sorted.remove(&(before, flow));
            }
            self.sorted.insert((rank, flow));
        }

        fn remove(&mut self, flow: u32) {
            self.ladder.remove(FlowIx(flow));
            if let Some(before) = self.ranks.remove(&flow) {
                self.sorted.remove(&(before, flow));
            }
        }

        fn check(&self, what: &str) {
            let least = self.sorted.first().map(|(_, flow)| FlowIx(*flow));
            assert_eq!(self.ladder.top(), least, "{what}");
        }
    }

    /// Runs sets, removals, returns with the old rank, and re-sending of the first, with ranks that
    /// are close, far, equal, late and at the ends of the range.
    #[test]
    fn agrees_with_a_sorted_map() {
        for seed in 0..60u64 {
            let mut rng = Rng::named(seed, "ladder");
            let flows = [3, 40, 400, 5_000][seed as usize % 4];
            let spread = [1, 50, 1 << 20, 1 << 44, u64::MAX / 4][seed as usize / 4 % 5];
            let mut twins = Twins::new(flows);
            let mut now = 1u64 << 60;
            for step in 0..6_000 {
                let flow = rng.below(u64::from(flows)) as u32;
                match rng.below(100) {
                    0..35 => twins.set(flow, now + rng.below(spread)),
                    35..40 => twins.set(flow, [0, 1, u64::MAX - 1, u64::MAX][rng.below(4) as usize]),
                    40..50 => twins.remove(flow),
                    // Held and released: the old rank again, more often than not.
                    50..60 => {
                        if let Some(rank) = twins.ranks.get(&flow).copied() {
                            (0..1 + rng.below(20)).for_each(|_| {
                                twins.remove(flow);
                                twins.rank(flow, rank);
                            });
                        }
                    }
                    _ => {
                        if let Some((rank, flow)) = twins.sorted.first().copied() {
                            now = now.max(rank.0.min(1 << 62));
                            twins.set(flow, now + rng.below(spread));
                        }
                    }
                }
                twins.check(&format!("seed {seed}, step {step}"));
                assert_eq!(twins.ladder.contains(FlowIx(flow)), twins.ranks.contains_key(&flow));
            }
            while let Some((_, flow)) = twins.sorted.first().copied() {
                twins.remove(flow);
                twins.check("at the end");
            }
        }
    }

    /// Flows that are held and released repeatedly leave a bounded number of stale entries.
    #[test]
    fn memory_does_not_grow_with_removals() {
        let mut twins = Twins::new(1_000);
        (0..1_000).for_each(|flow| twins.set(flow, 1_000 + u64::from(flow)));
        let mut most = 0;
        for round in 0..100_000u32 {
            let flow = 100 + round % 900;
            twins.remove(flow);
            twins.set(flow, 2_000 + u64::from(round));
            most = most.max(twins.ladder.ladder.len() + twins.ladder.late.len());
        }
        assert!(most <= 2 * 1_000 + STALE + 2, "{most}");
        twins.check("at the end");
    }
}
