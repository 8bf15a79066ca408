//! The table `histogram`.

use super::run::Run;
use super::table::Table;
use tidegate_formats::columns::HistogramRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<HistogramRow<'_>>();
    for (ix, group) in run.network.groups.iter().enumerate() {
        let Some(delays) = run.world.group_delays(ix) else { continue };
        for (metric, histogram) in [("delay", &delays.delay), ("queueing", &delays.queueing)] {
            for bin in histogram.iter_recorded() {
                let lower = histogram.lowest_equivalent(bin.value_iterated_to());
                let upper = histogram.next_non_equivalent(bin.value_iterated_to());
                rows.row(HistogramRow {
                    group,
                    metric,
                    lower: lower as f64 * 1e-9,
                    upper: upper as f64 * 1e-9,
                    count: bin.count_at_value(),
                });
            }
        }
    }
    rows.finish()
}
