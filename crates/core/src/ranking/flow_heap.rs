//! Flows by rank: the flow with the smallest rank is on top, and the rank of any flow can be
//! changed or removed.
//!
//! The smallest ranks are sorted in a short ring, the *prefix*; the ranks that do not fit are in an
//! indexed 4-ary heap behind it. On most links few flows are backlogged at once, and a flow that
//! has sent moves to the end of the prefix or close to it, which takes a few steps. With many flows
//! the cost is O(log n), as for any heap.

use crate::packet::FlowIx;
use crate::ranking::sorted_prefix::{MAX_PREFIX, RankedFlow, SortedPrefix};
use alloc::vec::Vec;

pub use crate::ranking::sorted_prefix::Rank;

/// Number of entries that move from the heap into an empty prefix.
const REFILL: usize = MAX_PREFIX / 2;

/// Flows by rank. Each flow is in the heap at most once.
#[derive(Clone, Debug, Default)]
pub struct FlowHeap {
    /// The flows with the smallest ranks. Empty only when the heap is.
    prefix: SortedPrefix,
    /// The others.
    rest: Heap,
}

impl FlowHeap {
    /// Makes room for every flow index below `flows`.
    pub fn grow_to(&mut self, flows: u32) {
        self.rest.grow_to(flows);
    }

    /// Returns the flow with the smallest rank.
    #[inline]
    pub fn top(&self) -> Option<(Rank, FlowIx)> {
        self.prefix.first().map(|entry| (entry.rank, FlowIx(entry.flow)))
    }

    /// Returns true if the flow is in the heap.
    pub fn contains(&self, flow: FlowIx) -> bool {
        self.prefix.find(flow).is_some() || self.rest.contains(flow)
    }

    /// Inserts the flow with this rank, or changes its rank.
    #[inline]
    pub fn set(&mut self, flow: FlowIx, rank: Rank) {
        self.remove(flow);
        self.insert(flow, rank);
    }

    /// Inserts a flow that is not in the heap.
    #[inline]
    pub fn insert(&mut self, flow: FlowIx, rank: Rank) {
        debug_assert!(!self.contains(flow));
        let entry = RankedFlow { rank, flow: flow.0, generation: 0 };
        if self.prefix.len == MAX_PREFIX || !self.rest.is_empty() {
            return self.insert_among_many(entry);
        }
        self.prefix.insert(entry);
    }

    /// Like [`insert`](Self::insert), when the prefix is full or the heap behind it is not empty.
    #[inline(never)]
    fn insert_among_many(&mut self, entry: RankedFlow) {
        if self.prefix.last().is_some_and(|last| last.wide() < entry.wide()) {
            return self.rest.insert(entry);
        }
        if self.prefix.len == MAX_PREFIX
            && let Some(last) = self.prefix.pop_last()
        {
            self.rest.insert(last);
        }
        self.prefix.insert(entry);
    }

    /// Removes the flow, if it is in the heap.
    #[inline]
    pub fn remove(&mut self, flow: FlowIx) {
        match self.prefix.first() {
            // The most frequent case: the flow that has just sent.
            Some(first) if first.flow == flow.0 => self.prefix.pop_first(),
            _ => return self.remove_elsewhere(flow),
        }
        if self.prefix.len == 0 && !self.rest.is_empty() {
            self.refill();
        }
    }

    #[inline(never)]
    fn remove_elsewhere(&mut self, flow: FlowIx) {
        // The heap looks the flow up in constant time.
        if self.rest.contains(flow) {
            self.rest.remove(flow);
        } else if let Some(nth) = self.prefix.find(flow) {
            self.prefix.remove(nth);
        }
    }

    /// Moves the entries with the smallest ranks from the heap into the empty prefix.
    #[inline(never)]
    fn refill(&mut self) {
        while self.prefix.len < REFILL
            && let Some(entry) = self.rest.pop()
        {
            self.prefix.insert(entry);
        }
    }

