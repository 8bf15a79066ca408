//! The table `series`.

use super::Run;
use super::table::{Cell, Table};
use crate::probe::Subject;
use Cell::{Number, Text};
use std::borrow::Cow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("series");
    let Some(series) = run.world.series() else { return rows.finish() };
    let spacing = series.spacing().as_secs_f64();
    for column in series.columns() {
        let subject = match column.subject {
            Subject::Link(ix) => Cow::from(&run.network.links[ix as usize].name),
            Subject::Group(ix) => Cow::from(&run.network.groups[ix as usize]),
            Subject::Flow(ix) => Cow::from(&run.network.flows[ix as usize].name),
            Subject::Leg(flow, link) => {
                let (flow, link) = (&run.network.flows[flow as usize], &run.network.links[link as usize]);
                Cow::from(format!("{}@{}", flow.name, link.name))
            }
            Subject::Relay(ix) => Cow::from(&run.network.relays[ix as usize].name),
        };
        for (ix, value) in column.values.iter().enumerate() {
            rows.row([
                ("subject", Text(&subject)),
                ("time", Number(Some(spacing * (column.from + ix + 1) as f64))),
                ("metric", Text(column.metric)),
                ("value", Number(Some(*value).filter(|value| !value.is_nan()))),
            ]);
        }
    }
    rows.finish()
}
