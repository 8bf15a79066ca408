//! The table of flows that are sent as ATM cells.

use super::shared::FLOW;
use super::table::table;

table! {
    /// Flows with `adaptation = "aal5"`, of which all other tables have the cells: their packets,
    /// one row for each flow and replication.
    pub struct Aal5Row = "aal5" {
        flow: str = FLOW,
        /// Packets that the source has cut into cells
        sent_packets: u64 as "packets",
        /// Their bytes, without what AAL5 adds
        sent_bytes: u64 as "B",
        /// Packets that were put together at the destination
        received_packets: u64 as "packets",
        /// Their bytes, without what AAL5 adds
        received_bytes: u64 as "B",
        /// Cells that reached the destination and were discarded there, since another cell of their
        /// packet did not
        discarded_cells: u64 as "packets",
        /// Bits of the packets that were put together over the measured time
        throughput: Option<f64> as "bit/s",
    }
}
