//! Count, mean and spread of spans, kept exactly.

use super::wrapping_count;
use crate::units::Span;

/// An online record of spans: their number, their sum, the sum of their squares, the least and the
/// greatest.
///
/// The sums are whole ticks in `u128`. The sum cannot overflow. The sum of squares saturates, and
/// the standard deviation is then not given (it takes 2⁵⁶ spans of a second, or 16 million of three
/// hours).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
    min: Span,
    max: Span,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments::new()
    }
}

impl Moments {
    /// Creates an empty record.
    pub const fn new() -> Moments {
        Moments { count: 0, sum: 0, squares: 0, min: Span::MAX, max: Span::ZERO }
    }

    /// Adds one span.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ticks = u128::from(span.ticks());
        self.min = self.min.min(span);
        self.max = self.max.max(span);
        wrapping_count(&mut self.count, 1);
        // Fewer than 2⁶⁴ spans, each below 2⁶⁴: no sum of them wraps.
        self.sum = self.sum.wrapping_add(ticks);
        // A branch that is never taken costs less than two numbers to choose from.
        match self.squares.checked_add(ticks * ticks) {
            Some(squares) => self.squares = squares,
            None => self.saturate(),
        }
    }

    #[cold]
    #[inline(never)]
    fn saturate(&mut self) {
        self.squares = u128::MAX;
    }

    /// Adds all spans of `other`.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of spans.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, in ticks of 10 ps.
    pub const fn sum_ticks(&self) -> u128 {
        self.sum
    }

    /// The least; `None` if the record is empty.
    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then_some(self.min)
    }

    /// The greatest; `None` if the record is empty.
    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean to the nearest tick, halves up; `None` if the record is empty.
    pub fn mean(&self) -> Option<Span> {
        if self.count == 0 {
            return None;
        }
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        let mean = whole + u128::from(2 * rest >= count);
        Some(Span::from_ticks(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The standard deviation of the spans as a sample (divisor n − 1), in seconds; `None` for
    /// fewer than two spans, and once the sum of squares has saturated.
    pub fn sd_seconds(&self) -> Option<f64> {
        if self.count < 2 || self.squares == u128::MAX {
            return None;
        }
        // About the whole part m of the mean, Σ(x−m)² = Σx² − 2mΣx + nm². Its value is
        // exact modulo 2¹²⁸ whatever overflows on the way, and it is below 2¹²⁸ because
        // it is at most Σx². In floating point the difference would lose its digits.
        let count = u128::from(self.count);
        let mean = self.sum / count;
        let centred = self
            .squares
            .wrapping_sub(mean.wrapping_mul(2).wrapping_mul(self.sum))
            .wrapping_add(count.wrapping_mul(mean).wrapping_mul(mean));
        // Σ(x−m) is the remainder of the whole part.
        let left = (self.sum % count) as f64;
        let variance = (centred as f64 - left * (left / count as f64)) / (count - 1) as f64;
        Some(libm::sqrt(variance.max(0.0)) / crate::units::TICKS_PER_SECOND as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(ticks: &[u64]) -> Moments {
        let mut moments = Moments::new();
        ticks.iter().for_each(|t| moments.add(Span::from_ticks(*t)));
        moments
    }

    #[test]
    fn nothing_has_no_mean() {
        let none = of(&[]);
        assert_eq!((none.count(), none.mean(), none.sd_seconds()), (0, None, None));
        assert_eq!((none.min(), none.max()), (None, None));
        assert_eq!(none, Moments::default());
    }

    #[test]
    fn close_values_far_from_zero_keep_their_spread() {
        // Ten seconds and one tick more: in floating point the squares would cancel.
        let moments = of(&[1_000_000_000_000, 1_000_000_000_001]);
        assert!((moments.sd_seconds().unwrap() / (0.5f64.sqrt() * 1e-11) - 1.0).abs() < 1e-12);
        assert_eq!(moments.mean(), Some(Span::from_ticks(1_000_000_000_001)));
    }

    #[test]
    fn saturated_squares_give_no_spread() {
        assert_eq!(of(&[u64::MAX, u64::MAX]).sd_seconds(), None);
        assert_eq!(of(&[u64::MAX, u64::MAX]).mean(), Some(Span::MAX));
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_definition(ticks in prop::collection::vec(0u64..1 << 50, 2..60), split in 0usize..60) {
            let moments = of(&ticks);
            let n = ticks.len() as f64;
            let mean = ticks.iter().sum::<u64>() as f64 / n;
            let squares: f64 = ticks.iter().map(|t| (*t as f64 - mean) * (*t as f64 - mean)).sum();
            let sd = (squares / (n - 1.0)).sqrt() / 1e11;
            prop_assert!((moments.sd_seconds().unwrap() - sd).abs() <= 1e-9 * sd + 1e-12);
            prop_assert!((moments.mean().unwrap().ticks() as f64 - mean).abs() <= 1.0);
            prop_assert_eq!(moments.max().map(Span::ticks), ticks.iter().max().copied());
            prop_assert_eq!(moments.min().map(Span::ticks), ticks.iter().min().copied());
            let (left, right) = ticks.split_at(split.min(ticks.len()));
            let mut merged = of(left);
            merged.merge(&of(right));
            prop_assert_eq!(merged, moments);
        }
    }
}
