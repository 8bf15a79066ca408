//! A flow's keys.

use super::{Field, Section, Shape, defaulted, optional, policies, rate, required, source, time};
use crate::colour;
use tidegate_core::params::{CONTRACT, Kind};

/// The greatest weight of a flow in its profile.
const MAX_WEIGHT: i64 = 1_000_000;

/// The most flows that a scenario may hold.
pub(crate) const MAX_FLOWS: i64 = 4_000_000;

fn change() -> Section {
    let fields = vec![
        required(
            "at",
            time(),
            "When the source requests it, later than the flow's `start` and the previous change",
        ),
        required("reserve", rate(), "Average rate (AR) that it requests"),
        optional("interval", time(), "Average interval (AI) that it requests; without it, the current one"),
        optional("rate", rate(), "Mean rate of the source once the change is granted; without it, unchanged"),
    ];
    let help = "A change of (AR, AI) while the flow runs, granted by every link of its route, or refused. \
                An envelope follows: its rate becomes AR and its burst AR * AI. Queued packets keep their \
                places.";
    Section::new("change", "Change", help, fields).citing("Zhang 1991, sections 2.1 and 2.2")
}

pub(super) fn headers() -> Section {
    let fields = vec![
        required(
            "flow",
            Shape::Value(Kind::Text),
            "The first one's addresses, ports and protocol, from the sender to the receiver, as \
             `10.0.0.1:5004>192.0.2.1:5060/udp`, `10.0.0.1>192.0.2.1/icmp`, or `other` for packets other \
             than IP",
        ),
        defaulted("dscp", Shape::Value(Kind::Dscp), "0", "Differentiated services code point"),
        optional(
            "vlan",
            Shape::Value(Kind::Integer(0, 4_095)),
            "Identifier of a VLAN tag; without it, no tag",
        ),
        defaulted(
            "each",
            Shape::Value(Kind::Word(&["host", "subscriber", "5-tuple"])),
            "host",
            "Field in which the `count` flows differ, counted up from the first: the inside address, the \
             inside IPv4 address or IPv6 /64, or only the inside port",
        ),
    ];
    let help = "Headers that a gate reads from the flow's packets. Their `size` is then that of the \
                Ethernet frame, with its header and without its frame check sequence.";
    Section::new("headers", "Headers", help, fields)
}

/// The keys of a flow's declaration to the ports on its route.
pub(super) fn terms() -> Vec<Field> {
    let mut fields: Vec<Field> = CONTRACT.iter().map(Field::of_param).collect();
    fields.extend([
        optional("profile", Shape::Name, "Profile against which its packets are metered, together with those of other flows; without it, the flow's own contract"),
        optional(
            "weight",
            Shape::Value(Kind::Integer(1, MAX_WEIGHT)),
            "Weight of each of these flows among all that name the `profile`, which must then all have one: \
             each flow has its own share of the profile's rates and bursts, and an unused share goes to no \
             other; without it, they use the profile together",
        ),
        defaulted(
            "colour",
            Shape::Value(Kind::Word(colour::WORDS)),
            "green",
            "Colour that the source itself gives its packets, in profile or out; only colour-aware meters \
             use it",
        ),
        optional("class", Shape::Name, "Class that it belongs to; without it, the flow is directly under the port's scheduler"),
        optional("ceiling", rate(), "Rate that the flow never exceeds at a switch port; without it, no ceiling"),
    ]);
    fields
}

/// The form in which links carry the packets of a flow, or of both flows of a connection.
pub(super) fn adaptation() -> Field {
    defaulted(
        "adaptation",
        Shape::Value(Kind::Word(&["none", "aal5"])),
        "none",
        "ATM adaptation layer of both ends: with `aal5` (ITU-T I.363.5) a packet of n bytes goes as ⌈(n + 8) / 48⌉ cells of 53 bytes, \
         which are packets to all links and tables, and is put together at its destination; a cell that is lost or dropped \
         loses its packet. `size` and rates are those of the packets before",
    )
}

/// The start and the end of a flow or a connection.
pub(super) fn life() -> [Field; 4] {
    [
        defaulted("start", time(), "0s", "When it starts to send, or to be set up"),
        optional("stop", time(), "When it stops sending, later than `start`; without it, at the end"),
        optional(
            "every",
            time(),
            "Mean time between the starts of the `count` members, exponential; without it, all start at \
             `start`",
        ),
        optional("lasts", time(), "Mean time from its start to its stop, exponential, instead of `stop`"),
    ]
}

pub(super) fn flow() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Name, unique among flows and connections"),
        defaulted(
            "count",
            Shape::Value(Kind::Integer(1, MAX_FLOWS)),
            "1",
            "Number of flows like this one; above 1, they are called NAME/1, NAME/2 and so on",
        ),
        required("from", Shape::Name, "Node that sends"),
        required(
            "to",
            Shape::OneOrMoreNames,
            "Node that receives, or a list of nodes (multicast). The shortest routes to them then form a \
             tree: a packet and a reservation count once on each of its links; received, dropped and lost \
             packets count every copy",
        ),
        optional(
            "route",
            Shape::Names,
            "Nodes of the route, from `from` to `to`; without it, the shortest path by hops",
        ),
    ];
    fields.extend(terms());
    fields.push(optional(
        "size",
        Shape::OneOrMore(Kind::Size),
        "Packet size of at most 1 MiB, or a list of sizes with equal probability; required unless the \
         source has sizes",
    ));
    fields.push(adaptation());
    fields.extend(life());
    fields.extend([
        optional(
            "hangup",
            time(),
            "When the destination tears the flow down, later than `start`; needs `admission`",
        ),
        defaulted(
            "warned",
            Shape::Value(Kind::Word(&["ignore", "slow", "shrink"])),
            "ignore",
            "Response of the source to a warning: none; silence for as long as it is ahead, then its \
             reserved rate; or smaller packets until it is no longer ahead, then packets as large as its \
             reservation allows",
        ),
        defaulted(
            "ecn",
            Shape::Value(Kind::Word(&["on", "off"])),
            "off",
            "Whether its packets claim that their sender responds to congestion marks (ECT(0), RFC 3168): \
             droppers then mark them where they would drop others. The source itself ignores marks",
        ),
        optional(
            "change",
            Shape::Tables(change()),
            "Changes of its reservation while it runs; needs `admission`",
        ),
        optional(
            "headers",
            Shape::Table(headers()),
            "Headers of its packets for a gate on its route; a `capture` has its own",
        ),
        required("source", source::shape(), "What is sent when"),
        optional(
            "envelope",
            policies("envelope", Some(tidegate_core::shaper::DEFAULT.name), tidegate_core::shaper::RECORDS),
            "Shaper between the source and the network; without it, packets are sent as they are generated. \
             Packets that wait in it do not count as sent; in a switch they use its `buffer`, in a host \
             none",
        ),
    ]);
    let help = "A flow, or `count` equal flows. The keys of a contract are the flow's declaration to the \
                ports on its route; each policy reads the keys that it lists and ignores the others.";
    Section::new("flow", "Flow", help, fields)
}
