//! End-to-end measurements of a flow.

use hdrhistogram::Histogram;
use tidegate_core::stats::{Moments, tally, tally_packet};
use tidegate_core::units::Span;

/// One flow, over the measured time.
#[derive(Clone, Copy, Debug, Default)]
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
    /// Packets that relays on the way took for themselves.
    pub absorbed: u64,
    /// From leaving the source, of a retransmission from the first transmission, to last bit in at the destination.
    pub delay: Moments,
    /// From last bit in to first bit out, summed over hops.
    pub queueing: Moments,
}

impl FlowRecord {
    #[inline]
    pub(crate) fn count_sent(&mut self, len: u32) {
        tally_packet(&mut self.sent.0, &mut self.sent.1, len);
    }

    /// Adds all that `other` has, as if both were one flow.
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

/// Delays as they come in. The histograms are made of them for tables: recording a value in
/// those takes five times as long.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayCounts {
    delay: Counts,
    queueing: Counts,
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

/// How often values came that a histogram of three digits does not tell apart: each value
/// below 2048, and 1024 steps from one power of two to the next above.
#[derive(Clone, Debug, Default)]
struct Counts(Vec<u64>);

impl Counts {
    /// From one power of two to the next.
    const STEPS: u32 = 1 << 10;

    #[inline]
    fn add(&mut self, value: u64) {
        // `STEPS` to 2 · `STEPS` − 1, once shifted; below that nothing is.
        let shift = (value | u64::from(Self::STEPS)).ilog2() - Self::STEPS.ilog2();
        let place = (shift * Self::STEPS) as usize + (value >> shift) as usize;
        match self.0.get_mut(place) {
            Some(count) => tally(count, 1),
            None => self.extend(place),
        }
    }

    /// Counts the first value of a new power of two.
    #[cold]
    fn extend(&mut self, place: usize) {
        self.0.resize((place + 1).next_multiple_of(Self::STEPS as usize), 0);
        self.0[place] = 1;
    }

    fn histogram(&self) -> Histogram<u64> {
        // Three significant digits are within the library's range of 0 to 5: this cannot fail.
        let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        for (place, count) in (0..).zip(&self.0).filter(|(_, count)| **count > 0) {
            let shift = (place / Self::STEPS).saturating_sub(1);
            let value = u64::from(place - shift * Self::STEPS) << shift;
            // A histogram grows by itself and so records every value.
            let _ = histogram.record_n(value, *count);
        }
        histogram
    }
}

/// The quantile `q` of a histogram in seconds; `None` of nothing.
pub fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_make_the_histogram_that_records_the_values(
            values in prop::collection::vec((0u64..=u64::MAX / 2, 0u32..63), 1..200),
        ) {
            let mut counts = Counts::default();
            let mut recorded: Histogram<u64> = Histogram::new(3).unwrap();
            for (value, shift) in values {
                counts.add(value >> shift);
                recorded.record(value >> shift).unwrap();
            }
            let made = counts.histogram();
            let bins = |histogram: &Histogram<u64>| -> Vec<_> {
                histogram.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect()
            };
            prop_assert_eq!(bins(&made), bins(&recorded));
            for q in [0.001, 0.5, 0.99, 1.0] {
                prop_assert_eq!(made.value_at_quantile(q), recorded.value_at_quantile(q));
            }
        }
    }
}
