//! The table of signalling outcomes.

use super::shared::{FLOW, GROUP};
use super::table::table;

table! {
    /// Outcomes of requests, one row for each answer that a source received; empty without
    /// `admission`.
    pub struct SignalsRow = "signals" {
        /// When the source received it, from the start of the run
        time: f64 as "s",
        flow: str = FLOW,
        group: str = GROUP,
        /// `granted`, `refused`, `changed`, `change refused`, `change missed` (the flow was not set
        /// up then, or another change was under way), `torn down` (by the source), `hung up` (by
        /// the destination)
        answer: str,
        /// Link that refused, as s1->s2; empty otherwise
        link: str,
        /// Reason of the refusal, with the capacity left; empty otherwise
        reason: str,
    }
}
