//! The table `gate`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Text, Whole};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("gate");
    let Some(gate) = &run.network.gate else { return rows.finish() };
    for flow in run.world.gate_flows() {
        let counters = flow.counters;
        rows.row([
            ("direction", Text(flow.direction.name())),
            ("flow", Text(flow.rule.map_or("(no match)", |rule| &gate.names[rule]))),
            ("flows", Whole(flow.flows as u64)),
            ("arrived_packets", Whole(counters.arrived.packets)),
            ("arrived_bytes", Whole(counters.arrived.bytes)),
            ("sent_packets", Whole(counters.sent.packets)),
            ("sent_bytes", Whole(counters.sent.bytes)),
            ("dropped_packets", Whole(counters.dropped.packets)),
        ]);
    }
    rows.finish()
}
