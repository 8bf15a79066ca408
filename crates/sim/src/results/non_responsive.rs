//! The table `non_responsive`.

use super::run::Run;
use super::table::Table;
use tidegate_core::units::Time;
use tidegate_formats::columns::NonResponsiveRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<NonResponsiveRow<'_>>();
    let seconds = |at: Time| at.since(Time::ORIGIN).as_secs_f64();
    for found in run.world.non_responsive() {
        let flow = &run.network.flows[found.flow as usize];
        rows.row(NonResponsiveRow {
            link: &run.network.links[found.link as usize].name,
            flow: &flow.name,
            group: &run.network.groups[flow.group],
            named: seconds(found.named),
            released: found.released.map(seconds),
        });
    }
    rows.finish()
}
