//! End-to-end measurements of a flow.

use crate::bins::Bins;
use hdrhistogram::Histogram;
use tidegate_core::stats::{Moments, wrapping_count_packet};
use tidegate_core::units::{Span, TICKS_PER_SECOND};

/// Measurements of one flow, over the measured time.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct FlowRecord {
    /// Packets and bytes that left the source (its envelope, if it has one).
    pub sent: (u64, u64),
    /// Packets and bytes that arrived at the destination.
    pub received: (u64, u64),
    /// Packets that arrived at the destination with a congestion mark (CE, EFCI).
    pub marked: u64,
    /// Packets dropped on the route.
    pub dropped: u64,
    /// Packets that the envelope discarded at the source.
    pub discarded: u64,
    /// Packets that stages on the way took for themselves.
    pub absorbed: u64,
    /// Time from leaving the source, of a retransmission from the first transmission, to last bit
    /// in at the destination.
    pub delay: Moments,
    /// Time from last bit in to first bit out, summed over hops.
    pub queueing: Moments,
}

impl FlowRecord {
    #[inline]
    pub(crate) fn count_sent(&mut self, len: u32) {
        wrapping_count_packet(&mut self.sent.0, &mut self.sent.1, len);
    }

    /// Adds the measurements of `other`, as if both were one flow.
    pub(crate) fn merge(&mut self, other: &FlowRecord) {
        let pairs = [(&mut self.sent, other.sent), (&mut self.received, other.received)];
        for (sum, (packets, bytes)) in pairs {
            *sum = (sum.0 + packets, sum.1 + bytes);
        }
        self.marked += other.marked;
        self.dropped += other.dropped;
        self.discarded += other.discarded;
        self.absorbed += other.absorbed;
        self.delay.merge(&other.delay);
        self.queueing.merge(&other.queueing);
    }
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

/// Delays as they are recorded. The histograms are built from them for tables: recording a value in
/// a histogram takes five times as long.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct DelayCounts {
    delay: Bins,
    queueing: Bins,
}

impl DelayCounts {
    #[inline]
    pub(crate) fn add(&mut self, delay: Span, queueing: Span) {
        self.delay.add(delay.ticks() / TICKS);
        self.queueing.add(queueing.ticks() / TICKS);
    }

    pub(crate) fn delays(&self) -> Delays {
        Delays { delay: self.delay.histogram(), queueing: self.queueing.histogram() }
    }
}

/// Differences of the delays of successive packets, in the order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variation {
    /// The latest delay in ticks, and one more; zero before the first.
    latest: u64,
    /// The interarrival jitter of RFC 3550, section 6.4.1, in ticks.
    jitter: f64,
}

impl Variation {
    /// Adds a delay: J += (|D| - J) / 16, where D is its difference from the one before.
    #[inline]
    pub(crate) fn add(&mut self, delay: Span) {
        let latest = core::mem::replace(&mut self.latest, delay.ticks() + 1);
        if latest > 0 {
            let difference = self.latest.abs_diff(latest) as f64;
            self.jitter += (difference - self.jitter) / 16.0;
        }
    }

    /// The jitter in seconds; `None` before the first packet.
    pub(crate) fn jitter(self) -> Option<f64> {
        (self.latest > 0).then(|| self.jitter / TICKS_PER_SECOND as f64)
    }
}

/// Returns the quantile `q` of a histogram in seconds; `None` if it is empty.
pub fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_take_whole_cache_lines() {
        assert_eq!([size_of::<FlowRecord>(), size_of::<DelayCounts>()], [192, 64]);
    }
}
