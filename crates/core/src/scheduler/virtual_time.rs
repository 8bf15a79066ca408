//! Virtual time: the scale on which packet fair queueing measures service.
//!
//! A flow's weight is a rate: its reservation, or the scheduler's `unreserved`. A packet of `len`
//! bytes is `len / weight` long on the scale, so a unit of virtual time is the service of one tick
//! of real time to a flow that gets exactly its weight. Where few flows are backlogged, virtual
//! time runs faster than real time: by the rate of the server over the sum of their weights.
//!
//! **Range.** A [`VirtualTime`] has 24 bits of fraction below a tick of 10 ps, like a [`Rate`], so
//! that `len / weight` is exact, and 104 bits above. A link of 10 Gbit/s with a single flow of
//! weight 1 bit/s, never idle, would take 640 years to reach the end, where virtual time saturates.
//! So it never wraps, and nothing is ever set back. Tags are compared in whole ticks: the resulting
//! unfairness is less than 13 bytes at 10 Tbit/s. Just below a whole tick they are rounded up, so
//! that tags that differ only by the rounding of virtual time are a tie.
//!
//! A [`FlowHeap`] has 64 bits for ranks: a [`TagHeap`] counts them from a base that moves with
//! virtual time. Tags that are more than 2⁶³ ticks apart (2.9 years at the flow's own weight) are
//! compared as if they were 2⁶³ ticks apart.

use crate::packet::FlowIx;
use crate::ranking::flow_heap::FlowHeap;
use crate::units::{Rate, Span};
use alloc::vec::Vec;

/// The default weight of a flow without a reservation: 10 kbit/s.
pub(super) const UNRESERVED: Rate = match Rate::from_bits_per_second(10_000) {
    Some(rate) => rate,
    None => panic!("a rate"),
};

/// An instant of virtual time: ticks of 10 ps at a flow's own weight, with 24 bits of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VirtualTime(u128);

impl VirtualTime {
    const FRACTION_BITS: u32 = Rate::FRACTION_BITS;
    /// The amount added before tags are truncated to ticks for comparison: 1/64 tick, far more than
    /// the rounding error of virtual time.
    const GUARD: u128 = 1 << (Self::FRACTION_BITS - 6);

    /// Creates the instant of a whole number of ticks.
    #[inline]
    pub(super) const fn from_ticks(ticks: u128) -> VirtualTime {
        VirtualTime(ticks << Self::FRACTION_BITS)
    }

    /// Ticks for comparing tags: a fraction that is almost a whole tick counts as one.
    #[inline]
    pub(super) fn ticks(self) -> u128 {
        self.0.saturating_add(Self::GUARD) >> Self::FRACTION_BITS
    }

    /// Whole ticks, and the fraction of the next.
    pub(super) fn parts(self) -> (u128, u64) {
        (self.0 >> Self::FRACTION_BITS, self.0 as u64 & ((1 << Self::FRACTION_BITS) - 1))
    }

    /// The finish of `len` bytes whose service begins now, at this weight: exact.
    #[inline]
    pub(super) fn after(self, len: u32, weight: Rate) -> VirtualTime {
        self.later(weight.exact_time_for(len.into()))
    }

    /// The beginning of `bytes` whose service finishes now, at this weight: exact; stops at zero.
    pub(super) fn before(self, bytes: u64, weight: Rate) -> VirtualTime {
        VirtualTime(self.0.saturating_sub(weight.exact_time_for(bytes)))
    }

    /// Later by this number of units, each 2⁻²⁴ tick; saturates.
    #[inline]
    pub(super) fn later(self, units: u128) -> VirtualTime {
        VirtualTime(self.0.saturating_add(units))
    }

    /// Later by this time at the flow's own weight; saturates.
    pub(super) fn later_by(self, span: Span) -> VirtualTime {
        self.later(u128::from(span.ticks()) << Self::FRACTION_BITS)
    }

    /// Earlier by this time at the flow's own weight; stops at zero.
    pub(super) fn before_by(self, span: Span) -> VirtualTime {
        VirtualTime(self.0.saturating_sub(u128::from(span.ticks()) << Self::FRACTION_BITS))
    }

    /// The difference from `earlier`, in units of 2⁻²⁴ tick; 0 when it is not later.
    #[inline]
    pub(super) fn since(self, earlier: VirtualTime) -> u128 {
        self.0.saturating_sub(earlier.0)
    }

    /// Like [`since`](Self::since), as a span at the flow's own weight, rounded up; saturates.
    pub(super) fn span_since(self, earlier: VirtualTime) -> Span {
        let ticks = self.since(earlier).div_ceil(1 << Self::FRACTION_BITS);
        Span::from_ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// The time as push-out ranks it, from an epoch in ticks: exact for 2⁶³ ticks (2.9 years of
    /// virtual time from the epoch), and in units of 2¹⁶ ticks (0.7 µs) beyond.
    pub(super) fn rank_since(self, epoch: u128) -> u64 {
        const EXACT: u128 = 1 << 63;
        let ticks = self.ticks().saturating_sub(epoch);
        let rank = if ticks < EXACT { ticks } else { EXACT + ((ticks - EXACT) >> 16) };
        u64::try_from(rank).unwrap_or(u64::MAX)
    }
}

/// Flows by a tag in whole ticks; a number breaks ties. Each flow is in the heap at most once.
#[derive(Default)]
pub(super) struct TagHeap {
    flows: FlowHeap,
    /// The origin of ranks, in ticks.
    base: u128,
}

impl TagHeap {
    /// Distance of a new base below the least tag: a tag inserted later that is below the base
    /// ranks as the base.
    const MARGIN: u128 = 1 << 61;

