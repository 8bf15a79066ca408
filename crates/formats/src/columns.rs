//! The tables that a run returns, column by column.

mod aal5;
mod credit;
mod policies;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text that repeats.
    Text,
    /// A whole number, 0 to 2⁶³ − 1: differences of two have a sign.
    Whole,
    /// A 64-bit float; null where nothing was measured.
    Number,
}

/// One column of a result table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    pub column_type: ColumnType,
    /// Unit of its values, as `bit/s`; empty for counts, names and ratios.
    pub unit: &'static str,
    /// One sentence for a person.
    pub help: &'static str,
}

/// One result table.
#[derive(Clone, Copy, Debug)]
pub struct TableRecord {
    /// Its name.
    pub name: &'static str,
    /// One sentence for a person.
    pub help: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

const fn text(name: &'static str, help: &'static str) -> Column {
    Column { name, column_type: ColumnType::Text, unit: "", help }
}

const fn whole(name: &'static str, unit: &'static str, help: &'static str) -> Column {
    Column { name, column_type: ColumnType::Whole, unit, help }
}

const fn number(name: &'static str, unit: &'static str, help: &'static str) -> Column {
    Column { name, column_type: ColumnType::Number, unit, help }
}

const REPLICATION: Column = whole("replication", "", "Replication, from 0: one seed of one scenario");
const SEED: Column = whole("seed", "", "Seed of the replication");
const GROUP: Column = text("group", "Name of the [[flow]] that the flow belongs to");
const LINK: Column = text("link", "Name of the link's direction, as s1->s2");

// Columns that the tables `flows` and `groups` have in common.
const SENT_PACKETS: Column =
    whole("sent_packets", "packets", "Packets that left the source; of a multicast flow each once");
const SENT_BYTES: Column = whole("sent_bytes", "B", "Bytes that left the source");
const RECEIVED_PACKETS: Column = whole(
    "received_packets",
    "packets",
    "Packets that arrived at the destination; of a multicast flow the copies at all of them",
);
const RECEIVED_BYTES: Column =
    whole("received_bytes", "B", "Bytes that arrived at the destination; of a multicast flow at all of them");
const MARKED_PACKETS: Column = whole(
    "marked_packets",
    "packets",
    "Packets that arrived at the destination with a congestion mark (CE, EFCI)",
);
const DROPPED_PACKETS: Column = whole(
    "dropped_packets",
    "packets",
    "Packets dropped on the route; of a multicast flow one before its route forks counts once, and behind a fork \
     each copy",
);
const LOST_PACKETS: Column = whole(
    "lost_packets",
    "packets",
    "Packets lost on links with a `loss`; of a multicast flow counted as those that are dropped",
);
const DUE_COPIES: Column = whole(
    "due_copies",
    "packets",
    "Copies that destinations are to get of the packets that left the source: one for each destination",
);
const MISSED_COPIES: Column = whole(
    "missed_copies",
    "packets",
    "Copies that drops and losses kept from destinations: a packet that is gone counts once for each destination behind \
     that place; the share that is lost is this over `due_copies`",
);
const ABSORBED_PACKETS: Column =
    whole("absorbed_packets", "packets", "Packets absorbed by a stage on the route");
const DISCARDED_PACKETS: Column = whole(
    "discarded_packets",
    "packets",
    "Packets that the envelope discarded at the source; not counted as sent",
);
const CHECKS: Column = whole("checks", "", "Checks by the monitors on the route");
const WARNINGS: Column = whole("warnings", "", "Checks that ended with a warning");
const THROUGHPUT: Column = number("throughput", "bit/s", "Bits received over the measured time");
const RETRANSMISSIONS: Column = number(
    "retransmissions",
    "packets",
    "Data packets that the sender sent again; null without a transport that retransmits",
);
const TIMEOUTS: Column = number(
    "timeouts",
    "",
    "Number of times that the sender's retransmission timer expired with data outstanding",
);
const GOODPUT: Column = number(
    "goodput",
    "bit/s",
    "Bits of data first sent after the warm-up that the receiver delivered to the application, over the \
     measured time: in order, each once, without headers",
);
const DELAY_MEAN: Column = number("delay_mean", "s", "Mean end-to-end delay");
const DELAY_MAX: Column = number("delay_max", "s", "Largest end-to-end delay");
const DELAY_P50: Column = number("delay_p50", "s", "Median end-to-end delay");
const DELAY_P99: Column = number("delay_p99", "s", "99 % quantile of the end-to-end delay");
const DELAY_P999: Column = number("delay_p999", "s", "99.9 % quantile of the end-to-end delay");
const QUEUEING_MEAN: Column = number("queueing_mean", "s", "Mean queueing delay");
const QUEUEING_P99: Column = number("queueing_p99", "s", "99 % quantile of the queueing delay");

/// Every table that a run returns. Only packets sent from `warmup` on are measured.
pub const TABLES: &[TableRecord] = &[
    TableRecord {
        name: "flows",
        help: "One row for each flow and replication. Delays are end to end: from when the packet leaves \
               its source (for a retransmission: from when its data were first sent) until its last bit \
               reaches the destination. Queueing delays are from last bit in to first bit out, summed over \
               hops.",
        columns: &[
            REPLICATION,
            SEED,
            text("flow", "Name of the flow"),
            GROUP,
            text("from", "Node that sends"),
            text("to", "Node that receives"),
            whole("hops", "", "Links on its route"),
            number(
                "start",
                "s",
                "When it starts, from the start of the run, as stated or as drawn from the seed; after its end for a \
                 flow that does not",
            ),
            number("stop", "s", "When it stops, as stated or as drawn; null for the end of the run"),
            SENT_PACKETS,
            SENT_BYTES,
            RECEIVED_PACKETS,
            RECEIVED_BYTES,
            MARKED_PACKETS,
            DROPPED_PACKETS,
            LOST_PACKETS,
            DUE_COPIES,
            MISSED_COPIES,
            ABSORBED_PACKETS,
            DISCARDED_PACKETS,
            number(
                "envelope_mean",
                "s",
                "Mean time that packets waited in the envelope before they were sent",
            ),
            CHECKS,
            WARNINGS,
            whole("refused", "", "1 for a flow whose set-up was refused, else 0"),
            RETRANSMISSIONS,
            TIMEOUTS,
            THROUGHPUT,
            GOODPUT,
            DELAY_MEAN,
            number("delay_sd", "s", "Standard deviation of the end-to-end delay"),
            DELAY_MAX,
            DELAY_P50,
            DELAY_P99,
            DELAY_P999,
            QUEUEING_MEAN,
            number("queueing_sd", "s", "Standard deviation of the queueing delay"),
            QUEUEING_P99,
            number("queueing_max", "s", "Largest queueing delay"),
        ],
    },
    TableRecord {
        name: "groups",
        help: "One row for each group and replication: all packets of its flows together. A quantile is the \
               upper edge of its histogram bin, and never above the largest delay.",
        columns: &[
            REPLICATION,
            SEED,
            GROUP,
            whole("flows", "", "Number of its flows"),
            number(
                "jain",
                "",
                "Jain's fairness index of the bytes that its flows received: 1 when all received as much, 1 divided by \
                 their number when one received all; null for one flow, and when nothing was received",
            ),
            SENT_PACKETS,
            SENT_BYTES,
            RECEIVED_PACKETS,
            RECEIVED_BYTES,
            MARKED_PACKETS,
            DROPPED_PACKETS,
            LOST_PACKETS,
            DUE_COPIES,
            MISSED_COPIES,
            ABSORBED_PACKETS,
            DISCARDED_PACKETS,
            CHECKS,
            WARNINGS,
            whole("refused", "", "Flows whose set-up was refused"),
            RETRANSMISSIONS,
            TIMEOUTS,
            THROUGHPUT,
            GOODPUT,
            DELAY_MEAN,
            DELAY_MAX,
            DELAY_P50,
            DELAY_P99,
            DELAY_P999,
            QUEUEING_MEAN,
            QUEUEING_P99,
            number(
                "transfers",
                "",
                "Finite transfers that started and ended in the measured time; null without any",
            ),
            number(
                "transfer_mean",
                "s",
                "Mean time from the start of a transfer until all of it was acknowledged",
            ),
            number("transfer_p95", "s", "95 % quantile of that time"),
            number("transfer_p99", "s", "99 % quantile of that time"),
        ],
    },
    TableRecord {
        name: "links",
        help: "One row for each direction of a link and replication.",
        columns: &[
            REPLICATION,
            SEED,
            LINK,
            text("from", "Node that sends"),
            text("to", "Node that receives"),
            whole("rate", "bit/s", "Rate of the link; with a trace, its mean"),
            whole(
                "packets",
                "packets",
                "Packets sent, each copy of a multicast packet that passes, and the link's own cells",
            ),
            whole("bytes", "B", "Bytes sent"),
            whole(
                "dropped_packets",
                "packets",
                "Packets dropped at the port, or at the link's end for want of a place",
            ),
            whole("marked_packets", "packets", "Congestion marks set by the port"),
            whole("lost_packets", "packets", "Packets that were sent, and lost on the link"),
            number(
                "utilisation",
                "",
                "Share of the measured time in which the link was sending, 0 to 1; with a trace, the share \
                 of its capacity that was used",
            ),
            number(
                "in_traffic",
                "",
                "Green bytes that reached the port's queue as a share of its capacity, above 1 when they \
                 exceed it; null where packets pass no meter that colours",
            ),
            number(
                "in_traffic_max",
                "",
                "Its maximum over whole seconds; null when less than a second was measured",
            ),
            number("queue_mean", "packets", "Queue length as a time average, the packet in service included"),
            whole("queue_max", "packets", "Longest queue, the packet in service included"),
            number(
                "queue_seen_mean",
                "packets",
                "Mean queue length seen by an arriving packet: with the packet in service, without itself",
            ),
            number(
                "queue_seen_sd",
                "packets",
                "Standard deviation of the queue length that arriving packets see",
            ),
            number(
                "queue_seen_p99",
                "packets",
                "99 % quantile of the queue length that arriving packets see",
            ),
            number("wait_mean", "s", "Mean time from last bit in to first bit out"),
        ],
    },
    policies::DROPS,
    policies::USAGE,
    policies::NON_RESPONSIVE,
    aal5::AAL5,
    credit::CREDIT,
    credit::CREDIT_VCS,
    credit::STALLS,
    TableRecord {
        name: "series",
        help: "Time series, one row for each sample; `sample` of the scenario is the spacing.",
        columns: &[
            REPLICATION,
            SEED,
            text("subject", "Name of the link's direction or of the group of flows"),
            number("time", "s", "End of the interval, from the start of the run"),
            text(
                "metric",
                "What was measured: `queue` (packets, at that instant), `utilisation` (share of the interval in \
                 which a link was sending; with a trace, the share of its capacity that was used), where \
                 meters \
                 colour `in_traffic` (green packets that reached the port as a share of its capacity in the \
                 interval), `throughput` (bit/s, over the interval), and where there are monitors \
                 `lead` (s, the most that a flow's VirtualClock was ahead of real time at that instant) and \
                 `warnings` \
                 (over the interval); of a port's dropper the gauges of its chapter, such as `average_queue` \
                 (packets or bytes), `drop_probability` and `queue_delay` (s) at that instant; of links with \
                 credit `pool` (packets at the \
                 receiver) and of their VCs `vc_queue` (of these, the VC's), `buf_alloc` and \
                 `credit_balance` (packets), of which \
                 the subject is the flow on the link, as `a on s1->s2`",
            ),
            number("value", "", "Its value, in the unit of the metric"),
        ],
    },
    TableRecord {
        name: "signals",
        help: "Outcomes of requests, one row for each answer that a source received; empty without \
               `admission`.",
        columns: &[
            REPLICATION,
            SEED,
            number("time", "s", "When the source received it, from the start of the run"),
            text("flow", "Name of the flow"),
            GROUP,
            text(
                "answer",
                "`granted`, `refused`, `changed`, `change refused`, `change missed` (the flow was not set up then, or \
                 another change was under way), `torn down` (by the source), `hung up` (by the destination)",
            ),
            text("link", "Link that refused, as s1->s2; empty otherwise"),
            text("reason", "Reason of the refusal, with the capacity left; empty otherwise"),
        ],
    },
    TableRecord {
        name: "gate",
        help: "Flows of the gate, one row for each `[[flow]]` of its file and direction; empty without a \
               gate. Bytes are charged bytes.",
        columns: &[
            REPLICATION,
            SEED,
            text("direction", "`up` or `down`"),
            text("flow", "Name of the flow in the gate's file; `(no match)` for packets that match none"),
            whole(
                "flows",
                "",
                "Number of flows at the end: with `each`, those that were opened and not forgotten",
            ),
            whole("arrived_packets", "packets", "Packets that arrived at it"),
            whole("arrived_bytes", "B", "Bytes that arrived at it"),
            whole("sent_packets", "packets", "Packets whose last bit has left"),
            whole("sent_bytes", "B", "Bytes that have left"),
            whole("dropped_packets", "packets", "Packets dropped"),
        ],
    },
    TableRecord {
        name: "workahead",
        help: "Exact maximum workahead W of each flow with a reservation: the longest backlog at an ideal server of its \
               rate, at its source and behind each link of its route, one row for each factor on the rate; \
               empty \
               unless asked for.",
        columns: &[
            REPLICATION,
            SEED,
            text("flow", "Name of the flow"),
            GROUP,
            text("link", "Last link that its packets have passed, as s1->s2; empty at the source"),
            whole(
                "hop",
                "",
                "Links between the source and here; 0 is the source, behind the flow's envelope",
            ),
            number("factor", "", "Factor on the flow's reserved rate"),
            number("rate", "bit/s", "Rate of the ideal server: the reserved rate times the factor"),
            whole("workahead", "B", "W, rounded up; a packet counts whole when its last bit is in"),
            number(
                "increase",
                "",
                "Burstiness increase (W_out - W_in) / W_in over the server in front of the link",
            ),
            number("increase_from_source", "", "Burstiness increase from the source to this place"),
        ],
    },
    TableRecord {
        name: "histogram",
        help: "Histogram of delays, one row for each bin that is not empty.",
        columns: &[
            REPLICATION,
            SEED,
            GROUP,
            text("metric", "What was measured: `delay` or `queueing`"),
            number("lower", "s", "Lower edge of the bin, included"),
            number("upper", "s", "Upper edge of the bin, not included"),
            whole("count", "packets", "Packets in the bin"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn columns_are_unique_and_explained() {
        for table in TABLES {
            let names: BTreeSet<_> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            assert!(
                table.columns.iter().all(|column| !column.help.is_empty() && !column.help.ends_with('.'))
            );
        }
    }
}
