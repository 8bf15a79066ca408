//! An indexed 4-ary heap of flows: the smallest rank on top, and any flow's rank can be
//! changed or taken out in O(log n).

use crate::packet::FlowIx;

/// A flow's rank: what its policy ranks by, then the order of arrival.
pub type Rank = (u64, u64);

#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: Rank,
    flow: u32,
}

impl Entry {
    /// The rank as one number, which takes fewer instructions to compare.
    #[inline]
    fn wide(&self) -> u128 {
        u128::from(self.rank.0) << 64 | u128::from(self.rank.1)
    }
}

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// Flows by rank. A flow is in it at most once.
#[derive(Clone, Debug, Default)]
pub struct FlowHeap {
    entries: Vec<Entry>,
    /// Where each flow stands in `entries`.
    places: Vec<u32>,
}

impl FlowHeap {
    /// Gives every flow index below `flows` a place.
    pub fn reach(&mut self, flows: u32) {
        if self.places.len() < flows as usize {
            self.places.resize(flows as usize, ABSENT);
        }
    }

    /// The flow with the smallest rank.
    #[inline]
    pub fn top(&self) -> Option<(Rank, FlowIx)> {
        self.entries.first().map(|entry| (entry.rank, FlowIx(entry.flow)))
    }

    /// Whether the flow is in the heap.
    #[inline]
    pub fn contains(&self, flow: FlowIx) -> bool {
        self.places[flow.ix()] != ABSENT
    }

    /// Puts the flow in with this rank, or changes its rank.
    pub fn set(&mut self, flow: FlowIx, rank: Rank) {
        let entry = Entry { rank, flow: flow.0 };
        let place = self.places[flow.ix()];
        if place == ABSENT {
            self.insert(flow, rank);
        } else if entry.wide() < self.entries[place as usize].wide() {
            self.sift_up(place as usize, entry);
        } else {
            self.sift_down(place as usize, entry);
        }
    }

    /// Puts a flow in that is not in the heap.
    #[inline(always)]
    pub fn insert(&mut self, flow: FlowIx, rank: Rank) {
        debug_assert!(!self.contains(flow));
        let place = self.entries.len();
        let entry = Entry { rank, flow: flow.0 };
        self.entries.push(entry);
        self.sift_up(place, entry);
    }

    /// Takes the flow out, if it is in.
    pub fn remove(&mut self, flow: FlowIx) {
        let place = core::mem::replace(&mut self.places[flow.ix()], ABSENT);
        if place == ABSENT {
            return;
        }
        let place = place as usize;
        let Some(last) = self.entries.pop() else { return };
        if place == self.entries.len() {
            return;
        }
        if place > 0 && last.wide() < self.entries[place].wide() {
            self.sift_up(place, last);
        } else {
            self.sift_down(place, last);
        }
    }

    /// Moves `entry` up from the hole at `place`.
    #[inline(always)]
    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.entries[parent];
            if above.wide() <= entry.wide() {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves `entry` down from the hole at `place`.
    #[inline(always)]
    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let mut children = self.entries.iter().enumerate().skip(first).take(ARITY);
            let Some((mut least, child)) = children.next() else { break };
            let mut rank = child.wide();
            for (place, child) in children {
                if child.wide() < rank {
                    (least, rank) = (place, child.wide());
                }
            }
            if entry.wide() <= rank {
                break;
            }
            self.put(place, self.entries[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline(always)]
    fn put(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
        self.places[entry.flow as usize] = place as u32;
    }

    /// Bytes of memory held, for the memory report.
    pub fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.places.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in prop::collection::vec((0u32..40, 0u8..3, 0u64..50), 1..600)) {
            let mut heap = FlowHeap::default();
            heap.reach(40);
            let mut model: BTreeMap<u32, Rank> = BTreeMap::new();
            for (order, (flow, what, key)) in steps.into_iter().enumerate() {
                if what == 0 {
                    heap.remove(FlowIx(flow));
                    model.remove(&flow);
                } else {
                    let rank = (key, order as u64);
                    heap.set(FlowIx(flow), rank);
                    model.insert(flow, rank);
                }
                let least = model.iter().map(|(&flow, &rank)| (rank, FlowIx(flow))).min();
                prop_assert_eq!(heap.top(), least);
                for flow in 0..40 {
                    prop_assert_eq!(heap.contains(FlowIx(flow)), model.contains_key(&flow));
                }
            }
        }
    }
}
