//! The table of what detectors found.

use super::shared::{FLOW, GROUP, LINK};
use super::table::table;

table! {
    /// Flows that detectors found not to respond to congestion, one row each time that a flow was
    /// named, from the start of the run; empty without a `detector`.
    pub struct NonResponsiveRow = "non_responsive" {
        link: str = LINK,
        flow: str = FLOW,
        group: str = GROUP,
        /// When it was named, from the start of the run
        named: f64 as "s",
        /// When it was released; empty while it is named, or when it ended before
        released: Option<f64> as "s",
    }
}
