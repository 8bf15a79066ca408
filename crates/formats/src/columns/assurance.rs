//! The table of the probability of assurance.

use super::table::table;

table! {
    /// Probability of assurance: the share of the averaging windows in which the packets of a
    /// profile that arrived in a scope had at least the target rate, one row for each profile and
    /// scope. A profile is a flow's own or shared. Windows begin with the measured time; those that
    /// lie within the lives of the flows count. Empty unless the scenario has `assurance`.
    pub struct AssuranceRow = "assurance" {
        /// Name of the shared profile; empty for a flow's own
        profile: str,
        /// Name of the flow whose own profile it is; empty for a shared one
        flow: str,
        /// Scope: destination, set or anywhere
        scope: str,
        /// Node that receives, or name of the set; empty for anywhere
        to: str,
        /// Target rate: the reservation, or the shares in it of the flows in the scope
        target: u64 as "bit/s",
        /// Averaging window
        averaging_window: f64 as "s",
        /// Whole windows
        windows: u64,
        /// Windows in which the target was attained
        attained: u64,
        /// Share of the windows in which the target was attained; null without whole windows
        probability: Option<f64>,
    }
}
