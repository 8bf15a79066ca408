//! The table of time series.

use super::table::table;

table! {
    /// Time series, one row for each sample; `sample` of the scenario is the spacing.
    pub struct SeriesRow = "series" {
        /// Name of the link's direction or of the group of flows
        subject: str,
        /// End of the interval, from the start of the run
        time: f64 as "s",
        /// Measured quantity: `queue` (packets, at that instant), `utilisation` (share of the
        /// interval in which a link was sending; with a trace, the share of its capacity that was
        /// used), where meters colour `in_traffic` (green packets that reached the port as a share
        /// of its capacity in the interval), `throughput` (bit/s, over the interval), and where
        /// there are monitors `lead` (s, the most that a flow's VirtualClock was ahead of real time
        /// at that instant) and `warnings` (over the interval); of a port's dropper the gauges of
        /// its chapter, such as `average_queue` (packets or bytes), `drop_probability` and
        /// `queue_delay` (s) at that instant; of links with credit `pool` (packets at the receiver)
        /// and of their VCs `vc_queue` (of these, the VC's), `buf_alloc` and `credit_balance`
        /// (packets), of which the subject is the flow on the link, as `a on s1->s2`; of links
        /// behind a port with a pool of its own `output_pool` (packets in it)
        metric: str,
        /// Its value, in the unit of the metric
        value: Option<f64>,
    }
}
