//! Finite transfers: an application that hands a connection a number of bytes, waits until they are
//! acknowledged, thinks, and hands over the next transfer.

use super::period::Period;
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::sync::Arc;

/// Finite transfers on one connection, one after the other.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Sizes of the transfers.
    pub sizes: Sizes,
    /// Think time from the end of a transfer to the beginning of the next.
    pub think: Period,
}

/// Sizes of transfers, in bytes. A random size is at least one byte.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// One size for all.
    Fixed(u64),
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
        let from_zero = std::iter::once(&(0.0, 0.0)).chain(&points);
        let rises = from_zero.zip(&points).all(|(one, next)| one.0 <= next.0 && one.1 <= next.1);
        let is_whole = points.last().is_some_and(|last| last.1 == 1.0 && last.0.is_finite());
        (rises && is_whole).then_some(Distribution { points })
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
    fn draw(&self, rng: &mut Rng) -> u64 {
        let bytes = match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Exponential(mean) => rng.exponential_of(*mean as f64).ticks(),
            Sizes::Distribution(distribution) => distribution.quantile(rng.unit()) as u64,
        };
        bytes.max(1)
    }
}

/// A transfer that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The time at which the application handed it over.
    pub began: Time,
    /// Size in bytes.
    pub bytes: u64,
    /// Time from the handover to the acknowledgement of its last byte.
    pub took: Span,
}

/// An application that hands over finite transfers.
#[derive(Debug)]
pub struct Transferring {
    transfers: Transfers,
    rng: Rng,
    /// The time at which the next transfer begins; [`Time::NEVER`] while one is under way.
    next_at: Time,
    /// Begin and size in bytes of the transfer under way.
    current: (Time, u64),
    done: Vec<Transfer>,
}

impl Transferring {
    /// An application whose first transfer begins with the connection.
    pub fn new(transfers: Transfers, rng: Rng) -> Transferring {
        Transferring { transfers, rng, next_at: Time::ORIGIN, current: (Time::ORIGIN, 0), done: Vec::new() }
    }

    /// The time at which the next transfer begins; [`Time::NEVER`] while one is under way.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Begins a transfer if one is due. Returns its size in bytes.
    pub fn begin(&mut self, now: Time) -> Option<u64> {
        if now < self.next_at {
            return None;
        }
        let bytes = self.transfers.sizes.draw(&mut self.rng);
        (self.current, self.next_at) = ((now, bytes), Time::NEVER);
        Some(bytes)
    }

    /// Called when all data handed over are acknowledged: the transfer under way, if there is one,
    /// has ended.
    pub fn acknowledged(&mut self, now: Time) {
        if self.next_at == Time::NEVER {
            let (began, bytes) = self.current;
            self.done.push(Transfer { began, bytes, took: now.since(began) });
            self.next_at = now + self.transfers.think.draw(&mut self.rng);
        }
    }

    /// Transfers that have ended, in order of time.
    pub fn done(&self) -> &[Transfer] {
        &self.done
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
        let function = Sizes::Distribution(Arc::new(distribution(&points).unwrap()));
        for (sizes, mean) in [(function, mean), (Sizes::Exponential(12_345), 12_345.0)] {
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
}
