//! Statistics of one rule's packets, besides the switch's own counters.

use super::Envelope;
use hdrhistogram::Histogram;
use tidegate_core::context::Reason;
use tidegate_core::switch::FlowCounters;
use tidegate_core::units::{Span, Time};

/// The name of the flow of packets that match no flow of the file.
pub(crate) const NO_MATCH: &str = "(no match)";
/// Upper bound of the delay histogram, in microseconds.
const MAX_DELAY: u64 = 100_000_000;
/// Significant digits of a delay, about one part in 16: there is a histogram for every rule.
const DIGITS: u8 = 1;
/// Ticks of 10 ps in a microsecond.
const TICKS_PER_MICROSECOND: u64 = 100_000;

/// Statistics of one rule's packets in one direction.
#[derive(Clone, Debug)]
pub(crate) struct FlowStatistics {
    /// Arrived, sent and dropped packets: running sums over the rule's flows, so that no report
    /// adds them up.
    pub(crate) counters: FlowCounters,
    /// Time from a packet's arrival to its first bit out, in microseconds.
    pub(crate) delays: Histogram<u64>,
    /// The sum of the delays.
    pub(crate) delay_sum: Span,
    /// The largest delay.
    pub(crate) largest_delay: Span,
    /// The envelope of a rule with one flow that states one.
    pub(crate) envelope: Option<Envelope>,
    /// Packets that the switch dropped, by reason.
    pub(crate) dropped: [u64; Reason::ALL.len()],
    /// Packets that were marked instead of being dropped.
    pub(crate) marked: u64,
    /// Number of times that the flow monitor warned a flow because its lead was above the
    /// threshold.
    pub(crate) warned: u64,
    /// Number of times that a detector named a flow because it does not respond to congestion.
    pub(crate) named: u64,
    /// Number of times that a named flow was released because it backed off.
    pub(crate) released: u64,
}

impl FlowStatistics {
    /// The statistics of no packets.
    pub(crate) fn new() -> FlowStatistics {
        FlowStatistics {
            counters: FlowCounters::default(),
            delays: Histogram::new_with_bounds(1, MAX_DELAY, DIGITS).expect("these bounds are in order"),
            delay_sum: Span::ZERO,
            largest_delay: Span::ZERO,
            envelope: None,
            dropped: [0; Reason::ALL.len()],
            marked: 0,
            warned: 0,
            named: 0,
            released: 0,
        }
    }

    /// Notes that a packet of `len` bytes on the wire arrives.
    pub(crate) fn arrive(&mut self, now: Time, len: u32) {
        self.counters.arrived.add(len);
        if let Some(envelope) = &mut self.envelope {
            envelope.see(now, len);
        }
    }

    /// Records the delay of a packet whose first bit is out.
    pub(crate) fn record_delay(&mut self, delay: Span) {
        self.delays.saturating_record(delay.ticks() / TICKS_PER_MICROSECOND);
        self.delay_sum += delay;
        self.largest_delay = self.largest_delay.max(delay);
    }

    /// Delay in seconds: median, 99 % quantile, maximum.
    pub(crate) fn delay_quantiles(&self) -> [f64; 3] {
        let seconds = |microseconds: u64| microseconds as f64 / 1e6;
        [
            seconds(self.delays.value_at_quantile(0.5)),
            seconds(self.delays.value_at_quantile(0.99)),
            seconds(self.delays.max()),
        ]
    }
}
