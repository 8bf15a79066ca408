//! Results of a run, as the tables that [`tidegate_formats::columns`] declares: one file for each
//! table, and `table`, which makes columns of its rows.

mod aal5;
mod credit;
mod drops;
mod flows;
mod gate;
mod groups;
mod histogram;
mod links;
mod non_responsive;
mod series;
mod signals;
mod table;
mod usage;
mod workahead;

pub use table::{Table, Values};

use crate::network::Network;
use crate::world::{Answer, World};
use hdrhistogram::Histogram;
use std::collections::BTreeSet;
use table::Rows;
use tidegate_core::stats::Moments;
use tidegate_core::units::{Span, TICKS_PER_SECOND};
use tidegate_formats::columns::Row;

/// Returns the tables of one replication so far, in the order of
/// [`TABLES`](tidegate_formats::columns::TABLES).
pub fn tables<Q>(network: &Network, world: &World<Q>, replication: u64, seed: u64) -> Vec<Table> {
    let run = Run { network, world, replication, seed };
    vec![
        flows::table(&run),
        groups::table(&run),
        links::table(&run),
        drops::table(&run),
        usage::table(&run),
        non_responsive::table(&run),
        aal5::table(&run),
        credit::links(&run),
        credit::vcs(&run),
        credit::stalls(&run),
        series::table(&run),
        signals::table(&run),
        gate::table(&run),
        workahead::table(&run),
        histogram::table(&run),
    ]
}

/// One replication.
struct Run<'r, Q> {
    network: &'r Network,
    world: &'r World<Q>,
    replication: u64,
    seed: u64,
}

impl<Q> Run<'_, Q> {
    /// Returns the table of the rows `R` without one.
    fn rows<R: Row>(&self) -> Rows<R> {
        Rows::new(self.replication, self.seed)
    }

    /// Returns the bits of `bytes` per second of measured time; nothing before the end of the
    /// warm-up.
    fn throughput(&self, bytes: u64) -> Option<f64> {
        let measured = self.world.measured();
        (measured > Span::ZERO).then(|| bytes as f64 * 8.0 / measured.as_secs_f64())
    }

    /// Returns the name of a flow; empty for none.
    fn flow_name(&self, flow: Option<u32>) -> &str {
        flow.map_or("", |flow| &self.network.flows[flow as usize].name)
    }

    /// Returns the flows that were refused at set-up.
    fn refused(&self) -> BTreeSet<u32> {
        let signals = self.world.signals().iter();
        let refused = signals.filter(|signal| matches!(signal.answer, Answer::Refused(..)));
        refused.map(|signal| signal.flow).collect()
    }
}

/// Returns a count as a number, where there is one.
fn count(counted: Option<u64>) -> Option<f64> {
    counted.map(|count| count as f64)
}

/// Returns the mean in seconds.
fn mean(moments: &Moments) -> Option<f64> {
    // Uses the exact sum: the mean to the nearest tick would lose digits of short delays.
    let ticks = moments.sum_ticks() as f64 / moments.count() as f64;
    (moments.count() > 0).then(|| ticks / TICKS_PER_SECOND as f64)
}

/// Returns the maximum in seconds.
fn greatest(moments: &Moments) -> Option<f64> {
    moments.max().map(Span::as_secs_f64)
}

/// Returns the quantile `q` in seconds of the delays in `histogram`, in nanoseconds, which are also
/// in `moments`; nothing where no histogram was kept.
fn quantile(histogram: Option<&Histogram<u64>>, q: f64, moments: &Moments) -> Option<f64> {
    let at = histogram.and_then(|histogram| crate::record::quantile(histogram, q));
    // A bin's upper end is above its values: no quantile exceeds the maximum.
    let most = moments.max().map_or(0.0, Span::as_secs_f64);
    at.map(|at| at.min(most))
}
