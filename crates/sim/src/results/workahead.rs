//! The table `workahead`.

use super::run::Run;
use super::table::Table;
use tidegate_formats::columns::WorkaheadRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<WorkaheadRow<'_>>();
    let Some(workaheads) = run.world.workaheads() else { return rows.finish() };
    for (ix, flow) in run.network.flows.iter().enumerate() {
        for seen in workaheads.of(ix) {
            let link = seen.place.checked_sub(1).map(|link| &run.network.links[flow.route[link]]);
            rows.row(WorkaheadRow {
                flow: &flow.name,
                group: &run.network.groups[flow.group],
                link: link.map_or("", |link| &link.name),
                hop: seen.depth.into(),
                factor: seen.factor,
                rate: seen.rate,
                workahead: seen.workahead,
                increase: seen.increase,
                increase_from_source: seen.increase_from_source,
            });
        }
    }
    rows.finish()
}
