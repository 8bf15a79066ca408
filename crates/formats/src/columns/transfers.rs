//! The table of finite transfers.

use super::shared::GROUP;
use super::table::table;

table! {
    /// Finite transfers of connections with `data = { kind = "transfers" }` that began in the
    /// measured time, one row for each. Those that had not ended at the end of the run have no end.
    pub struct TransfersRow = "transfers" {
        /// Name of the connection
        connection: str,
        group: str = GROUP,
        /// Number of the transfer on its connection, from 0, those before the measured time
        /// included
        number: u64,
        /// Bytes of data
        size: u64 as "B",
        /// When the application handed it over, from the start of the run
        start: f64 as "s",
        /// When its first byte was sent for the first time, from the start of the run; null before
        first_byte: Option<f64> as "s",
        /// When its last byte was acknowledged, from the start of the run; null before
        end: Option<f64> as "s",
        /// Completion time: from start to end
        completion: Option<f64> as "s",
        /// Completion time over that on the empty network: of the same packets sent at once on the
        /// links of the route, and the acknowledgement of the last; null before its end, on a route
        /// with a `trace` or a gate, and for transports without acknowledgements
        slowdown: Option<f64>,
        /// Bytes of it that were sent again, each time that they were
        sent_again: u64 as "B",
    }
}
