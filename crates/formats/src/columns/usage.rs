//! The table of the usage of profiles at meters.

use super::table::table;

table! {
    /// Usage of each profile at each meter that records it, whichever flows used it: a record for
    /// each customer at each boundary. A profile is a flow's own or shared. Empty without such
    /// meters.
    pub struct UsageRow = "usage" {
        /// Name of the link at whose port the meter is, as s1->s2
        link: str,
        /// Class whose meter it is; empty for the port's own
        class: str,
        /// Number of the meter in that class or port, from 1
        nth: u64,
        /// Name of the shared profile; empty for a flow's own
        profile: str,
        /// Name of the flow whose own profile it is; empty for a shared one
        flow: str,
        /// Bytes inside the profile (green)
        inside_bytes: u64 as "B",
        /// Bytes beyond its committed rate or burst, within the excess (yellow)
        yellow_bytes: u64 as "B",
        /// Bytes outside the profile (red)
        outside_bytes: u64 as "B",
        /// Bytes inside that came with a congestion mark; 0 where the meter does not record it
        congested_inside_bytes: u64 as "B",
        /// Yellow and outside bytes that came with a congestion mark
        congested_outside_bytes: u64 as "B",
    }
}
