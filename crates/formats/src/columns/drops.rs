//! The table of drops and marks, by reason.

use super::shared::LINK;
use super::table::table;

table! {
    /// Drops and marks of ports, one row for each direction of a link and each reason that
    /// occurred.
    pub struct DropsRow = "drops" {
        link: str = LINK,
        /// `queue-limit` (the queue was full), `early-drop` (the dropper chose the packet before
        /// the queue was full), `forced-drop` (the average queue was too long), `sojourn-time` (the
        /// packet was queued for too long), `meter` (out of its profile), `pushed-out` (the shared
        /// buffer was full), `shaper` (its flow's shaper queue was full), `no-flow` (its flow was
        /// not open at the port), `non-responsive` (its flow was named, and it was outside the
        /// flow's profile)
        reason: str,
        /// Packets dropped for this reason
        dropped_packets: u64 as "packets",
        /// Congestion marks set for this reason instead
        marked_packets: u64 as "packets",
    }
}
