//! Exponential and geometric variates.

use super::stream::Rng;
use super::ziggurat;
use crate::units::Span;

impl Rng {
    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: Span) -> Span {
        self.exponential_of(mean.ticks() as f64)
    }

    /// Exponential with a mean of `mean` ticks: avoids a conversion for frequent calls.
    #[inline]
    pub fn exponential_of(&mut self, mean: f64) -> Span {
        let ticks = ziggurat::exponential(self) * mean;
        // A signed number takes a third of the instructions.
        match ticks as i64 {
            i64::MAX => long(ticks),
            signed => Span::from_ticks(signed as u64),
        }
    }

    /// Geometric over 1, 2, 3, … with the given mean (at least 1).
    pub fn geometric(&mut self, mean: f64) -> u64 {
        if mean <= 1.0 {
            return 1;
        }
        1 + (libm::log(self.unit()) / libm::log(1.0 - 1.0 / mean)) as u64
    }
}

/// A span of three years and more.
#[cold]
#[inline(never)]
fn long(ticks: f64) -> Span {
    Span::from_ticks(ticks as u64)
}
