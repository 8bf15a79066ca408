//! The senders of the last minute, from a sample of what the line sent.
//!
//! One packet is taken in every so many bytes, so that a sender's part of the sample is its part of
//! the line's bytes.

use super::history::Subject;
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::classifier::FiveTuple;
use tidegate_core::switch::Level;
use tidegate_core::units::{Rate, Span, Time};

/// Number of packets taken in a second by a line in full use.
const PER_SECOND: f64 = 250.0;
/// Least number of bytes from one packet to the next: a slow line takes fewer.
const MIN_EVERY: u64 = 25_000;
/// Time for which a packet counts.
const KEPT: Span = Span::from_secs(60);

/// A packet of the sample.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    at: Time,
    pub(super) subject: Subject,
    pub(super) conversation: FiveTuple,
    pub(super) levels: Box<[Level]>,
}

/// A sample of a direction's packets.
#[derive(Debug)]
pub(super) struct Senders {
    /// Bytes from one packet to the next.
    every: u64,
    /// Bytes until the next packet.
    left: u64,
    sent: VecDeque<Sent>,
}

impl Senders {
    /// The sample of a line of this rate.
    pub(super) fn new(rate: Rate) -> Senders {
        let every = (rate.bits_per_second() / 8.0 / PER_SECOND) as u64;
        let every = every.max(MIN_EVERY);
        Senders { every, left: every, sent: VecDeque::new() }
    }

    /// Counts a packet of `len` bytes; returns true if it is taken.
    #[inline]
    pub(super) fn takes(&mut self, len: u32) -> bool {
        let len = u64::from(len);
        if len < self.left {
            self.left -= len;
            return false;
        }
        // A packet that is longer than the spacing counts once: at such rates each is taken.
        self.left = self.every - (len - self.left) % self.every;
        true
    }

    pub(super) fn take(
        &mut self,
        at: Time,
        subject: Subject,
        conversation: FiveTuple,
        levels: impl Iterator<Item = Level>,
    ) {
        while self.sent.front().is_some_and(|sent| sent.at + KEPT < at) {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { at, subject, conversation, levels: levels.collect() });
    }

    /// Ranks senders among the packets of the last minute that are wanted: those with the most first,
    /// each with its part.
    pub(super) fn rank<N: Ord>(
        &self,
        now: Time,
        most: usize,
        name: impl Fn(&Sent) -> Option<N>,
    ) -> Vec<(N, f64)> {
        let mut counts = BTreeMap::new();
        let recent = self.sent.iter().filter(|sent| sent.at + KEPT >= now);
        recent.filter_map(name).for_each(|name| *counts.entry(name).or_insert(0_u32) += 1);
        let total: u32 = counts.values().sum();
        let mut ranked: Vec<_> = counts.into_iter().collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let share = |count| f64::from(count) / f64::from(total);
        ranked.into_iter().take(most).map(|(name, count)| (name, share(count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::steering::FlowOwner;

    /// A sender of small packets and one of large ones have the parts that they have of the bytes.
    #[test]
    fn parts_are_of_bytes() {
        let mut senders = Senders::new(Rate::from_bits_per_second(100_000_000).unwrap());
        let conversation: FiveTuple = "10.0.0.1:1>10.0.0.2:2/udp".parse().unwrap();
        let lengths = [(0, 60), (1, 1514), (0, 60), (2, 700)];
        for step in 0..400_000_u64 {
            let (rule, len) = lengths[(step % 4) as usize];
            if senders.takes(len) {
                let subject = Subject { rule: Some(rule), owner: FlowOwner::Rule };
                let at = Time::ORIGIN + Span::from_micros(step * 100);
                senders.take(at, subject, conversation, [Level::Flow].into_iter());
            }
        }
        let ranked = senders.rank(Time::ORIGIN + Span::from_secs(40), 3, |sent| sent.subject.rule);
        let total = 120.0 + 1514.0 + 700.0;
        for ((rule, part), (expected, bytes)) in ranked.iter().zip([(1, 1514.0), (2, 700.0), (0, 120.0)]) {
            assert_eq!(*rule, expected);
            assert!((part - bytes / total).abs() < 0.02, "{ranked:?}");
        }
        let later = Time::ORIGIN + Span::from_secs(101);
        assert!(senders.rank(later, 3, |sent| sent.subject.rule).is_empty());
    }
}
