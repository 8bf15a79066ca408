//! The table `gate`.

use super::run::Run;
use super::table::Table;
use tidegate_formats::columns::GateRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<GateRow<'_>>();
    let Some(gate) = &run.network.gate else { return rows.finish() };
    for flow in run.world.gate_flows() {
        let counters = flow.counters;
        rows.row(GateRow {
            direction: flow.direction.name(),
            flow: flow.rule.map_or("(no match)", |rule| &gate.names[rule]),
            flows: flow.flows as u64,
            arrived_packets: counters.arrived.packets,
            arrived_bytes: counters.arrived.bytes,
            sent_packets: counters.sent.packets,
            sent_bytes: counters.sent.bytes,
            dropped_packets: counters.dropped.packets,
        });
    }
    rows.finish()
}
