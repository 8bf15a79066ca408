//! Descriptions of columns that more than one table has.

use super::column::Description;

pub(super) const FLOW: Description = Description::new("", "Name of the flow");
pub(super) const GROUP: Description = Description::new("", "Group of flows that it belongs to");
pub(super) const FROM: Description = Description::new("", "Node that sends");
pub(super) const TO: Description = Description::new("", "Node that receives");
pub(super) const SENT_PACKETS: Description =
    Description::new("packets", "Packets that left the source; of a multicast flow each once");
pub(super) const SENT_BYTES: Description = Description::new("B", "Bytes that left the source");
pub(super) const RECEIVED_PACKETS: Description = Description::new(
    "packets",
    "Packets that arrived at the destination; of a multicast flow the copies at all of them",
);
pub(super) const RECEIVED_BYTES: Description =
    Description::new("B", "Bytes that arrived at the destination; of a multicast flow at all of them");
pub(super) const MARKED_PACKETS: Description =
    Description::new("packets", "Packets that arrived at the destination with a congestion mark (CE, EFCI)");
pub(super) const DROPPED_PACKETS: Description = Description::new(
    "packets",
    "Packets dropped on the route; of a multicast flow one before its route forks counts once, \
     and behind a fork each copy",
);
pub(super) const LOST_PACKETS: Description = Description::new(
    "packets",
    "Packets lost on links with a `loss`; of a multicast flow counted as those that are dropped",
);
pub(super) const DUE_COPIES: Description = Description::new(
    "packets",
    "Copies that destinations are to get of the packets that left the source: one for each \
     destination",
);
pub(super) const MISSED_COPIES: Description = Description::new(
    "packets",
    "Copies that drops and losses kept from destinations: a packet that is gone counts once for \
     each destination behind that place; the share that is lost is this over `due_copies`",
);
pub(super) const ABSORBED_PACKETS: Description =
    Description::new("packets", "Packets absorbed by a stage on the route");
pub(super) const DISCARDED_PACKETS: Description =
    Description::new("packets", "Packets that the envelope discarded at the source; not counted as sent");
pub(super) const CHECKS: Description = Description::new("", "Checks by the monitors on the route");
pub(super) const WARNINGS: Description = Description::new("", "Checks that ended with a warning");
pub(super) const RETRANSMISSIONS: Description = Description::new(
    "packets",
    "Data packets that the sender sent again; null without a transport that retransmits",
);
pub(super) const TIMEOUTS: Description = Description::new(
    "",
    "Number of times that the sender's retransmission timer expired with data outstanding",
);
pub(super) const THROUGHPUT: Description = Description::new("bit/s", "Bits received over the measured time");
pub(super) const GOODPUT: Description = Description::new(
    "bit/s",
    "Bits of data first sent after the warm-up that the receiver delivered to the application, \
     over the measured time: in order, each once, without headers",
);
pub(super) const DELAY_MEAN: Description = Description::new("s", "Mean end-to-end delay");
pub(super) const DELAY_MAX: Description = Description::new("s", "Largest end-to-end delay");
pub(super) const DELAY_P50: Description = Description::new("s", "Median end-to-end delay");
pub(super) const DELAY_P99: Description = Description::new("s", "99 % quantile of the end-to-end delay");
pub(super) const DELAY_P999: Description = Description::new("s", "99.9 % quantile of the end-to-end delay");
pub(super) const QUEUEING_MEAN: Description = Description::new("s", "Mean queueing delay");
pub(super) const QUEUEING_P99: Description = Description::new("s", "99 % quantile of the queueing delay");
pub(super) const LINK: Description = Description::new("", "Name of the link's direction, as s1->s2");
