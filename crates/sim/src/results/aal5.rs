//! The table `aal5`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Text, Whole};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("aal5");
    for (ix, flow) in run.network.flows.iter().enumerate() {
        let Some(counts) = run.world.packets_of_cells(ix) else { continue };
        rows.row([
            ("flow", Text(&flow.name)),
            ("sent_packets", Whole(counts.sent.packets)),
            ("sent_bytes", Whole(counts.sent.bytes)),
            ("received_packets", Whole(counts.received.packets)),
            ("received_bytes", Whole(counts.received.bytes)),
            ("discarded_cells", Whole(counts.discarded_cells)),
            ("throughput", run.throughput(counts.received.bytes)),
        ]);
    }
    rows.finish()
}
