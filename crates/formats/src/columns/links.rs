//! The table of link directions.

use super::shared::{FROM, LINK, TO};
use super::table::table;

table! {
    /// One row for each direction of a link and replication.
    pub struct LinksRow = "links" {
        link: str = LINK,
        from: str = FROM,
        to: str = TO,
        /// Rate of the link; with a trace, its mean
        rate: u64 as "bit/s",
        /// Packets sent, each copy of a multicast packet that passes, and the link's own cells
        packets: u64 as "packets",
        /// Bytes sent
        bytes: u64 as "B",
        /// Packets dropped at the port, or at the link's end for want of a place
        dropped_packets: u64 as "packets",
        /// Congestion marks set by the port
        marked_packets: u64 as "packets",
        /// Packets that were sent, and lost on the link
        lost_packets: u64 as "packets",
        /// Share of the measured time in which the link was sending, 0 to 1; with a trace, the
        /// share of its capacity that was used
        utilisation: Option<f64>,
        /// Green bytes that reached the port's queue as a share of its capacity, above 1 when they
        /// exceed it; null where packets pass no meter that colours
        in_traffic: Option<f64>,
        /// Its maximum over whole seconds; null when less than a second was measured
        in_traffic_max: Option<f64>,
        /// Queue length as a time average, the packet in service included
        queue_mean: Option<f64> as "packets",
        /// Longest queue, the packet in service included
        queue_max: u64 as "packets",
        /// Mean queue length seen by an arriving packet: with the packet in service, without itself
        queue_seen_mean: Option<f64> as "packets",
        /// Standard deviation of the queue length that arriving packets see
        queue_seen_sd: Option<f64> as "packets",
        /// 99 % quantile of the queue length that arriving packets see
        queue_seen_p99: Option<f64> as "packets",
        /// Mean time from last bit in to first bit out
        wait_mean: Option<f64> as "s",
    }
}