    /// Bytes of memory held, for the memory report.
    pub fn memory(&self) -> usize {
        self.prefix.memory() + self.rest.memory()
    }
}

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// An indexed 4-ary heap: the smallest rank on top.
#[derive(Clone, Debug, Default)]
struct Heap {
    entries: Vec<RankedFlow>,
    /// The position of each flow in `entries`.
    slots: Vec<u32>,
}

impl Heap {
    fn grow_to(&mut self, flows: u32) {
        if self.slots.len() < flows as usize {
            self.slots.resize(flows as usize, ABSENT);
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn contains(&self, flow: FlowIx) -> bool {
        self.slots[flow.ix()] != ABSENT
    }

    fn insert(&mut self, entry: RankedFlow) {
        let slot = self.entries.len();
        self.entries.push(entry);
        self.sift_up(slot, entry);
    }

    fn pop(&mut self) -> Option<RankedFlow> {
        let first = *self.entries.first()?;
        self.remove(FlowIx(first.flow));
        Some(first)
    }

    /// Removes the flow, if it is in the heap.
    fn remove(&mut self, flow: FlowIx) {
        let slot = core::mem::replace(&mut self.slots[flow.ix()], ABSENT);
        if slot == ABSENT {
            return;
        }
        let slot = slot as usize;
        let Some(last) = self.entries.pop() else { return };
        if slot == self.entries.len() {
            return;
        }
        if slot > 0 && last.wide() < self.entries[slot].wide() {
            self.sift_up(slot, last);
        } else {
            self.sift_down(slot, last);
        }
    }

    /// Moves `entry` up from the hole at `slot`.
    #[inline(always)]
    fn sift_up(&mut self, mut slot: usize, entry: RankedFlow) {
        while slot > 0 {
            let parent = (slot - 1) / ARITY;
            let above = self.entries[parent];
            if above.wide() <= entry.wide() {
                break;
            }
            self.put(slot, above);
            slot = parent;
        }
        self.put(slot, entry);
    }

    /// Moves `entry` down from the hole at `slot`.
    #[inline(always)]
    fn sift_down(&mut self, mut slot: usize, entry: RankedFlow) {
        loop {
            let first = slot * ARITY + 1;
            let mut children = self.entries.iter().enumerate().skip(first).take(ARITY);
            let Some((mut least, child)) = children.next() else { break };
            let mut rank = child.wide();
            for (slot, child) in children {
                if child.wide() < rank {
                    (least, rank) = (slot, child.wide());
                }
            }
            if entry.wide() <= rank {
                break;
            }
            self.put(slot, self.entries[least]);
            slot = least;
        }
        self.put(slot, entry);
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, entry: RankedFlow) {
        self.entries[slot] = entry;
        self.slots[entry.flow as usize] = slot as u32;
    }

    fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<RankedFlow>() + self.slots.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Many times the capacity of the prefix.
    const FLOWS: u32 = 5 * MAX_PREFIX as u32;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in prop::collection::vec((0u32..FLOWS, 0u8..4, 0u64..50), 1..800)) {
            let mut heap = FlowHeap::default();
            heap.grow_to(FLOWS);
            let mut model: BTreeMap<u32, Rank> = BTreeMap::new();
            for (order, (flow, what, key)) in steps.into_iter().enumerate() {
                if what == 0 {
                    heap.remove(FlowIx(flow));
                    model.remove(&flow);
                } else if what == 1
                    && let Some((_, top)) = heap.top()
                {
                    heap.remove(top);
                    model.remove(&top.0);
                } else {
                    let rank = (key, order as u64);
                    heap.set(FlowIx(flow), rank);
                    model.insert(flow, rank);
                }
                let least = model.iter().map(|(&flow, &rank)| (rank, FlowIx(flow))).min();
                prop_assert_eq!(heap.top(), least);
                for flow in 0..FLOWS {
                    prop_assert_eq!(heap.contains(FlowIx(flow)), model.contains_key(&flow));
                }
            }
        }
    }
}
