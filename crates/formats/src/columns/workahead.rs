//! The table of the flows' maximum workahead.

use super::shared::{FLOW, GROUP};
use super::table::table;

table! {
    /// Exact maximum workahead W of each flow with a reservation: the longest backlog at an ideal
    /// server of its rate, at its source and behind each link of its route, one row for each factor
    /// on the rate; empty unless asked for.
    pub struct WorkaheadRow = "workahead" {
        flow: str = FLOW,
        group: str = GROUP,
        /// Last link that its packets have passed, as s1->s2; empty at the source
        link: str,
        /// Links between the source and here; 0 is the source, behind the flow's envelope
        hop: u64,
        /// Factor on the flow's reserved rate
        factor: f64,
        /// Rate of the ideal server: the reserved rate times the factor
        rate: f64 as "bit/s",
        /// W, rounded up; a packet counts whole when its last bit is in
        workahead: u64 as "B",
        /// Burstiness increase (W_out - W_in) / W_in over the server in front of the link
        increase: Option<f64>,
        /// Burstiness increase from the source to this place
        increase_from_source: Option<f64>,
    }
}
