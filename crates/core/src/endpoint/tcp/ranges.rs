//! Byte ranges that have arrived out of order: disjoint ranges of byte numbers.

use alloc::vec::Vec;

/// Ranges of byte numbers, each from its start to before its end, in order, that neither overlap
/// nor touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    sorted: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the bytes from `start` to before `end`. Returns the number of new bytes.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let first = self.sorted.partition_point(|range| range.1 < start);
        let behind = self.sorted.partition_point(|range| range.0 <= end);
        let joined = &self.sorted[first..behind];
        let held: u64 = joined.iter().map(|(start, end)| end - start).sum();
        let whole = match joined {
            [] => (start, end),
            [first, .., last] => (first.0.min(start), last.1.max(end)),
            [one] => (one.0.min(start), one.1.max(end)),
        };
        self.sorted.splice(first..behind, [whole]);
        whole.1 - whole.0 - held
    }

    /// Removes the bytes before `number`.
    pub(super) fn remove_below(&mut self, number: u64) {
        let gone = self.sorted.partition_point(|range| range.1 <= number);
        self.sorted.drain(..gone);
        if let Some(first) = self.sorted.first_mut() {
            first.0 = first.0.max(number);
        }
    }

    /// Removes all ranges.
    pub(super) fn clear(&mut self) {
        *self = Ranges::default();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Number of bytes in the ranges before `number`.
    pub(super) fn bytes_below(&self, number: u64) -> u64 {
        let before = self.sorted.iter().take_while(|range| range.0 < number);
        before.map(|(start, end)| number.min(*end) - start).sum()
    }

    /// The range that contains the byte `number`.
    pub(super) fn around(&self, number: u64) -> Option<(u64, u64)> {
        let at = self.sorted.partition_point(|range| range.1 <= number);
        self.sorted.get(at).copied().filter(|range| range.0 <= number)
    }

    /// The ranges in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.sorted.iter().copied()
    }

    /// The gaps between the ranges, from `from` to before `until`, in order.
    pub(super) fn gaps(&self, from: u64, until: u64) -> impl Iterator<Item = (u64, u64)> {
        let ends = core::iter::once(from).chain(self.iter().map(|range| range.1));
        let starts = self.iter().map(|range| range.0).chain([until]);
        let between = ends.zip(starts).map(move |(end, start)| (end.max(from), start.min(until)));
        between.filter(|(start, end)| start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::BTreeSet;

    /// Ranges are the same as a set of byte numbers.
    #[test]
    fn ranges_are_a_set_of_bytes() {
        let mut rng = Rng::named(1, "ranges");
        let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
        let mut joined = 0;
        for _ in 0..20_000 {
            let (start, length) = (rng.below(200), rng.below(12));
            if rng.chance(0.9) {
                let before = ranges.iter().count();
                let new = (start..start + length).filter(|byte| set.insert(*byte)).count();
                assert_eq!(ranges.insert(start, start + length), new as u64);
                joined += u64::from(ranges.iter().count() < before);
            } else {
                ranges.remove_below(start);
                set.retain(|byte| *byte >= start);
            }
            assert_eq!(ranges.iter().flat_map(|(start, end)| start..end).collect::<BTreeSet<_>>(), set);
            assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(one, next)| one.1 < next.0));
            assert_eq!(ranges.is_empty(), set.is_empty());
            let (from, until) = (rng.below(100), rng.below(220));
            let gaps: Vec<u64> = ranges.gaps(from, until).flat_map(|(start, end)| start..end).collect();
            assert_eq!(gaps, (from..until).filter(|byte| !set.contains(byte)).collect::<Vec<_>>());
            assert_eq!(ranges.bytes_below(from), set.range(..from).count() as u64);
            assert_eq!(ranges.around(from).is_some(), set.contains(&from));
        }
        assert!(joined > 1000, "{joined}");
    }
}
