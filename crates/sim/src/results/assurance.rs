//! The table `assurance`.

use super::run::Run;
use super::table::Table;
use tidegate_formats::columns::AssuranceRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<AssuranceRow<'_>>();
    let Some(plan) = &run.network.assurance else { return rows.finish() };
    for (scope, windows) in plan.scopes.iter().zip(run.world.assurance()) {
        rows.row(AssuranceRow {
            profile: &scope.profile,
            flow: &scope.flow,
            scope: scope.scope.name(),
            to: &scope.to,
            target: scope.target,
            averaging_window: plan.window.as_secs_f64(),
            windows: windows.whole,
            attained: windows.attained,
            probability: (windows.whole > 0).then(|| windows.attained as f64 / windows.whole as f64),
        });
    }
    rows.finish()
}
