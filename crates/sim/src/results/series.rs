//! The table `series`.

use super::run::Run;
use super::table::Table;
use crate::probe::Subject;
use tidegate_formats::columns::SeriesRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<SeriesRow<'_>>();
    let Some(series) = run.world.series() else { return rows.finish() };
    let spacing = series.spacing().as_secs_f64();
    for column in series.columns() {
        let of_vc;
        let subject = match column.subject {
            Subject::Link(ix) => run.network.links[ix as usize].name.as_str(),
            Subject::Group(ix) => run.network.groups[ix as usize].as_str(),
            Subject::Flow(ix) => run.network.flows[ix as usize].name.as_str(),
            Subject::Stage(ix) => run.network.stages[ix as usize].name.as_str(),
            Subject::Vc { link, flow } => {
                let (link, flow) = (&run.network.links[link as usize], &run.network.flows[flow as usize]);
                of_vc = format!("{} on {}", flow.name, link.name);
                of_vc.as_str()
            }
        };
        for (ix, value) in column.values.iter().enumerate() {
            rows.row(SeriesRow {
                subject,
                time: spacing * (column.from + ix + 1) as f64,
                metric: column.metric,
                value: Some(*value).filter(|value| !value.is_nan()),
            });
        }
    }
    rows.finish()
}
