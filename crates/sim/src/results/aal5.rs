//! The table `aal5`.

use super::run::Run;
use super::table::Table;
use tidegate_formats::columns::Aal5Row;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<Aal5Row<'_>>();
    for (ix, flow) in run.network.flows.iter().enumerate() {
        let Some(counts) = run.world.packets_of_cells(ix) else { continue };
        rows.row(Aal5Row {
            flow: &flow.name,
            sent_packets: counts.sent.packets,
            sent_bytes: counts.sent.bytes,
            received_packets: counts.received.packets,
            received_bytes: counts.received.bytes,
            discarded_cells: counts.discarded_cells,
            throughput: run.throughput(counts.received.bytes),
        });
    }
    rows.finish()
}
