//! Traffic shaping: the token bucket that decides when a packet may leave, and the rate ceiling.
//!
//! A token bucket is kept as one instant, the time at which it will be full again (the generic cell
//! rate algorithm of ATM TM 4.0, section 4.4, in its virtual-scheduling form). This is exact, and
//! needs no refilling.
//!
//! A bucket of W bytes at rate r, full at the start, with a peak rate r̂, is the filter that forces
//! a flow to keep the contract (W, r, r̂) of Pincheira 1994, section 2.1: its output has a backlog
//! of at most W bytes at a server of rate r, and from the start of each packet its transmission
//! time at r̂ passes before the next one starts. It serves as the shaper in front of a flow's
//! queue, and as the bucket of a meter that polices contracts.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::shaper::TokenBucket;
//! use tidegate_core::units::{Rate, Span, Time};
//!
//! // Two packets of 1,000 bytes at once, and then one every second.
//! let now = Time::ORIGIN;
//! let mut bucket = TokenBucket::new(Rate::from_bits_per_second(8_000).unwrap(), 2_000);
//! bucket.take(now, 1_000);
//! assert!(bucket.conforms_at(1_000) <= now);
//! bucket.take(now, 1_000);
//! assert_eq!(bucket.conforms_at(1_000), now + Span::from_secs(1));
//! ```

use crate::contract::{Contract, Refused};
use crate::params::{
    Carry, Fault, Limit, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
    registry, words,
};
use crate::units::{Rate, Span, Time};
use alloc::format;

parameters! {
    /// Parameters of a token bucket in front of a flow's queue.
    #[derive(Copy, Eq)]
    pub struct TokenBucketParams {
        /// Rate at which the bucket refills; without it, the flow's `reserve`
        rate: Option<Rate>,
        /// Depth of the bucket: the most that may leave back to back, at least the largest packet;
        /// without it, the flow's `workahead`, or `reserve` times `interval`
        burst: Option<u32> as Size,
        /// Peak rate: after each packet there is a gap of its transmission time at this rate;
        /// without it and without `rate`, the flow's `peak`; without that, packets leave back to
        /// back
        peak: Option<Rate>,
        /// Longest queue of waiting packets; without it nothing is discarded
        queue: Option<Limit>,
        /// Packets that do not conform: they wait, are dropped, or are sent at once, marked as out
        /// of profile
        //= zhang1991 3.3.1
        excess: Excess = Excess::Wait,
        /// Width of the buckets of a calendar into which packets are put by the time at which they
        /// conform, above zero: they leave at the end of their bucket. Without it, they leave when
        /// they conform
        calendar: Option<Span>,
    }
}

words! {
    /// Fate of packets that do not conform.
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

/// A token bucket in front of one flow's queue, as an entry of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperPlan {
    /// Rate at which the bucket refills.
    pub rate: Rate,
    /// Depth of the bucket in bytes.
    pub burst: u32,
    /// Peak rate: each packet leaves no earlier than the previous one's start plus its transmission
    /// time at this rate.
    pub peak: Option<Rate>,
    /// Longest queue of waiting packets; `None` for no limit.
    pub queue: Option<Limit>,
    /// Fate of packets that do not conform.
    pub excess: Excess,
    /// Width of the buckets of departure times; `None` for departures at the exact times.
    pub calendar: Option<Span>,
}

impl ShaperPlan {
    /// Time at which a packet leaves that conforms at `at`: the end of its bucket. Buckets are
    /// counted from the start of time.
    #[inline]
    pub fn leaves_at(&self, at: Time) -> Time {
        //= kung1997 4
        self.calendar.map_or(at, |width| {
            let buckets = at.since(Time::ORIGIN).ticks().div_ceil(width.ticks());
            Time::ORIGIN + Span::from_ticks(buckets.saturating_mul(width.ticks()))
        })
    }
}

impl TokenBucketParams {
    /// Plans the bucket of a flow with this contract, which supplies the values that the parameters
    /// leave out.
    ///
    /// # Errors
    /// At `rate` or `burst` when neither states it, and at a `peak` below the flow's reservation.
    fn of(&self, contract: &Contract) -> Result<ShaperPlan, Fault> {
        let nobody =
            |key, theirs| Fault::at(key, format!("`{key}` is left out, and the flow has no {theirs}"));
        let rate = self.rate.or(contract.reserve).ok_or_else(|| nobody("rate", "`reserve`"))?;
        let burst = self.burst.or_else(|| contract.committed_burst());
        let burst = burst.ok_or_else(|| nobody("burst", "`workahead` and no `interval`"))?;
        let peak = self.peak.or(contract.peak.filter(|_| self.rate.is_none()));
        if peak.is_some_and(|peak| peak < rate) {
            return Err(Fault::at("peak", "`peak` is below the flow's `reserve`"));
        }
        Ok(ShaperPlan { rate, burst, peak, queue: self.queue, excess: self.excess, calendar: self.calendar })
    }
}

