//! The table of a gate's flows.

use super::table::table;

table! {
    /// Flows of the gate, one row for each `[[flow]]` of its file and direction; empty without a
    /// gate. Bytes are charged bytes.
    pub struct GateRow = "gate" {
        /// `up` or `down`
        direction: str,
        /// Name of the flow in the gate's file; `(no match)` for packets that match none
        flow: str,
        /// Number of flows at the end: with `each`, those that were opened and not forgotten
        flows: u64,
        /// Packets that arrived at it
        arrived_packets: u64 as "packets",
        /// Bytes that arrived at it
        arrived_bytes: u64 as "B",
        /// Packets whose last bit has left
        sent_packets: u64 as "packets",
        /// Bytes that have left
        sent_bytes: u64 as "B",
        /// Packets dropped
        dropped_packets: u64 as "packets",
    }
}
