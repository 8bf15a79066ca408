//! The random generator that drivers hand to policies and sources.
//!
//! One stream per component, derived from (seed, stable name): adding a component
//! changes no other component's numbers, and the numbers are the same on every
//! machine.

mod ziggurat;

use crate::units::Span;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A named stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of the component `name` under `seed`.
    pub fn named(seed: u64, name: &str) -> Rng {
        // FNV-1a over the name, starting from the mixed seed; seed_from_u64 then
        // spreads the result over the whole state with SplitMix64.
        let mut hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over (0, 1]: never zero, so its logarithm is finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform over 0, 1, …, `bound` − 1; zero for `bound` 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The multiplication method; its bias is below bound / 2⁶⁴.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() <= p
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_and_repeatable() {
        let first = |seed, name| Rng::named(seed, name).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }

    #[test]
    fn means_come_out() {
        let mut rng = Rng::named(7, "means");
        let n = 200_000;
        let mean = Span::from_millis(10);
        let sum: u64 = (0..n).map(|_| rng.exponential(mean).ticks()).sum();
        // 99.9 % interval of the mean of n exponentials: ± 3.29 / √n.
        let ratio = sum as f64 / n as f64 / mean.ticks() as f64;
        assert!((ratio - 1.0).abs() < 3.29 / (n as f64).sqrt(), "{ratio}");
        let sum: u64 = (0..n).map(|_| rng.geometric(5.0)).sum();
        let deviation = 20f64.sqrt(); // √(1 − p) / p with p = 1/5
        let mean = sum as f64 / n as f64;
        assert!((mean - 5.0).abs() < 3.29 * deviation / (n as f64).sqrt(), "{mean}");
    }
}
