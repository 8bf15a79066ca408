//! Counts of values in the bins of a three-digit histogram: sparse while few bins are occupied,
//! else dense.

use hdrhistogram::Histogram;
use tidegate_core::stats::wrapping_count;

/// Bins from one power of two to the next.
const STEPS: u32 = 1 << 10;
/// Bits of a count beside its bin.
const COUNT_BITS: u32 = 48;
/// Slots of the first table.
const FIRST_SLOTS: usize = 8;

/// Counts of values by bins of three digits: one bin for each value below 2048, and 1024 bins for
/// each power of two above.
#[derive(Clone, Debug)]
pub(crate) enum Bins {
    /// A table with open addressing.
    Sparse(Sparse),
    /// All bins from the first power of two with a value to the last one.
    Dense {
        /// The first bin.
        first: u32,
        counts: Box<[u64]>,
    },
}

/// Table of occupied bins: a slot holds the bin + 1 above its count; 0 is a free slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sparse {
    slots: Box<[u64]>,
    occupied: usize,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins::Sparse(Sparse::default())
    }
}

/// Returns the bin of a value.
#[inline(always)]
fn bin_of(value: u64) -> u32 {
    // The shifted value is `STEPS` to 2 · `STEPS` − 1; smaller values are not shifted.
    let shift = (value | u64::from(STEPS)).ilog2() - STEPS.ilog2();
    shift * STEPS + (value >> shift) as u32
}

impl Sparse {
    /// Returns the slot of a bin, or the free slot where it belongs. There must be a free slot.
    #[inline(always)]
    fn slot_of(&self, bin: u32) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = (u64::from(bin).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize & mask;
        while self.slots[at] != 0 && self.slots[at] >> COUNT_BITS != u64::from(bin) + 1 {
            at = at.wrapping_add(1) & mask;
        }
        at
    }

    /// Counts a value if its bin is occupied; returns true if it is.
    #[inline(always)]
    fn count(&mut self, bin: u32) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        let at = self.slot_of(bin);
        let slot = &mut self.slots[at];
        let is_occupied = *slot != 0;
        wrapping_count(slot, u64::from(is_occupied));
        is_occupied
    }

    /// Inserts a bin that is not occupied yet.
    fn insert(&mut self, bin: u32, count: u64) {
        if self.occupied * 4 >= self.slots.len() * 3 {
            let places = (2 * self.slots.len()).max(FIRST_SLOTS);
            let before = core::mem::replace(&mut self.slots, vec![0; places].into());
            for slot in before.into_iter().filter(|slot| *slot != 0) {
                let at = self.slot_of((slot >> COUNT_BITS) as u32 - 1);
                self.slots[at] = slot;
            }
        }
        let at = self.slot_of(bin);
        self.slots[at] = (u64::from(bin) + 1) << COUNT_BITS | count;
        self.occupied += 1;
    }

    /// Iterates over occupied bins with their counts, in no order.
    fn bins(&self) -> impl Iterator<Item = (u32, u64)> {
        let occupied = self.slots.iter().filter(|slot| **slot != 0);
        occupied.map(|slot| ((slot >> COUNT_BITS) as u32 - 1, slot & ((1 << COUNT_BITS) - 1)))
    }
}

impl Bins {
    /// Counts a value.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        let counted = match self {
            Bins::Dense { first, counts } => match counts.get_mut(bin.wrapping_sub(*first) as usize) {
                Some(count) => {
                    wrapping_count(count, 1);
                    true
                }
                None => false,
            },
            Bins::Sparse(sparse) => sparse.count(bin),
        };
        if !counted {
            self.extend(bin);
        }
    }

    /// Counts a value whose bin has no slot yet.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, bin: u32) {
        match self {
            Bins::Dense { first, counts } => {
                let from = octave(bin.min(*first));
                let to = (bin + 1).max(*first + counts.len() as u32).next_multiple_of(STEPS);
                let mut wider = vec![0; (to - from) as usize];
                let at = (*first - from) as usize;
                wider[at..at + counts.len()].copy_from_slice(counts);
                wider[(bin - from) as usize] += 1;
                (*first, *counts) = (from, wider.into());
            }
            Bins::Sparse(sparse) => {
                let slots = sparse.slots.len();
                sparse.insert(bin, 1);
                // Only a table that has just grown is compared, so that a value costs little.
                if sparse.slots.len() > slots.max(STEPS as usize / 2) {
                    self.become_dense_if_smaller();
                }
            }
        }
    }

    /// Switches to dense storage once the table has as many slots as there are bins from first to
    /// last.
    fn become_dense_if_smaller(&mut self) {
        let Bins::Sparse(sparse) = self else { return };
        let from = octave(sparse.bins().map(|(bin, _)| bin).min().unwrap_or(0));
        let to = sparse.bins().map(|(bin, _)| bin + 1).max().unwrap_or(0).next_multiple_of(STEPS);
        if sparse.slots.len() < (to - from) as usize {
            return;
        }
        let mut counts = vec![0; (to - from) as usize];
        sparse.bins().for_each(|(bin, count)| counts[(bin - from) as usize] = count);
        *self = Bins::Dense { first: from, counts: counts.into() };
    }

    /// Returns occupied bins with their counts, in no order.
    fn occupied(&self) -> Vec<(u32, u64)> {
        match self {
            Bins::Sparse(sparse) => sparse.bins().collect(),
            Bins::Dense { first, counts } => {
                (*first..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0).collect()
            }
        }
    }

    /// Returns the histogram of the values.
    pub(crate) fn histogram(&self) -> Histogram<u64> {
        // Three significant digits are within the library's range of 0 to 5: this cannot fail.
        let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        for (bin, count) in self.occupied() {
            let shift = (bin / STEPS).saturating_sub(1);
            let value = u64::from(bin - shift * STEPS) << shift;
            // A histogram grows by itself and so records every value.
            let _ = histogram.record_n(value, count);
        }
        histogram
    }
}

/// Returns the first bin of the power of two that contains a bin.
fn octave(bin: u32) -> u32 {
    bin / STEPS * STEPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compare(values: impl IntoIterator<Item = u64>) -> Bins {
        let mut bins = Bins::default();
        let mut recorded: Histogram<u64> = Histogram::new(3).unwrap();
        for value in values {
            bins.add(value);
            recorded.record(value).unwrap();
        }
        let made = bins.histogram();
        let all = |histogram: &Histogram<u64>| -> Vec<_> {
            histogram.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect()
        };
        assert_eq!(all(&made), all(&recorded));
        for q in [0.001, 0.5, 0.99, 1.0] {
            assert_eq!(made.value_at_quantile(q), recorded.value_at_quantile(q));
        }
        bins
    }

    proptest! {
        #[test]
        fn bins_make_the_histogram_that_records_the_values(
            values in prop::collection::vec((0u64..=u64::MAX / 2, 0u32..63), 1..200),
        ) {
            compare(values.into_iter().map(|(value, shift)| value >> shift));
        }
    }

    #[test]
    fn dense_bins_make_it_too_and_take_no_more_than_a_table() {
        // All bins of two powers of two, then values below and above them.
        let bins = compare((1 << 20..1 << 22).step_by(1 << 9).chain([3, 1 << 15, 1 << 40, u64::MAX / 2]));
        let Bins::Dense { counts, .. } = bins else { panic!("it is sparse") };
        assert_eq!(counts.len() % STEPS as usize, 0);
        let bins = compare((0..1000).map(|value| value << 24));
        assert!(matches!(bins, Bins::Sparse(_)), "the bins of many powers of two are far between");
    }
}
