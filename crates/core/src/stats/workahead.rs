//! Burstiness of a flow: its workahead W and its peak rate.
//!
//! Source: Pincheira 1994, section 2.1. An ideal server serves the flow alone at
//! exactly its average rate r; W is the longest backlog there, and r̂ is taken from
//! the gaps between packets.

use crate::units::{Rate, Span, Time};

/// State of a flow at an ideal server of rate r, online.
///
/// The conventions: a packet arrives as a whole, at one instant; the backlog counts
/// right after an arrival, the arrived packet in full; the server drains it bit by
/// bit at r. So a flow that never works ahead has W = its largest packet.
///
/// Times must not go back; one that does counts as the latest seen.
#[derive(Clone, Debug)]
pub struct Workahead {
    rate: Rate,
    /// Time per byte in 2⁻²⁴ ticks: the rate exactly as [`Rate`] stores it.
    per_byte: u128,
    now: Time,
    /// The flow's VirtualClock stamp, in the scheduler's own arithmetic.
    stamp: Time,
    /// Time at which the ideal server is done, in 2⁻²⁴ ticks, without any rounding.
    done: u128,
    /// The greatest backlog, as the unrounded time that it takes to serve.
    most: u128,
}

impl Workahead {
    const FRACTION_BITS: u32 = 24;

    /// Creates a flow that has sent nothing, before an ideal server of rate `rate`.
    pub fn new(rate: Rate) -> Workahead {
        // 2²⁴ bytes take as many ticks as one byte takes 2⁻²⁴ ticks; nothing is rounded.
        let per_byte = u128::from(rate.time_for(1 << Self::FRACTION_BITS).ticks());
        let zero = Time::from_ticks(0);
        Workahead { rate, per_byte, now: zero, stamp: zero, done: 0, most: 0 }
    }

    /// Records the arrival of `bytes` bytes at `at`. Returns the packet's delay at the ideal
    /// server: from its arrival until its last bit is sent.
    ///
    /// This is the packet's VirtualClock stamp at the reserved rate r minus its
    /// arrival, tick for tick: the stamp advances by [`Rate::time_for`] the packet,
    /// which is within half a tick of the exact time.
    pub fn see(&mut self, at: Time, bytes: u32) -> Span {
        self.now = self.now.max(at);
        self.stamp = self.stamp.max(self.now) + self.rate.time_for(bytes);
        let now = u128::from(self.now.ticks()) << Self::FRACTION_BITS;
        // At most 2⁸⁸, then 2⁹⁶ a packet: it takes 2³¹ of the longest packets at the
        // lowest rate to saturate.
        self.done = self.done.max(now).saturating_add(u128::from(bytes) * self.per_byte);
        //= pincheira1994 2.1
        self.most = self.most.max(self.done - now);
        self.stamp.since(self.now)
    }

    /// W: the greatest backlog so far, in bytes, exact and then rounded up to a whole
    /// byte; zero before the first packet.
    pub fn max_backlog(&self) -> u64 {
        u64::try_from(self.most.div_ceil(self.per_byte)).unwrap_or(u64::MAX)
    }
}

/// A flow's peak rate r̂, online: the smallest rate at which an ideal server has
/// always sent one instant's packets before those of the next instant arrive.
///
/// Packets with the same time count together, because a clock of finite resolution
/// (1 µs in most captures) gives one time to packets that followed each other. Times
/// must not go back; one that does counts as the latest seen.
#[derive(Clone, Debug, Default)]
pub struct PeakRate {
    last: Option<(Time, u64)>,
    /// The greatest bytes per gap so far.
    peak: Option<(u64, Span)>,
}

impl PeakRate {
    /// Creates a flow that has sent nothing.
    pub fn new() -> PeakRate {
        PeakRate::default()
    }

    /// Records the arrival of `bytes` bytes at `at`.
    pub fn see(&mut self, at: Time, bytes: u32) {
        let bytes = u64::from(bytes);
        self.last = match self.last {
            Some((last, sent)) if at > last => {
                self.see_gap(sent, at.since(last));
                Some((at, bytes))
            }
            Some((last, sent)) => Some((last, sent.saturating_add(bytes))),
            None => Some((at, bytes)),
        };
    }

    fn see_gap(&mut self, bytes: u64, gap: Span) {
        let product = |bytes: u64, span: Span| u128::from(bytes) * u128::from(span.ticks());
        //= pincheira1994 2.1
        if self.peak.is_none_or(|(b, g)| product(bytes, g) > product(b, gap)) {
            self.peak = Some((bytes, gap));
        }
    }

    /// Bits per second, rounded up; saturates. `None` until packets have come at two
    /// different times: nothing bounds the rate of a single instant.
    pub fn bits_per_second(&self) -> Option<u64> {
        let (bytes, gap) = self.peak?;
        let bits = 8 * u128::from(bytes) * u128::from(crate::units::TICKS_PER_SECOND);
        Some(u64::try_from(bits.div_ceil(u128::from(gap.ticks()))).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
#[path = "workahead_tests.rs"]
mod tests;
