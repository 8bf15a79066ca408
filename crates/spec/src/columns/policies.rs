//! The tables of what droppers, meters and detectors did.

use super::{GROUP, LINK, REPLICATION, SEED, TableRecord, number, text, whole};

/// What was dropped and marked, by reason.
pub(super) const DROPS: TableRecord = TableRecord {
    name: "drops",
    help: "What ports dropped and marked, one row for each direction of a link and reason that occurred.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        text(
            "reason",
            "`queue-limit` (the queue was full), `early-drop` (the dropper chose the packet before that), \
             `forced-drop` (the average queue was too long), `sojourn-time` (it was queued too long), `meter` (out of its profile), `pushed-out` (the shared buffer \
             was full), `shaper` (its flow's shaper queue was full), `no-flow` (its flow was not open at the port), \
             `non-responsive` (its flow was named, and it was outside the flow's profile)",
        ),
        whole("dropped_packets", "packets", "Packets dropped for it"),
        whole("marked_packets", "packets", "Times that congestion was marked for it instead"),
    ],
};

/// What was used of profiles at meters.
pub(super) const USAGE: TableRecord = TableRecord {
    name: "usage",
    help: "What was used of each profile at each meter that tells, one row for each, whichever flows used it: a record \
           for each customer at each boundary. A profile is a flow's own or shared. Empty without such meters.",
    columns: &[
        REPLICATION,
        SEED,
        text("link", "Name of the link at whose port the meter stands, as s1->s2"),
        text("class", "Class whose meter it is; empty for the port's own"),
        whole("nth", "", "Which of the meters of that class or port it is, from 1"),
        text("profile", "Name of the shared profile; empty for a flow's own"),
        text("flow", "Name of the flow whose own profile it is; empty for a shared one"),
        whole("inside_bytes", "B", "Bytes inside the profile (green)"),
        whole("yellow_bytes", "B", "Bytes beyond its committed rate or burst, within the excess (yellow)"),
        whole("outside_bytes", "B", "Bytes outside the profile (red)"),
        whole(
            "congested_inside_bytes",
            "B",
            "Bytes inside that came with congestion marked; 0 where the meter does not look for it",
        ),
        whole("congested_outside_bytes", "B", "Bytes outside, or beyond, that came with congestion marked"),
    ],
};

/// What detectors found.
pub(super) const NON_RESPONSIVE: TableRecord = TableRecord {
    name: "non_responsive",
    help: "Flows that detectors found not to respond to congestion, one row each time that one was named, from the start \
           of the run on; empty without a `detector`.",
    columns: &[
        REPLICATION,
        SEED,
        LINK,
        text("flow", "Name of the flow"),
        GROUP,
        number("named", "s", "When it was named, from the start of the run"),
        number("released", "s", "When it was released; nothing while it is named, or when it ended before"),
    ],
};