impl PolicyParams for TokenBucketParams {
    type Policy = ShaperPlan;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "token-bucket",
        title: "Token bucket (user-behaviour envelope)",
        role: Role::Shaper,
        help: "Delays a flow's packets until they conform to a bucket of `burst` refilled at `rate`, and to `peak`; \
               packets beyond a full `queue` are discarded. With a burst of one packet it is the simple \
               leaky bucket; with `excess` dropped or marked, the one that saves credits. Without `rate` and \
               `burst` it is \
               the filter of the flow's contract (W, r, r̂).",
        source: "Zhang 1991, section 3.3 (envelope: burst = AR * AI) and section 5.2.1 (leaky buckets); Pincheira 1994, \
                 section 2.1 (the filter)",
        params: TokenBucketParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<ShaperPlan, Refused> {
        self.of(&Contract::default()).map_err(|fault| Refused(fault.message))
    }

    fn example() -> TokenBucketParams {
        let queue = Some(Limit::Packets(20));
        TokenBucketParams {
            rate: Rate::from_bits_per_second(300_000),
            burst: Some(1500),
            peak: None,
            queue,
            excess: Excess::Wait,
            calendar: None,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        match (self.peak, self.rate) {
            (Some(peak), Some(rate)) if peak < rate => {
                return Err(Fault::at("peak", "`peak` is below `rate`"));
            }
            _ => {}
        }
        match self.calendar {
            Some(Span::ZERO) => Err(Fault::at("calendar", "`calendar` is zero")),
            Some(_) if self.excess != Excess::Wait => {
                Err(Fault::at("calendar", "`calendar` holds packets that wait, and `excess` lets none wait"))
            }
            _ => Ok(()),
        }
    }

    /// Rejects a packet larger than the bucket: it would conform as if it were as large as the
    /// bucket.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        for member in node.members {
            let (plan, largest) = (self.of(&member.contract)?, member.largest);
            if plan.burst < largest {
                let message =
                    format!("`burst` ({}B) is smaller than the largest packet ({largest}B)", plan.burst);
                return Err(Fault::at("burst", message));
            }
        }
        Ok(())
    }
}

// The registry: one line per shaper.
registry! {
    /// A built-in shaper with its parameters.
    pub enum BuiltInShaper {
        TokenBucket(TokenBucketParams),
    }
}

/// The shaper of an envelope that states no kind.
pub const DEFAULT: &PolicyRecord = &TokenBucketParams::RECORD;

impl BuiltInShaper {
    /// Plans the shaper of a flow with this contract.
    ///
    /// # Errors
    /// When neither the parameters nor the contract state a rate and a burst, or when they
    /// contradict each other.
    pub fn build(&self, contract: &Contract) -> Result<ShaperPlan, Refused> {
        match self {
            BuiltInShaper::TokenBucket(params) => params.of(contract).map_err(|fault| Refused(fault.message)),
        }
    }
}

/// A token bucket of `burst` bytes refilled at `rate`, full at the start, with an optional peak
/// rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    burst: Span,
    peak: Option<Rate>,
    full_at: Time,
    /// The earliest start of the next packet under the peak rate.
    apart_at: Time,
}

impl TokenBucket {
    /// Creates a full bucket. A packet larger than `burst` bytes conforms when the bucket is full.
    pub fn new(rate: Rate, burst: u32) -> TokenBucket {
        let long_ago = Time::from_ticks(0);
        TokenBucket { rate, burst: rate.time_for(burst), peak: None, full_at: long_ago, apart_at: long_ago }
    }

    /// Returns this bucket with a peak rate for departures; `None` for back to back.
    pub fn with_peak(self, peak: Option<Rate>) -> TokenBucket {
        TokenBucket { peak, ..self }
    }

    /// Changes the rate and the depth. The debt stays the same in bytes, and the last packet keeps
    /// its time.
    pub fn change(&mut self, now: Time, rate: Rate, burst: u32) {
        let owed = u32::try_from(self.rate.bytes_in(self.full_at.since(now))).unwrap_or(u32::MAX);
        (self.rate, self.burst, self.full_at) = (rate, rate.time_for(burst), now + rate.time_for(owed));
    }

    /// The time at which a packet of `len` bytes conforms; in the past if it already does.
    #[inline]
    pub fn conforms_at(&self, len: u32) -> Time {
        //= zhang1991 3.3
        self.full_at.before(self.burst - self.rate.time_for(len)).max(self.apart_at)
    }

    /// Takes a packet's bytes out of the bucket at `now`.
    #[inline]
    pub fn take(&mut self, now: Time, len: u32) {
        //= zhang1991 5.2.1
        self.full_at = self.full_at.max(now) + self.rate.time_for(len);
        if let Some(peak) = self.peak {
            //= pincheira1994 2.1
            self.apart_at = now + peak.time_for(len);
        }
    }

    /// Returns when the bucket is full, and equal to a new one.
    pub fn full_at(&self) -> Time {
        self.full_at.max(self.apart_at)
    }
}

