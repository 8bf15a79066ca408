//! The table `workahead`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Number, Text, Whole};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("workahead");
    let Some(workaheads) = run.world.workaheads() else { return rows.finish() };
    for (ix, flow) in run.network.flows.iter().enumerate() {
        for seen in workaheads.of(ix) {
            let link = seen.place.checked_sub(1).map(|link| &run.network.links[flow.route[link]]);
            rows.row([
                ("flow", Text(&flow.name)),
                ("group", Text(&run.network.groups[flow.group])),
                ("link", Text(link.map_or("", |link| &link.name))),
                ("hop", Whole(seen.depth.into())),
                ("factor", Number(Some(seen.factor))),
                ("rate", Number(Some(seen.rate))),
                ("workahead", Whole(seen.workahead)),
                ("increase", Number(seen.increase)),
                ("increase_from_source", Number(seen.increase_from_source)),
            ]);
        }
    }
    rows.finish()
}
