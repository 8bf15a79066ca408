//! May this packet go yet?
//!
//! A token bucket is kept as one instant: when it will be full again (the generic cell rate
//! algorithm of ATM TM 4.0, section 4.4, in its virtual-scheduling form). That is exact, and
//! needs no refilling.

use crate::contract::Refused;
use crate::params::{
    Fault, Limit, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, registry,
    words,
};
use crate::units::{Rate, Span, Time};

parameters! {
    /// A token bucket in front of one flow's queue: a plan's entry.
    #[derive(Eq)]
    pub struct ShaperPlan {
        /// Rate at which the bucket refills
        rate: Rate,
        /// Depth of the bucket: what may leave back to back; at least the largest packet
        burst: u32 as Size,
        /// Longest queue of waiting packets; without it nothing is discarded
        queue: Option<Limit>,
        /// Fate of packets that do not conform: they wait, are dropped, or go on at once, marked as out of profile
        excess: Excess = Excess::Wait,
    }
}

words! {
    /// What becomes of packets that do not conform.
    #[derive(Default)]
    pub enum Excess {
        /// They wait until they do.
        #[default]
        Wait = "wait",
        /// They are dropped.
        Drop = "drop",
        /// They go on at once, coloured red, and take nothing out of the bucket.
        Mark = "mark",
    }
}

impl PolicyParams for ShaperPlan {
    type Made = ShaperPlan;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "token-bucket",
        title: "Token bucket (user-behaviour envelope)",
        role: Role::Shaper,
        help: "Delays a flow's packets until they conform to a bucket of `burst` refilled at `rate`; \
               packets beyond `queue` waiting are discarded. With the burst of one packet it is the simple leaky \
               bucket; with `excess` dropped or marked, the one that saves credits.",
        source: "Zhang 1991, section 3.3 (envelope: burst = AR * AI) and section 5.2.1 (leaky buckets)",
        params: ShaperPlan::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        needs: None,
    };

    fn make(&self) -> Result<ShaperPlan, Refused> {
        Ok(*self)
    }

    fn example() -> ShaperPlan {
        let rate = const { Rate::from_bits_per_second(300_000).unwrap() };
        ShaperPlan { rate, burst: 1500, queue: Some(Limit::Packets(20)), excess: Excess::Wait }
    }

    /// A packet larger than the bucket is deep would conform as if it were as large as the bucket.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let largest = node.members.iter().map(|member| member.largest).max().unwrap_or(0);
        if self.burst < largest {
            let message =
                format!("`burst` ({}B) is smaller than the largest packet ({largest}B)", self.burst);
            return Err(Fault::at("burst", message));
        }
        Ok(())
    }
}

// The registry: one line a shaper.
registry! {
    /// A built-in shaper with its parameters.
    pub enum BuiltInShaper {
        TokenBucket(ShaperPlan),
    }
}

/// The shaper that an envelope without a kind is.
pub const DEFAULT: &PolicyRecord = &ShaperPlan::RECORD;

impl BuiltInShaper {
    /// What a flow's plan holds.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<ShaperPlan, Refused> {
        match self {
            BuiltInShaper::TokenBucket(params) => params.make(),
        }
    }
}

/// A bucket of `burst` bytes refilled at `rate`, full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    burst: Span,
    full_at: Time,
}

impl TokenBucket {
    /// A full bucket. A packet larger than `burst` bytes conforms when the bucket is full.
    pub fn new(rate: Rate, burst: u32) -> TokenBucket {
        TokenBucket { rate, burst: rate.time_for(burst), full_at: Time::from_ticks(0) }
    }

    /// The same bucket at another rate and depth; what is owed stays owed, in bytes.
    pub fn change(&mut self, now: Time, rate: Rate, burst: u32) {
        let owed = u32::try_from(self.rate.bytes_in(self.full_at.since(now))).unwrap_or(u32::MAX);
        *self = TokenBucket { full_at: now + rate.time_for(owed), ..TokenBucket::new(rate, burst) };
    }

    /// When a packet of `len` bytes conforms; in the past when it does already.
    #[inline]
    pub fn conforms_at(&self, len: u32) -> Time {
        self.full_at.before(self.burst - self.rate.time_for(len))
    }

    /// Takes a packet's bytes out at `now`.
    #[inline]
    pub fn take(&mut self, now: Time, len: u32) {
        self.full_at = self.full_at.max(now) + self.rate.time_for(len);
    }

    /// From when on the bucket is full, and equal to a new one.
    pub fn full_at(&self) -> Time {
        self.full_at
    }
}

/// The fastest that a flow, a class or a port may send, kept as the instant when it may send again: over any
/// interval at most two packets more than the rate allows.
///
/// A packet that was there when it might have been sent and found the link taken starts late. The next one
/// makes up for that, by one packet's time at most: else, who is under a ceiling on a busy link would lose
/// the rest of a packet's time with every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    rate: Rate,
    clear_at: Time,
}

impl Ceiling {
    /// A ceiling under which nothing has been sent.
    pub fn new(rate: Rate) -> Ceiling {
        Ceiling { rate, clear_at: Time::from_ticks(0) }
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The same ceiling at another rate: the packet already sent keeps its time.
    pub fn change(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// When the next packet may start.
    #[inline]
    pub fn clear_at(&self) -> Time {
        self.clear_at
    }

    /// A packet of `len` bytes that arrived at `arrived` starts at `now`.
    #[inline]
    pub fn take(&mut self, now: Time, arrived: Time, len: u32) {
        let time = self.rate.time_for(len);
        self.clear_at = self.clear_at.max(arrived).max(now.before(time)) + time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a bucket counted in bits × ticks, which needs no rounding at whole rates.
        #[test]
        fn the_bucket_agrees_with_counting_tokens(
            burst in 1u32..5000,
            steps in prop::collection::vec((0u64..200_000, 1u32..1500), 1..200),
        ) {
            // 8 Mbit/s: 100 000 ticks a byte, exactly.
            let rate = Rate::from_bits_per_second(8_000_000).unwrap();
            let mut bucket = TokenBucket::new(rate, burst);
            let (mut now, mut tokens) = (Time::ORIGIN, i128::from(burst) * 100_000);
            for (gap, len) in steps {
                now += Span::from_ticks(gap * 1000);
                tokens = (tokens + i128::from(gap) * 1000).min(i128::from(burst) * 100_000);
                let need = i128::from(len.min(burst)) * 100_000;
                prop_assert_eq!(bucket.conforms_at(len) <= now, tokens >= need);
                if tokens >= need {
                    bucket.take(now, len);
                    tokens -= i128::from(len) * 100_000;
                }
            }
        }
    }
}