/// Rate ceiling of a flow, a class or a port, kept as the instant at which it may send again: over
/// any interval at most two packets more than the rate allows.
///
/// A packet that could have been sent earlier but found the link busy starts late. The next one
/// makes up for the delay, by at most one packet time: otherwise a flow under a ceiling on a busy
/// link would lose the rest of a packet time with every packet.
///
/// With a burst it is the token bucket of Linux's HTB: a packet may start while the bucket is not
/// overdrawn, and overdraws it. A late packet and an idle time then both fill it, up to the burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    rate: Rate,
    burst: Option<u32>,
    clear_at: Time,
}

impl Ceiling {
    /// Creates a ceiling under which nothing has been sent.
    pub fn new(rate: Rate) -> Ceiling {
        Ceiling { rate, burst: None, clear_at: Time::from_ticks(0) }
    }

    /// Returns this ceiling with a bucket of `burst` bytes.
    pub fn with_burst(self, burst: Option<u32>) -> Ceiling {
        Ceiling { burst, ..self }
    }

    /// The rate of the ceiling.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Most bytes that start in a time of length zero, if none is longer than `largest`: over any time
    /// there are as many, and as many more as the rate allows.
    pub fn at_once(&self, largest: u32) -> u64 {
        u64::from(self.burst.unwrap_or(largest)) + u64::from(largest)
    }

    /// Changes the rate and the burst; the packet already sent keeps its time.
    pub fn change(&mut self, rate: Rate, burst: Option<u32>) {
        (self.rate, self.burst) = (rate, burst);
    }

    /// The time at which the next packet may start.
    #[inline]
    pub fn clear_at(&self) -> Time {
        self.clear_at
    }

    /// Accounts for a packet of `len` bytes that arrived at `arrived` and starts at `now`.
    #[inline]
    pub fn take(&mut self, now: Time, arrived: Time, len: u32) {
        let time = self.rate.time_for(len);
        let full_at = match self.burst {
            Some(burst) => now.before(self.rate.time_for(burst)),
            None => arrived.max(now.before(time)),
        };
        self.clear_at = self.clear_at.max(full_at) + time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that with a peak rate, packets that leave as soon as they conform keep their
        /// distance, and that any stretch of them has no more bytes than the burst and the refill
        /// since.
        #[test]
        fn a_peak_rate_keeps_packets_apart(
            burst in 1500u32..9000,
            peak in 1u64..5,
            steps in prop::collection::vec((0u64..2_000_000, 40u32..1500), 2..120),
        ) {
            let bits = 8_000_000;
            let (rate, peak) = (Rate::from_bits_per_second(bits).unwrap(), Rate::from_bits_per_second(peak * bits));
            let mut bucket = TokenBucket::new(rate, burst).with_peak(peak);
            let (mut now, mut left) = (Time::ORIGIN, Vec::new());
            for (gap, len) in steps {
                now = (now + Span::from_ticks(gap)).max(bucket.conforms_at(len));
                bucket.take(now, len);
                left.push((now, len));
            }
            for pair in left.windows(2) {
                prop_assert!(pair[0].0 + peak.unwrap().time_for(pair[0].1) <= pair[1].0);
            }
            for first in 0..left.len() {
                let mut bytes = 0;
                for (at, len) in &left[first..] {
                    bytes += u64::from(*len);
                    let fits = u64::from(burst) + rate.bytes_in(at.since(left[first].0)) + 1;
                    prop_assert!(bytes <= fits, "{bytes} of {fits}");
                }
            }
        }

        /// Checks that packets under a ceiling with a bucket never take more than the burst, the
        /// refill and one packet, and that after an idle time they take the whole burst at once.
        #[test]
        fn a_ceilings_bucket_passes_the_burst_and_one_packet(
            burst in 1u32..9000,
            steps in prop::collection::vec((0u64..100_000_000, 40u32..1500), 2..120),
        ) {
            let rate = Rate::from_bits_per_second(8_000_000).unwrap();
            let mut ceiling = Ceiling::new(rate).with_burst(Some(burst));
            let (mut now, mut left) = (Time::ORIGIN, Vec::new());
            for (gap, len) in steps {
                now = (now + Span::from_ticks(gap)).max(ceiling.clear_at());
                ceiling.take(now, now, len);
                left.push((now, len));
            }
            for first in 0..left.len() {
                let mut before = 0;
                for (at, len) in &left[first..] {
                    prop_assert!(before <= u64::from(burst) + rate.bytes_in(at.since(left[first].0)));
                    before += u64::from(*len);
                }
            }
            now += Span::from_secs(1);
            let mut at_once = 0;
            while ceiling.clear_at() <= now {
                ceiling.take(now, now, 40);
                at_once += 40;
            }
            prop_assert!(burst < at_once && at_once <= burst + 40, "{at_once}");
        }

        /// Compares with a bucket counted in bits × ticks, which needs no rounding at whole rates.
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
