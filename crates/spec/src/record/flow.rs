//! A flow's keys.

use super::{Field, Section, Shape, defaulted, optional, policies, rate, required, source, time};
use tidegate_core::params::{CONTRACT, Kind};

/// The most flows that a scenario may hold.
pub(crate) const MOST_FLOWS: i64 = 4_000_000;

/// The shaper that an `envelope` without `kind` means: the user-behaviour envelope.
const DEFAULT_ENVELOPE: &str = "token-bucket";

pub(super) fn flow() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Name, which no other flow has"),
        defaulted(
            "count",
            Shape::Value(Kind::Integer(1, MOST_FLOWS)),
            "1",
            "Number of flows like this one; above 1, they are called NAME/1, NAME/2 and so on",
        ),
        required("from", Shape::Name, "Node that sends"),
        required("to", Shape::Name, "Node that receives"),
        optional(
            "route",
            Shape::Names,
            "Nodes on the way, from `from` to `to`; without it, the shortest path by hops",
        ),
    ];
    fields.extend(CONTRACT.iter().map(Field::of_param));
    fields.extend([
        optional("class", Shape::Name, "Class that it belongs to; without it, it stands directly under the port's scheduler"),
        optional("ceiling", rate(), "Rate that the flow never exceeds at a switch port; without it, no ceiling"),
        optional(
            "size",
            Shape::OneOrMore(Kind::Size),
            "Packet size of at most 1 MiB, or a list of sizes that are drawn with equal chance; required unless the source brings sizes",
        ),
        defaulted("start", time(), "0s", "When it starts to send"),
        optional("stop", time(), "When it stops to send, later than `start`; without it, at the end"),
        required("source", source::shape(), "What is sent when"),
        optional(
            "envelope",
            policies("envelope", Some(DEFAULT_ENVELOPE), tidegate_core::shaper::RECORDS),
            "Shaper between the source and the network; without it, packets go as they come",
        ),
    ]);
    let help = "A flow, or `count` flows alike. The keys of a contract are what the flow states to the ports on \
                its way; a policy reads those that it names and ignores the rest.";
    Section::new("flow", "Flow", help, fields)
}
