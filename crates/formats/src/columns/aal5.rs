//! The table of flows that are sent as ATM cells.

use super::{REPLICATION, SEED, TableRecord, number, text, whole};

/// Packets of the flows whose cells the other tables count.
pub(super) const AAL5: TableRecord = TableRecord {
    name: "aal5",
    help: "Flows with `adaptation = \"aal5\"`, of which all other tables have the cells: their packets, one row for each \
           flow and replication.",
    columns: &[
        REPLICATION,
        SEED,
        text("flow", "Name of the flow"),
        whole("sent_packets", "packets", "Packets that the source has cut into cells"),
        whole("sent_bytes", "B", "Their bytes, without what AAL5 adds"),
        whole("received_packets", "packets", "Packets that were put together at the destination"),
        whole("received_bytes", "B", "Their bytes, without what AAL5 adds"),
        whole(
            "discarded_cells",
            "packets",
            "Cells that reached the destination and were discarded there, since another cell of their packet did not",
        ),
        number("throughput", "bit/s", "Bits of the packets that were put together over the measured time"),
    ],
};
