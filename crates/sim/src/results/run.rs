//! The replication of which tables are made, and numbers that several of them have.

use super::table::Rows;
use crate::network::Network;
use crate::world::{Answer, World};
use hdrhistogram::Histogram;
use std::collections::BTreeSet;
use tidegate_core::stats::Moments;
use tidegate_core::units::{Span, TICKS_PER_SECOND};
use tidegate_formats::columns::Row;

/// One replication.
pub(super) struct Run<'r, Q> {
    pub(super) network: &'r Network,
    pub(super) world: &'r World<Q>,
    pub(super) replication: u64,
    pub(super) seed: u64,
}

impl<Q> Run<'_, Q> {
    /// Returns the table of the rows `R` without one.
    pub(super) fn rows<R: Row>(&self) -> Rows<R> {
        Rows::new(self.replication, self.seed)
    }

    /// Returns the bits of `bytes` per second of measured time; nothing before the end of the
    /// warm-up.
    pub(super) fn throughput(&self, bytes: u64) -> Option<f64> {
        let measured = self.world.measured();
        (measured > Span::ZERO).then(|| bytes as f64 * 8.0 / measured.as_secs_f64())
    }

    /// Returns the name of a flow; empty for none.
    pub(super) fn flow_name(&self, flow: Option<u32>) -> &str {
        flow.map_or("", |flow| &self.network.flows[flow as usize].name)
    }

    /// Returns the flows that were refused at set-up.
    pub(super) fn refused(&self) -> BTreeSet<u32> {
        let signals = self.world.signals().iter();
        let refused = signals.filter(|signal| matches!(signal.answer, Answer::Refused(..)));
        refused.map(|signal| signal.flow).collect()
    }
}

/// Returns a count as a number, where there is one.
pub(super) fn count(counted: Option<u64>) -> Option<f64> {
    counted.map(|count| count as f64)
}

/// Returns the mean in seconds.
pub(super) fn mean(moments: &Moments) -> Option<f64> {
    // Uses the exact sum: the mean to the nearest tick would lose digits of short delays.
    let ticks = moments.sum_ticks() as f64 / moments.count() as f64;
    (moments.count() > 0).then(|| ticks / TICKS_PER_SECOND as f64)
}

/// Returns the maximum in seconds.
pub(super) fn greatest(moments: &Moments) -> Option<f64> {
    moments.max().map(Span::as_secs_f64)
}

/// Returns the quantile `q` in seconds of the delays in `histogram`, in nanoseconds, which are also
/// in `moments`; nothing where no histogram was kept.
pub(super) fn quantile(histogram: Option<&Histogram<u64>>, q: f64, moments: &Moments) -> Option<f64> {
    let at = histogram.and_then(|histogram| crate::record::quantile(histogram, q));
    // A bin's upper end is above its values: no quantile exceeds the maximum.
    let most = moments.max().map_or(0.0, Span::as_secs_f64);
    at.map(|at| at.min(most))
}
