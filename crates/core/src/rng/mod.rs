//! The random generator that drivers hand to policies and sources.
//!
//! One stream per component, derived from (seed, stable name): adding a component
//! changes no other component's numbers, and the numbers are the same on every
//! machine.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::rng::Rng;
//!
//! let mut source = Rng::named(1, "voice");
//! let first = source.bits();
//! assert_eq!(Rng::named(1, "voice").bits(), first);
//! assert_ne!(Rng::named(1, "video").bits(), first);
//! assert!(source.below(6) < 6);
//! ```

mod stream;
mod variates;
mod ziggurat;

pub use stream::Rng;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

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
