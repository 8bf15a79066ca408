//! The tables of links with credit.

use super::{LINK, REPLICATION, SEED, TableRecord, number, text, whole};

/// Statistics of each link direction.
pub(super) const CREDIT: TableRecord = TableRecord {
    name: "credit",
    help: "Links with credit-based flow control, one row for each direction that has it. The link's own \
           cells are among the packets of the table `links`.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        whole("vcs", "", "VCs over it"),
        whole(
            "memory",
            "packets",
            "Packets for which the receiver has memory: Buf_Alloc of all VCs, or the pool (M)",
        ),
        whole("queue_max", "packets", "Most packets from this link at the receiver at once"),
        number(
            "rtt",
            "s",
            "Time from a packet's last bit leaving the sender until its credit is used there, when the receiver forwards \
             it at once",
        ),
        whole("credit_cells", "packets", "Credit cells that were sent, on the link in the other direction"),
        whole("check_cells", "packets", "credit_check cells that were sent"),
        number(
            "overhead",
            "",
            "Bytes of both kinds of cells over those of the data; null where no data were sent",
        ),
        whole("lost_cells", "packets", "Credit cells and credit_check cells that were lost"),
        whole("duplicated_cells", "packets", "Credit cells that arrived twice"),
        whole("found_lost_packets", "packets", "Packets that checks found lost"),
        whole("dropped_packets", "packets", "Packets without a place at the receiver"),
    ],
};

/// Statistics of each VC.
pub(super) const CREDIT_VCS: TableRecord = TableRecord {
    name: "credit_vcs",
    help: "VCs of links with credit-based flow control, one row for each direction of a link and VC.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        whole("vc", "", "Number of the VC on the link, from 0"),
        text("flow", "Name of the flow; empty for the VC of all flows of a link"),
        whole("buf_alloc", "packets", "Buf_Alloc at the end"),
        whole("n2", "packets", "N2 at the end"),
        whole("queue_max", "packets", "Most packets of the VC from this link at the receiver at once"),
        number("without_credit", "", "Share of the measured time in which it had no credit, 0 to 1"),
    ],
};

/// VCs that stalled for lack of credit.
pub(super) const STALLS: TableRecord = TableRecord {
    name: "stalls",
    help: "VCs with packets to send that had no credit and no packet at the receiver for at least 100 RTT, \
           from the start of the run: the effect of losses without credit_check cells.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        whole("vc", "", "Number of the VC on the link, from 0"),
        text("flow", "Name of the flow; empty for the VC of all flows of a link"),
        whole("round_trips", "", "Number of RTT without credit"),
        number("since", "s", "Start of the stall, from the start of the run"),
        number("until", "s", "When it had credit again; empty if it never had"),
        text("what", "Description of the stall in words"),
    ],
};