    /// Makes room for every flow index below `flows`.
    pub(super) fn grow_to(&mut self, flows: u32) {
        self.flows.grow_to(flows);
    }

    /// Returns the first flow.
    #[inline]
    pub(super) fn top(&self) -> Option<FlowIx> {
        self.flows.top().map(|(_, flow)| flow)
    }

    /// Inserts the flow, or changes its tag.
    #[inline]
    pub(super) fn set(&mut self, flow: FlowIx, ticks: u128, tie: u64) {
        if ticks.saturating_sub(self.base) >= 1 << 63 {
            self.rebase(ticks);
        }
        self.flows.set(flow, (self.rank(ticks), tie));
    }

    #[inline]
    fn rank(&self, ticks: u128) -> u64 {
        u64::try_from(ticks.saturating_sub(self.base)).unwrap_or(u64::MAX)
    }

    /// Counts ranks from just below the least tag, when the base has fallen behind.
    #[cold]
    fn rebase(&mut self, arriving: u128) {
        let least = self.flows.top().map(|((rank, _), _)| self.base + u128::from(rank));
        let base = least.unwrap_or(arriving).min(arriving).saturating_sub(Self::MARGIN);
        if base < self.base + Self::MARGIN {
            return;
        }
        let mut all = Vec::new();
        while let Some(entry) = self.flows.top() {
            self.flows.remove(entry.1);
            all.push(entry);
        }
        let moved = base - self.base;
        self.base = base;
        for ((rank, tie), flow) in all {
            let rank = u128::from(rank).saturating_sub(moved) as u64;
            self.flows.insert(flow, (rank, tie));
        }
    }

    /// Removes the flow, if it is present.
    #[inline]
    pub(super) fn remove(&mut self, flow: FlowIx) {
        self.flows.remove(flow);
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.flows.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Ticks of a flow, far beyond the range of ranks.
    const YEARS: u128 = 3_153_600_000_000_000_000;

    proptest! {
        /// Tags advance by thousands of years, as virtual time does; those of one time are close to
        /// each other.
        #[test]
        fn the_least_tag_is_on_top_however_far_time_has_run(
            steps in prop::collection::vec((0u32..8, 0u128..1 << 61, 0u128..YEARS * 2, any::<bool>()), 1..300)
        ) {
            let (mut heap, mut model) = (TagHeap::default(), BTreeSet::new());
            heap.grow_to(8);
            let (mut now, mut tags) = (0u128, [None; 8]);
            for (nth, (flow, ahead, jump, leaves)) in steps.into_iter().enumerate() {
                if let Some(old) = tags[flow as usize].take() {
                    model.remove(&old);
                }
                // Virtual time never passes a tag in the heap.
                now = model.first().map_or(now + jump, |&(least, _, _): &(u128, u64, u32)| least.min(now + jump));
                if leaves {
                    heap.remove(FlowIx(flow));
                } else {
                    let tag = (now + ahead, nth as u64, flow);
                    heap.set(FlowIx(flow), tag.0, tag.1);
                    tags[flow as usize] = Some(tag);
                    model.insert(tag);
                }
                prop_assert_eq!(heap.top(), model.first().map(|&(_, _, flow)| FlowIx(flow)));
            }
            prop_assert!(now < u128::MAX / 2);
        }
    }

    #[test]
    fn tags_that_are_a_rounding_apart_are_a_tie() {
        let whole = VirtualTime::from_ticks(1 << 70);
        let rounded_down = VirtualTime(whole.0 - 3);
        assert_eq!(rounded_down.ticks(), whole.ticks());
        assert_eq!(VirtualTime::from_ticks(whole.ticks()).ticks(), whole.ticks());
        assert_eq!(whole.parts(), (1 << 70, 0));
        let slow = Rate::from_bits_per_second(1).unwrap();
        assert_eq!(whole.after(u32::MAX, slow).before(u32::MAX.into(), slow), whole);
        assert_eq!(VirtualTime(u128::MAX).after(1, slow).ticks(), u128::MAX >> 24);
    }

    /// Checks that the weight of a rate is consistent with its time per byte.
    #[test]
    fn weights_fit_the_times_of_bytes() {
        for bits in [1, 7, 10_000, 64_000, 333_333, 33_333_333, 1_000_000_007, Rate::MAX_BITS_PER_SECOND] {
            let rate = Rate::from_bits_per_second(bits).unwrap();
            let (exact, weighed) = (rate.exact_time_for(1), Rate::WEIGHT_SCALE / u128::from(rate.weight()));
            let off = exact.abs_diff(weighed);
            assert!(off <= 1 + (exact >> 38), "{bits}: {exact} and {weighed}");
        }
    }
}
