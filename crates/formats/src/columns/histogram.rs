//! The table of delays, by bin.

use super::shared::GROUP;
use super::table::table;

table! {
    /// Histogram of delays, one row for each bin that is not empty.
    pub struct HistogramRow = "histogram" {
        group: str = GROUP,
        /// Measured quantity: `delay` or `queueing`
        metric: str,
        /// Lower edge of the bin, included
        lower: f64 as "s",
        /// Upper edge of the bin, not included
        upper: f64 as "s",
        /// Packets in the bin
        count: u64 as "packets",
    }
}
