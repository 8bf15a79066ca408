//! Sizes of transfers: fixed, drawn from a list, exponential, or by a distribution function.

use super::workloads::{HADOOP, WEB_SEARCH};
use crate::rng::Rng;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Sizes of transfers, in bytes. A random size is at least one byte.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// One size for all.
    Fixed(u64),
    /// One of these, with equal probability.
    OneOf(Arc<[u64]>),
    /// Exponentially distributed with this mean.
    Exponential(u64),
    /// Drawn from a distribution function.
    Distribution(Arc<Distribution>),
}

/// A distribution function of sizes, linear between points.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    points: Vec<(f64, f64)>,
}

impl Distribution {
    /// The distribution function through these points: a size in bytes, and the share of transfers
    /// of at most that size. `None` unless both are non-decreasing from 0 on, the last share is 1
    /// and the last size is finite.
    pub fn new(points: Vec<(f64, f64)>) -> Option<Distribution> {
        let from_zero = core::iter::once(&(0.0, 0.0)).chain(&points);
        let rises = from_zero.zip(&points).all(|(one, next)| one.0 <= next.0 && one.1 <= next.1);
        let is_whole = points.last().is_some_and(|last| last.1 == 1.0 && last.0.is_finite());
        (rises && is_whole).then_some(Distribution { points })
    }

    /// Transfers of web search (Alizadeh et al. 2010).
    pub fn web_search() -> Distribution {
        Distribution::of_percentages(WEB_SEARCH)
    }

    /// Transfers of Hadoop (Roy et al. 2015).
    pub fn hadoop() -> Distribution {
        Distribution::of_percentages(HADOOP)
    }

    fn of_percentages(points: &[(u32, f64)]) -> Distribution {
        Distribution {
            points: points.iter().map(|(size, percent)| (f64::from(*size), percent / 100.0)).collect(),
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let mut mean = 0.0;
        let mut before = None;
        for &(size, share) in &self.points {
            // The first point's share has its size.
            let (below, less) = before.unwrap_or((size, 0.0));
            mean += (share - less) * (below + size) / 2.0;
            before = Some((size, share));
        }
        mean
    }

    /// The quantile of share `at`, from 0 to 1: the size that this share of the transfers does not
    /// exceed.
    fn quantile(&self, at: f64) -> f64 {
        let place = self.points.partition_point(|point| point.1 < at).min(self.points.len() - 1);
        let (above, share) = self.points[place];
        match place.checked_sub(1).map(|before| self.points[before]) {
            Some((below, before)) if share > before => {
                below + (above - below) * (at - before) / (share - before)
            }
            _ => above,
        }
    }
}

impl Sizes {
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let bytes = match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::OneOf(sizes) => sizes.get(rng.below(sizes.len() as u64) as usize).copied().unwrap_or(1),
            Sizes::Exponential(mean) => rng.exponential_of(*mean as f64).ticks(),
            Sizes::Distribution(distribution) => distribution.quantile(rng.unit()) as u64,
        };
        bytes.max(1)
    }

    /// The mean size in bytes, before fractions are cut off.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Exponential(bytes) => *bytes as f64,
            Sizes::OneOf(sizes) => {
                sizes.iter().map(|size| *size as f64).sum::<f64>() / sizes.len().max(1) as f64
            }
            Sizes::Distribution(distribution) => distribution.mean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(points: &[(f64, f64)]) -> Option<Distribution> {
        Distribution::new(points.to_vec())
    }

    #[test]
    fn a_distribution_function_rises_to_one() {
        assert!(distribution(&[(0.0, 0.0), (10.0, 0.5), (10.0, 1.0)]).is_some());
        for wrong in [
            &[][..],
            &[(10.0, 0.5)],
            &[(10.0, 0.5), (9.0, 1.0)],
            &[(10.0, 0.5), (11.0, 0.4), (12.0, 1.0)],
            &[(-1.0, 0.5), (11.0, 1.0)],
            &[(1.0, 0.5), (f64::INFINITY, 1.0)],
            &[(f64::NAN, 0.5), (1.0, 1.0)],
            &[(1.0, f64::NAN), (1.0, 1.0)],
        ] {
            assert_eq!(distribution(wrong), None, "{wrong:?}");
        }
    }

    /// The mean of n sizes is that of the function: Σ (share) · (middle of the segment).
    #[test]
    fn sizes_have_the_mean_of_their_distribution() {
        let points = [(1e3, 0.0), (1e4, 0.15), (5e4, 0.4), (5e4, 0.6), (1e6, 1.0)];
        let mean: f64 =
            points.windows(2).map(|two| (two[1].1 - two[0].1) * (two[0].0 + two[1].0) / 2.0).sum();
        let function = |function| Sizes::Distribution(Arc::new(function));
        let steps = distribution(&[(10.0, 0.25), (10.0, 0.5), (30.0, 0.5), (30.0, 1.0)]).unwrap();
        for (sizes, mean) in [
            (function(distribution(&points).unwrap()), mean),
            (function(steps), 20.0),
            (function(Distribution::web_search()), 1_711_250.0),
            (function(Distribution::hadoop()), 120_420.75),
            (Sizes::Exponential(12_345), 12_345.0),
            (Sizes::OneOf([1_000, 2_000, 9_000].into()), 4_000.0),
            (Sizes::Fixed(77), 77.0),
        ] {
            assert!((sizes.mean() / mean - 1.0).abs() < 1e-12, "{} {mean}", sizes.mean());
            let mut rng = Rng::named(1, "sizes");
            let drawn: Vec<f64> = (0..100_000).map(|_| sizes.draw(&mut rng) as f64).collect();
            let average = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let variance =
                drawn.iter().map(|size| (size - average).powi(2)).sum::<f64>() / drawn.len() as f64;
            // 99.9 %, and half a byte that is cut off.
            let half = 3.29 * (variance / drawn.len() as f64).sqrt() + 0.5;
            assert!((average - mean).abs() < half, "{average} ± {half}, {mean}");
        }
    }

    #[test]
    fn published_distributions_are_distribution_functions() {
        for function in [Distribution::web_search(), Distribution::hadoop()] {
            assert_eq!(Distribution::new(function.points.clone()), Some(function));
        }
    }
}
