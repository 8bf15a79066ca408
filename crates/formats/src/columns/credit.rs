//! The tables of links with credit.

use super::column::Description;
use super::shared::LINK;
use super::table::table;

const VC: Description = Description::new("", "Number of the VC on the link, from 0");
const FLOW_OF_VC: Description =
    Description::new("", "Name of the flow; empty for the VC of all flows of a link");

table! {
    /// Links with credit-based flow control, one row for each direction that has it. The link's own
    /// cells are among the packets of the table `links`.
    pub struct CreditRow = "credit" {
        link: str = LINK,
        /// VCs over it
        vcs: u64,
        /// Packets for which the receiver has memory: Buf_Alloc of all VCs, or the pool (M); with pools
        /// of output ports, the sum of those that VCs of the link share
        memory: u64 as "packets",
        /// Most packets from this link at the receiver at once
        queue_max: u64 as "packets",
        /// Time from a packet's last bit leaving the sender until its credit is used there, when
        /// the receiver forwards it at once
        rtt: f64 as "s",
        /// Credit cells that were sent, on the link in the other direction
        credit_cells: u64 as "packets",
        /// credit_check cells that were sent
        check_cells: u64 as "packets",
        /// Bytes of both kinds of cells over those of the data; null where no data were sent
        overhead: Option<f64>,
        /// Credit cells and credit_check cells that were lost
        lost_cells: u64 as "packets",
        /// Credit cells that arrived twice
        duplicated_cells: u64 as "packets",
        /// Packets that checks found lost
        found_lost_packets: u64 as "packets",
        /// Packets without a place at the receiver
        dropped_packets: u64 as "packets",
    }
}

table! {
    /// VCs of links with credit-based flow control, one row for each direction of a link and VC.
    pub struct CreditVcsRow = "credit_vcs" {
        link: str = LINK,
        vc: u64 = VC,
        flow: str = FLOW_OF_VC,
        /// Buf_Alloc at the end
        buf_alloc: u64 as "packets",
        /// N2 at the end
        n2: u64 as "packets",
        /// Most packets of the VC from this link at the receiver at once
        queue_max: u64 as "packets",
        /// Share of the measured time in which it had no credit, 0 to 1
        without_credit: Option<f64>,
    }
}

table! {
    /// Pools of output ports that VCs of several links with credit share (`pool_per`), one row for
    /// each port, and one for the VCs that end at the node after a link.
    pub struct CreditOutputsRow = "credit_outputs" {
        /// Node of the port
        node: str,
        /// Link by which the VCs leave; empty for those that end at the node
        port: str,
        /// Links over which the VCs come
        links: u64,
        /// VCs that share the pool
        vcs: u64,
        /// The pool (M)
        memory: u64 as "packets",
        /// Most packets in the pool at once
        queue_max: u64 as "packets",
        /// Largest RTT of the links
        rtt: f64 as "s",
    }
}

table! {
    /// VCs with packets to send that had no credit and no packet at the receiver for at least 100
    /// RTT, from the start of the run: the effect of losses without credit_check cells.
    pub struct StallsRow = "stalls" {
        link: str = LINK,
        vc: u64 = VC,
        flow: str = FLOW_OF_VC,
        /// Number of RTT without credit
        round_trips: u64,
        /// Start of the stall, from the start of the run
        since: f64 as "s",
        /// When it had credit again; empty if it never had
        until: Option<f64> as "s",
        /// Description of the stall in words
        what: str,
    }
}
