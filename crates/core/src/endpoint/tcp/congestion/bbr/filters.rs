//! Filters of what BBR measures: the greatest bandwidth of the last rounds, and the data that
//! acknowledgements report beyond it.

use crate::units::{Span, Time};
use alloc::collections::VecDeque;

/// Rounds for which a bandwidth counts: the cycle of gains, and two more.
const ROUNDS: u64 = 10;
/// Rounds of each of the two windows of the excess.
const EXCESS_ROUNDS: u32 = 5;
/// Segments after which an epoch of the excess begins anew.
const EPOCH: u64 = 1 << 20;

/// The greatest value of the last [`ROUNDS`] rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    /// Values that are greater than all later ones, with their rounds.
    values: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// Adds a value of this round, and forgets those of more than [`ROUNDS`] rounds before.
    pub(super) fn add(&mut self, round: u64, value: f64) {
        while self.values.back().is_some_and(|(_, last)| *last <= value) {
            self.values.pop_back();
        }
        self.values.push_back((round, value));
        while self.values.front().is_some_and(|(at, _)| round - at > ROUNDS) {
            self.values.pop_front();
        }
    }

    /// The greatest value; zero before the first.
    pub(super) fn get(&self) -> f64 {
        self.values.front().map_or(0.0, |(_, value)| *value)
    }
}

/// Data that acknowledgements report beyond the bandwidth: they come together. The most of the last
/// five to ten rounds (`extra_acked`).
#[derive(Clone, Debug)]
pub(super) struct Excess {
    /// Start of the epoch, and the bytes that have arrived in it.
    began: Time,
    arrived: u64,
    /// The most of each window, in bytes; the second is the current one.
    most: [u64; 2],
    rounds: u32,
}

impl Excess {
    pub(super) fn new(now: Time) -> Excess {
        Excess { began: now, arrived: 0, most: [0; 2], rounds: 0 }
    }

    /// Begins an epoch.
    pub(super) fn begin(&mut self, now: Time) {
        (self.began, self.arrived) = (now, 0);
    }

    /// Counts `arrived` bytes at a bandwidth in bytes per second, at most a window of `cwnd`.
    pub(super) fn add(&mut self, now: Time, bandwidth: f64, arrived: u64, cwnd: u64, mss: u64) {
        let mut expected = bandwidth * now.since(self.began).as_secs_f64();
        if self.arrived as f64 <= expected || self.arrived + arrived >= EPOCH * mss {
            self.begin(now);
            expected = 0.0;
        }
        self.arrived += arrived;
        let excess = (self.arrived as f64 - expected).max(0.0) as u64;
        self.most[1] = self.most[1].max(excess.min(cwnd));
    }

    /// Records the start of a round.
    pub(super) fn round(&mut self) {
        self.rounds += 1;
        if self.rounds >= EXCESS_ROUNDS {
            (self.rounds, self.most) = (0, [self.most[1], 0]);
        }
    }

    /// The most in bytes, at most what arrives in 100 ms.
    pub(super) fn get(&self, bandwidth: f64) -> u64 {
        let most = self.most[0].max(self.most[1]);
        most.min((bandwidth * Span::from_millis(100).as_secs_f64()) as u64)
    }
}
