//! Frequencies of a queue's lengths.

use super::wrapping_count;
use alloc::boxed::Box;

/// Counts of small whole numbers, one for each value. Memory grows with the largest value; none is
/// used for zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    zeros: u64,
    others: PositiveLengths,
}

/// Like [`Lengths`], for values above zero: index n holds the count of n + 1.
///
/// The length depends on the largest value alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PositiveLengths(Box<[u64]>);

/// Least number of values that are counted once there is one.
const FEWEST: usize = 4;

impl PositiveLengths {
    /// Counts one value, which is not zero.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        match self.0.get_mut((value as usize).wrapping_sub(1)) {
            Some(count) => wrapping_count(count, 1),
            None => self.grow(value),
        }
    }

    /// Grows the table for the largest value so far.
    #[cold]
    fn grow(&mut self, value: u64) {
        let mut counts = core::mem::take(&mut self.0).into_vec();
        counts.resize((value as usize).next_power_of_two().max(FEWEST), 0);
        counts[value as usize - 1] = 1;
        self.0 = counts.into();
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl Lengths {
    /// Joins counts of zeros and of other values.
    pub(crate) fn joined(zeros: u64, others: PositiveLengths) -> Lengths {
        Lengths { zeros, others }
    }

    /// Counts one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match value {
            0 => wrapping_count(&mut self.zeros, 1),
            value => self.others.add(value),
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.zeros + self.others.0.iter().sum::<u64>()
    }

    /// The largest value; `None` if there is none.
    pub fn largest(&self) -> Option<u64> {
        let largest = self.counts().filter(|(_, count)| *count > 0).last();
        largest.map(|(value, _)| value)
    }

    /// Their mean; `None` if there is none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum(|value| value) as f64 / count as f64)
    }

    /// Their standard deviation as a sample (divisor n − 1); `None` for fewer than two.
    pub fn sd(&self) -> Option<f64> {
        let count = u128::from(self.count());
        if count < 2 {
            return None;
        }
        // n·Σx² − (Σx)², in whole numbers: nothing cancels.
        let sum = self.sum(|value| value);
        let spread = count * self.sum(|value| value * value) - sum * sum;
        Some(libm::sqrt(spread as f64 / count as f64 / (count - 1) as f64))
    }

    /// The quantile `part`/`of` by the nearest-rank definition, as
    /// [`nearest_rank`](super::nearest_rank) of the values; `None` without values, when `of` is 0,
    /// and when `part` exceeds `of`.
    pub fn quantile(&self, part: u32, of: u32) -> Option<u64> {
        let count = u128::from(self.count());
        if of == 0 || part > of || count == 0 {
            return None;
        }
        let rank = (count * u128::from(part)).div_ceil(u128::from(of)).max(1);
        let mut reached = 0u128;
        self.counts().find_map(|(value, count)| {
            reached += u128::from(count);
            (reached >= rank).then_some(value)
        })
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.others.memory()
    }

    /// The sum of `of` over all values.
    fn sum(&self, of: impl Fn(u128) -> u128) -> u128 {
        self.counts().map(|(value, count)| of(value.into()) * u128::from(count)).sum()
    }

    /// Iterates over the values in their order, with their counts.
    fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).zip(core::iter::once(self.zeros).chain(self.others.0.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::nearest_rank;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Lengths {
        let mut lengths = Lengths::default();
        values.iter().for_each(|value| lengths.add(*value));
        lengths
    }

    #[test]
    fn nothing_has_no_figures_and_takes_no_memory() {
        let none = of(&[]);
        assert_eq!((none.count(), none.mean(), none.sd(), none.quantile(99, 100)), (0, None, None, None));
        assert_eq!(none.memory(), 0);
        assert_eq!((of(&[7]).mean(), of(&[7]).sd(), of(&[7]).quantile(0, 1)), (Some(7.0), None, Some(7)));
        assert_eq!((of(&[7]).quantile(1, 0), of(&[7]).quantile(2, 1)), (None, None));
    }

    proptest! {
        #[test]
        fn they_agree_with_the_definitions(values in prop::collection::vec(0u64..60, 2..200), part in 0u32..=100) {
            let lengths = of(&values);
            let n = values.len() as f64;
            let mean = values.iter().sum::<u64>() as f64 / n;
            let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
            prop_assert_eq!(lengths.count(), values.len() as u64);
            prop_assert_eq!(lengths.largest(), values.iter().copied().max());
            prop_assert!((lengths.mean().unwrap() - mean).abs() < 1e-9);
            prop_assert!((lengths.sd().unwrap() - (squares / (n - 1.0)).sqrt()).abs() < 1e-9);
            prop_assert_eq!(lengths.quantile(part, 100), nearest_rank(&mut values.clone(), part, 100));
        }
    }
}
