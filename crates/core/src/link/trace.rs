//! A link with a recorded rate: delivery opportunities of 1500 bytes each, at whole milliseconds.
//!
//! This is the format of mahimahi (Netravali et al., "Mahimahi: accurate record-and-replay for
//! HTTP", USENIX ATC 2015, section 4), which cellular links are recorded in: one line for each
//! opportunity, its millisecond from the start, never going back. After the last one the recording
//! starts again, so its period is the last line.
//!
//! The meaning of an opportunity is that of mahimahi's link queue: it delivers up to 1500 bytes at
//! its instant, the end of one packet and the start of the next alike; a packet that does not fit
//! continues in the opportunities that follow, and is delivered with its last byte. The rest of an
//! opportunity is lost when nothing waits. Two things are finer here: time does not stop between
//! milliseconds (a packet takes part in every opportunity from its arrival on, one at that very
//! instant included), and an opportunity is 1500 bytes of whatever the driver charges, where
//! mahimahi charges 1504 to an IP packet and the four bytes that its device puts before it: either
//! way a full IP packet takes one.

use crate::units::{Span, Time};
use alloc::boxed::Box;
use alloc::sync::Arc;

/// Delivery opportunities, repeated periodically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Milliseconds from the start, in order; the last one is above zero.
    opportunities: Box<[u32]>,
}

/// The reason for which a list of milliseconds is not a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotATrace {
    /// The list has no opportunity.
    #[error("there is no opportunity to deliver in it")]
    Empty,
    /// The times are not in order.
    #[error("time goes back from {from} ms to {to} ms")]
    Backwards {
        /// Index of the opportunity that is earlier than its predecessor.
        at: usize,
        /// Its time in milliseconds.
        to: u32,
        /// The time of its predecessor in milliseconds.
        from: u32,
    },
    /// All opportunities are at 0 ms.
    #[error("it is over at 0 ms: the last opportunity says when it starts again")]
    NoTime,
}

impl Trace {
    /// Bytes that an opportunity delivers.
    pub const BYTES: u32 = 1500;

    /// Creates a trace of opportunities at these milliseconds from the start.
    ///
    /// # Errors
    /// When there is no opportunity, when they are not in order, and when all of them are at zero.
    pub fn new(opportunities: impl Into<Box<[u32]>>) -> Result<Trace, NotATrace> {
        let opportunities = opportunities.into();
        let back = opportunities.windows(2).position(|pair| pair[1] < pair[0]);
        if let Some(before) = back {
            let [from, to] = [0, 1].map(|step| opportunities[before + step]);
            return Err(NotATrace::Backwards { at: before + 1, to, from });
        }
        match opportunities.last() {
            None => Err(NotATrace::Empty),
            Some(0) => Err(NotATrace::NoTime),
            Some(_) => Ok(Trace { opportunities }),
        }
    }

    /// Number of opportunities in one period.
    pub fn opportunities(&self) -> u64 {
        self.opportunities.len() as u64
    }

    /// Length of the period.
    pub fn period(&self) -> Span {
        Span::from_millis(self.opportunities.last().copied().map_or(1, u64::from))
    }

    /// Bits per second over a whole period, in bytes of opportunities.
    pub fn mean_bits_per_second(&self) -> f64 {
        self.opportunities() as f64 * f64::from(Self::BYTES) * 8.0 / self.period().as_secs_f64()
    }

    /// Number of opportunities before `span` has passed since the start, one at its end excluded.
    pub fn opportunities_within(&self, span: Span) -> u64 {
        let Some(last) = span.ticks().checked_sub(1) else { return 0 };
        let whole = last / self.period().ticks();
        let rest = Span::from_ticks(span.ticks() - whole * self.period().ticks());
        let begun = self.opportunities.partition_point(|at| Span::from_millis(u64::from(*at)) < rest);
        whole.saturating_mul(self.opportunities()).saturating_add(begun as u64)
    }

    /// Time of opportunity `number`, counted from 0, since the start; saturates.
    fn comes(&self, number: u64) -> Span {
        let (periods, ix) = (number / self.opportunities(), (number % self.opportunities()) as usize);
        Span::from_ticks(self.period().ticks().saturating_mul(periods))
            + Span::from_millis(u64::from(self.opportunities[ix]))
    }
}

/// A link that delivers by a trace: it computes the start and the end of each packet.
#[derive(Clone, Debug)]
pub struct TracedLink {
    trace: Arc<Trace>,
    start: Time,
    /// The opportunity to be used next, or in use.
    number: u64,
    /// The time of this opportunity.
    at: Time,
    /// Bytes left of this opportunity.
    left: u32,
    /// Bytes of all packets that have started.
    taken: u64,
}

impl TracedLink {
    /// Creates a link whose trace starts at `start`.
    pub fn new(trace: Arc<Trace>, start: Time) -> TracedLink {
        let at = start + trace.comes(0);
        TracedLink { trace, start, number: 0, at, left: Trace::BYTES, taken: 0 }
    }

    /// The trace of the link.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns when a packet that is there at `now` may start: at `now` while an opportunity of
    /// that instant has bytes left, otherwise at the next one; [`Time::NEVER`] at the end of time.
    /// `now` never goes back from call to call.
    pub fn opens(&mut self, now: Time) -> Time {
        if self.at < now {
            self.take(self.trace.opportunities_within(now.since(self.start)));
        } else if self.left == 0 {
            self.take(self.number + 1);
        }
        self.at
    }

    /// Starts a packet of `len` bytes, at `now` or when the link [`opens`](Self::opens). Returns
    /// when its last byte is through.
    pub fn departure(&mut self, now: Time, len: u32) -> Time {
        self.opens(now);
        self.taken += u64::from(len);
        match self.left.checked_sub(len) {
            Some(left) => self.left = left,
            None => {
                let rest = len - self.left;
                let more = rest.div_ceil(Trace::BYTES);
                self.take(self.number + u64::from(more));
                self.left = (u64::from(more) * u64::from(Trace::BYTES) - u64::from(rest)) as u32;
            }
        }
        self.at
    }

    /// Bytes of the opportunities from `from` on and before `until`; none comes before the trace's
    /// start.
    pub fn offered(&self, from: Time, until: Time) -> u64 {
        let before = |at: Time| self.trace.opportunities_within(at.since(self.start));
        before(until).saturating_sub(before(from)).saturating_mul(u64::from(Trace::BYTES))
    }

    /// Bytes of the opportunities before `until` that packets have used, at most those
    /// [`offered`](Self::offered). `until` is not before the start of the latest packet.
    pub fn used(&self, until: Time) -> u64 {
        let first = self.trace.opportunities_within(until.since(self.start));
        // The latest packet takes part in every opportunity from `until` on up to the one that is
        // being used.
        let later = self
            .number
            .checked_sub(first)
            .map_or(0, |between| between * u64::from(Trace::BYTES) + u64::from(Trace::BYTES - self.left));
        self.taken.saturating_sub(later)
    }

    fn take(&mut self, number: u64) {
        self.number = number;
        self.at = self.start + self.trace.comes(number);
        self.left = Trace::BYTES;
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
