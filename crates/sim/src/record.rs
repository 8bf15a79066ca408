//! What is measured of a flow from end to end.

use hdrhistogram::Histogram;
use tidegate_core::stats::Moments;
use tidegate_core::units::Span;

/// One flow, over the measured time.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRecord {
    /// Packets and bytes that left the source (its envelope, if it has one).
    pub sent: (u64, u64),
    /// Packets and bytes that arrived at the destination.
    pub received: (u64, u64),
    /// Packets dropped on the way.
    pub dropped: u64,
    /// Packets that the envelope discarded at the source.
    pub discarded: u64,
    /// From leaving the source to last bit in at the destination.
    pub delay: Moments,
    /// From last bit in to first bit out, summed over hops.
    pub queueing: Moments,
}

/// Delays of a flow or a group, by size: within 0.1 % of the true value, from 1 ns to 2⁶³ ns.
#[derive(Clone, Debug)]
pub struct Delays {
    /// End to end, in ns.
    pub delay: Histogram<u64>,
    /// Queueing, in ns.
    pub queueing: Histogram<u64>,
}

/// Ticks in a nanosecond.
const TICKS: u64 = 100;

impl Delays {
    pub(crate) fn new() -> Delays {
        // Three significant digits are within the library's range of 0 to 5: this cannot fail.
        let empty = || Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        Delays { delay: empty(), queueing: empty() }
    }

    #[inline]
    pub(crate) fn add(&mut self, delay: Span, queueing: Span) {
        // Histograms grow by themselves and so record every value.
        let _ = self.delay.record(delay.ticks() / TICKS);
        let _ = self.queueing.record(queueing.ticks() / TICKS);
    }
}

/// The quantile `q` of a histogram in seconds; `None` of nothing.
pub fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 * 1e-9)
}
