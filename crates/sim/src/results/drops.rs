//! The table `drops`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Text, Whole};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("drops");
    for (ix, link) in run.network.links.iter().enumerate() {
        for (reason, counts) in run.world.drops(ix) {
            rows.row([
                ("link", Text(&link.name)),
                ("reason", Text(reason.name())),
                ("dropped_packets", Whole(counts.dropped)),
                ("marked_packets", Whole(counts.marked)),
            ]);
        }
    }
    rows.finish()
}
