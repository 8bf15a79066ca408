//! What was seen of one rule's packets, besides the switch's own counters.

use hdrhistogram::Histogram;
use tidegate_core::context::Reason;
use tidegate_core::units::Span;

/// The longest delay that is told apart, in microseconds.
const LONGEST: u64 = 100_000_000;
/// Delays are told apart to one part in 16: there is a histogram for every rule.
const DIGITS: u8 = 1;

/// What was seen of one rule's packets.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// From a packet's arrival to its first bit, in microseconds.
    pub(crate) delays: Histogram<u64>,
    /// Their sum.
    pub(crate) delay: Span,
    /// Packets that were dropped, by reason.
    pub(crate) dropped: [u64; Reason::ALL.len()],
    /// Packets that were marked instead of being dropped.
    pub(crate) marked: u64,
    /// Times that a flow was found too far ahead of what it reserves.
    pub(crate) warned: u64,
}

impl Seen {
    /// Of a rule that has had no packet.
    pub(crate) fn nothing() -> Seen {
        Seen {
            delays: Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("these bounds are in order"),
            delay: Span::ZERO,
            dropped: [0; Reason::ALL.len()],
            marked: 0,
            warned: 0,
        }
    }

    /// A packet's first bit has left, so long after the packet came.
    pub(crate) fn delayed(&mut self, delay: Span) {
        self.delays.saturating_record(delay.ticks() / MICROSECOND);
        self.delay += delay;
    }

    /// Delay in seconds: median, 99 % quantile, most.
    pub(crate) fn delay_quantiles(&self) -> [f64; 3] {
        let seconds = |microseconds: u64| microseconds as f64 / 1e6;
        [
            seconds(self.delays.value_at_quantile(0.5)),
            seconds(self.delays.value_at_quantile(0.99)),
            seconds(self.delays.max()),
        ]
    }
}

/// Ticks of 10 ps in a microsecond.
const MICROSECOND: u64 = 100_000;
