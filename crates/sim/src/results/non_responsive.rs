//! The table `non_responsive`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Number, Text};
use tidegate_core::units::Time;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("non_responsive");
    let seconds = |at: Time| at.since(Time::ORIGIN).as_secs_f64();
    for found in run.world.non_responsive() {
        let flow = &run.network.flows[found.flow as usize];
        rows.row([
            ("link", Text(&run.network.links[found.link as usize].name)),
            ("flow", Text(&flow.name)),
            ("group", Text(&run.network.groups[flow.group])),
            ("named", Number(Some(seconds(found.named)))),
            ("released", Number(found.released.map(seconds))),
        ]);
    }
    rows.finish()
}
