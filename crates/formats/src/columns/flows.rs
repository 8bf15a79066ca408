//! The table of flows.

use super::shared::*;
use super::table::table;

table! {
    /// One row for each flow and replication. Delays are end to end: from when the packet leaves
    /// its source (for a retransmission: from when its data were first sent) until its last bit
    /// reaches the destination. Queueing delays are from last bit in to first bit out, summed over
    /// hops.
    pub struct FlowsRow = "flows" {
        flow: str = FLOW,
        group: str = GROUP,
        from: str = FROM,
        to: str = TO,
        /// Links on its route
        hops: u64,
        /// When it starts, from the start of the run, as stated or as drawn from the seed; after
        /// its end for a flow that does not
        start: f64 as "s",
        /// When it stops, as stated or as drawn; null for the end of the run
        stop: Option<f64> as "s",
        sent_packets: u64 = SENT_PACKETS,
        sent_bytes: u64 = SENT_BYTES,
        received_packets: u64 = RECEIVED_PACKETS,
        received_bytes: u64 = RECEIVED_BYTES,
        marked_packets: u64 = MARKED_PACKETS,
        dropped_packets: u64 = DROPPED_PACKETS,
        lost_packets: u64 = LOST_PACKETS,
        due_copies: u64 = DUE_COPIES,
        missed_copies: u64 = MISSED_COPIES,
        absorbed_packets: u64 = ABSORBED_PACKETS,
        discarded_packets: u64 = DISCARDED_PACKETS,
        /// Mean time that packets waited in the envelope before they were sent
        envelope_mean: Option<f64> as "s",
        checks: u64 = CHECKS,
        warnings: u64 = WARNINGS,
        /// 1 for a flow whose set-up was refused, else 0
        refused: u64,
        retransmissions: Option<f64> = RETRANSMISSIONS,
        timeouts: Option<f64> = TIMEOUTS,
        throughput: Option<f64> = THROUGHPUT,
        goodput: Option<f64> = GOODPUT,
        delay_mean: Option<f64> = DELAY_MEAN,
        /// Standard deviation of the end-to-end delay
        delay_sd: Option<f64> as "s",
        delay_max: Option<f64> = DELAY_MAX,
        delay_p50: Option<f64> = DELAY_P50,
        delay_p99: Option<f64> = DELAY_P99,
        delay_p999: Option<f64> = DELAY_P999,
        /// Interarrival jitter at the end (RFC 3550, section 6.4.1): the running mean of the
        /// difference of two successive delays, each new one a sixteenth of it
        jitter: Option<f64> as "s",
        /// 99 % quantile of the packet delay variation (RFC 5481): of the delay beyond the flow's
        /// least
        delay_variation_p99: Option<f64> as "s",
        /// 99.9 % quantile of the packet delay variation
        delay_variation_p999: Option<f64> as "s",
        /// Mean of the round trips that the sender has measured; null for a flow without a transport
        /// that does
        rtt_mean: Option<f64> as "s",
        queueing_mean: Option<f64> = QUEUEING_MEAN,
        /// Standard deviation of the queueing delay
        queueing_sd: Option<f64> as "s",
        queueing_p99: Option<f64> = QUEUEING_P99,
        /// Largest queueing delay
        queueing_max: Option<f64> as "s",
    }
}
