//! The table `drops`.

use super::run::Run;
use super::table::Table;
use tidegate_formats::columns::DropsRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<DropsRow<'_>>();
    for (ix, link) in run.network.links.iter().enumerate() {
        for (reason, counts) in run.world.drops(ix) {
            rows.row(DropsRow {
                link: &link.name,
                reason: reason.name(),
                dropped_packets: counts.dropped,
                marked_packets: counts.marked,
            });
        }
    }
    rows.finish()
}
