//! The tables of droppers, meters and detectors.

use super::{GROUP, LINK, REPLICATION, SEED, TableRecord, number, text, whole};

/// Drops and marks, by reason.
pub(super) const DROPS: TableRecord = TableRecord {
    name: "drops",
    help: "Drops and marks of ports, one row for each direction of a link and each reason that occurred.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        text(
            "reason",
            "`queue-limit` (the queue was full), `early-drop` (the dropper chose the packet before the queue was full), `forced-drop` (the average queue was too long), `sojourn-time` (the packet was queued for too long), `meter` (out of its profile), `pushed-out` (the shared buffer \
             was full), `shaper` (its flow's shaper queue was full), `no-flow` (its flow was not open at the \
             port), \
             `non-responsive` (its flow was named, and it was outside the flow's profile)",
        ),
        whole("dropped_packets", "packets", "Packets dropped for this reason"),
        whole("marked_packets", "packets", "Congestion marks set for this reason instead"),
    ],
};

/// Usage of profiles at meters.
pub(super) const USAGE: TableRecord = TableRecord {
    name: "usage",
    help: "Usage of each profile at each meter that records it, whichever flows used it: a record for each \
           customer at each boundary. A profile is a flow's own or shared. Empty without such meters.",
    columns: &[
        REPLICATION,
        SEED,
        text("link", "Name of the link at whose port the meter is, as s1->s2"),
        text("class", "Class whose meter it is; empty for the port's own"),
        whole("nth", "", "Number of the meter in that class or port, from 1"),
        text("profile", "Name of the shared profile; empty for a flow's own"),
        text("flow", "Name of the flow whose own profile it is; empty for a shared one"),
        whole("inside_bytes", "B", "Bytes inside the profile (green)"),
        whole("yellow_bytes", "B", "Bytes beyond its committed rate or burst, within the excess (yellow)"),
        whole("outside_bytes", "B", "Bytes outside the profile (red)"),
        whole(
            "congested_inside_bytes",
            "B",
            "Bytes inside that came with a congestion mark; 0 where the meter does not record it",
        ),
        whole("congested_outside_bytes", "B", "Yellow and outside bytes that came with a congestion mark"),
    ],
};

/// Findings of detectors.
pub(super) const NON_RESPONSIVE: TableRecord = TableRecord {
    name: "non_responsive",
    help: "Flows that detectors found not to respond to congestion, one row each time that a flow was \
           named, from the start of the run; empty without a `detector`.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        text("flow", "Name of the flow"),
        GROUP,
        number("named", "s", "When it was named, from the start of the run"),
        number("released", "s", "When it was released; empty while it is named, or when it ended before"),
    ],
};
