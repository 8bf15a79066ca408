//! The flows with the smallest ranks, sorted in a short ring.

use crate::packet::FlowIx;
use alloc::boxed::Box;

/// A flow's rank: the policy's key, then the order of arrival.
pub type Rank = (u64, u64);

/// A flow and its rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedFlow {
    pub(crate) rank: Rank,
    pub(crate) flow: u32,
    /// Distinguishes the flow's entries where stale entries are left in place.
    pub(crate) generation: u32,
}

impl RankedFlow {
    /// Returns the rank as one number, which takes fewer instructions to compare.
    #[inline]
    pub(crate) fn wide(&self) -> u128 {
        u128::from(self.rank.0) << 64 | u128::from(self.rank.1)
    }
}

/// Greatest number of entries in the prefix: a power of two, so that masked indexes need no check.
pub(crate) const MAX_PREFIX: usize = 32;
/// A sorted ring of entries, the smallest rank first.
#[derive(Clone, Debug)]
pub(crate) struct SortedPrefix {
    ring: Box<[RankedFlow; MAX_PREFIX]>,
    /// Position of the first entry, modulo `MAX_PREFIX`.
    first: usize,
    pub(crate) len: usize,
}

impl Default for SortedPrefix {
    fn default() -> SortedPrefix {
        SortedPrefix {
            ring: Box::new([RankedFlow { rank: (0, 0), flow: 0, generation: 0 }; MAX_PREFIX]),
            first: 0,
            len: 0,
        }
    }
}

impl SortedPrefix {
    /// Position of the `nth` entry, present or not.
    #[inline(always)]
    fn slot(&self, nth: usize) -> usize {
        self.first.wrapping_add(nth) % MAX_PREFIX
    }

    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&RankedFlow> {
        (self.len > 0).then(|| &self.ring[self.slot(0)])
    }

    #[inline(always)]
    pub(crate) fn last(&self) -> Option<&RankedFlow> {
        (self.len > 0).then(|| &self.ring[self.slot(self.len.wrapping_sub(1))])
    }

    pub(crate) fn find(&self, flow: FlowIx) -> Option<usize> {
        (0..self.len).find(|&nth| self.ring[self.slot(nth)].flow == flow.0)
    }

    /// Removes the first entry. The prefix must not be empty.
    #[inline(always)]
    pub(crate) fn pop_first(&mut self) {
        // At most `MAX_PREFIX` entries, so no count wraps, here and below.
        self.first = self.first.wrapping_add(1);
        self.len = self.len.wrapping_sub(1);
    }

    pub(crate) fn pop_last(&mut self) -> Option<RankedFlow> {
        let last = self.last().copied();
        self.len = self.len.saturating_sub(1);
        last
    }

    /// Inserts an entry in order. There must be room for it.
    #[inline(always)]
    pub(crate) fn insert(&mut self, entry: RankedFlow) {
        let mut nth = self.len;
        self.len = self.len.wrapping_add(1);
        if nth > 0 && entry.wide() < self.ring[self.slot(0)].wide() {
            self.first = self.first.wrapping_sub(1);
            nth = 0;
        }
        while nth > 0 {
            let before = self.ring[self.slot(nth.wrapping_sub(1))];
            if before.wide() <= entry.wide() {
                break;
            }
            self.ring[self.slot(nth)] = before;
            nth = nth.wrapping_sub(1);
        }
        self.ring[self.slot(nth)] = entry;
    }

    pub(crate) fn remove(&mut self, nth: usize) {
        for nth in nth + 1..self.len {
            self.ring[self.slot(nth - 1)] = self.ring[self.slot(nth)];
        }
        self.len -= 1;
    }

    /// Appends an entry. There must be room for it.
    #[inline(always)]
    pub(crate) fn push_last(&mut self, entry: RankedFlow) {
        self.ring[self.slot(self.len)] = entry;
        self.len = self.len.wrapping_add(1);
    }

    /// Sorts the entries from the `nth` on. None of their ranks may be below those of the entries
    /// before them.
    pub(crate) fn sort_from(&mut self, nth: usize) {
        for to in nth.wrapping_add(1)..self.len {
            let entry = self.ring[self.slot(to)];
            let mut at = to;
            while at > nth {
                let before = self.ring[self.slot(at.wrapping_sub(1))];
                if before.wide() <= entry.wide() {
                    break;
                }
                self.ring[self.slot(at)] = before;
                at = at.wrapping_sub(1);
            }
            self.ring[self.slot(at)] = entry;
        }
    }

    /// The flows, those with the smallest ranks first.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowIx> {
        (0..self.len).map(|nth| FlowIx(self.ring[self.slot(nth)].flow))
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        size_of::<[RankedFlow; MAX_PREFIX]>()
    }
}
