//! The table `histogram`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Number, Text, Whole};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("histogram");
    for (ix, group) in run.network.groups.iter().enumerate() {
        let Some(delays) = run.world.group_delays(ix) else { continue };
        for (metric, histogram) in [("delay", &delays.delay), ("queueing", &delays.queueing)] {
            for bin in histogram.iter_recorded() {
                let lower = histogram.lowest_equivalent(bin.value_iterated_to());
                let upper = histogram.next_non_equivalent(bin.value_iterated_to());
                rows.row([
                    ("group", Text(group)),
                    ("metric", Text(metric)),
                    ("lower", Number(Some(lower as f64 * 1e-9))),
                    ("upper", Number(Some(upper as f64 * 1e-9))),
                    ("count", Whole(bin.count_at_value())),
                ]);
            }
        }
    }
    rows.finish()
}
