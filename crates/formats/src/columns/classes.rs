//! The table of classes.

use super::shared::LINK;
use super::table::table;

table! {
    /// Classes of ports, one row for each direction of a link and each class, classes in it
    /// included. Empty without classes; the flows of a gate have the table `gate`.
    pub struct ClassesRow = "classes" {
        link: str = LINK,
        /// Name of the class
        class: str,
        /// Packets of its flows that were sent
        packets: u64 as "packets",
        /// Bytes of them
        bytes: u64 as "B",
        /// Packets of its flows that were dropped at the port
        dropped_packets: u64 as "packets",
        /// Bytes of them
        dropped_bytes: u64 as "B",
        /// Packets of its flows that were marked at the port
        marked_packets: u64 as "packets",
        /// Bits sent per second of the measured time
        throughput: Option<f64> as "bit/s",
        /// Its throughput as a share of the link's rate
        utilisation: Option<f64>,
        /// Its throughput beyond its reservation, which others have left; null without a
        /// reservation
        borrowed: Option<f64> as "bit/s",
    }
}
