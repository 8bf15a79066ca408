//! The table of groups of flows.

use super::shared::*;
use super::table::table;

table! {
    /// One row for each group and replication: all packets of its flows together. A quantile is the
    /// upper edge of its histogram bin, and never above the largest delay.
    pub struct GroupsRow = "groups" {
        group: str = GROUP,
        /// Number of its flows
        flows: u64,
        /// Jain's fairness index of the bytes that its flows received: 1 when all received as much,
        /// 1 divided by their number when one received all; null for one flow, and when nothing was
        /// received
        jain: Option<f64>,
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
        checks: u64 = CHECKS,
        warnings: u64 = WARNINGS,
        /// Flows whose set-up was refused
        refused: u64,
        retransmissions: Option<f64> = RETRANSMISSIONS,
        timeouts: Option<f64> = TIMEOUTS,
        throughput: Option<f64> = THROUGHPUT,
        goodput: Option<f64> = GOODPUT,
        delay_mean: Option<f64> = DELAY_MEAN,
        delay_max: Option<f64> = DELAY_MAX,
        delay_p50: Option<f64> = DELAY_P50,
        delay_p99: Option<f64> = DELAY_P99,
        delay_p999: Option<f64> = DELAY_P999,
        queueing_mean: Option<f64> = QUEUEING_MEAN,
        queueing_p99: Option<f64> = QUEUEING_P99,
        /// Finite transfers that started and ended in the measured time; null without any
        transfers: Option<f64>,
        /// Mean time from the start of a transfer until all of it was acknowledged
        transfer_mean: Option<f64> as "s",
        /// 95 % quantile of that time
        transfer_p95: Option<f64> as "s",
        /// 99 % quantile of that time
        transfer_p99: Option<f64> as "s",
    }
}
