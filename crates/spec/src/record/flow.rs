//! A flow's keys.

use super::{Field, Section, Shape, defaulted, optional, policies, rate, required, source, time};
use crate::colour;
use tidegate_core::params::{CONTRACT, Kind};

/// The greatest weight of a flow in its profile.
const MOST_WEIGHT: i64 = 1_000_000;

/// The most flows that a scenario may hold.
pub(crate) const MOST_FLOWS: i64 = 4_000_000;

fn change() -> Section {
    let fields = vec![
        required(
            "at",
            time(),
            "When the source asks for it, later than the flow's `start` and the change before",
        ),
        required("reserve", rate(), "Average rate (AR) that it asks for"),
        optional(
            "interval",
            time(),
            "Average interval (AI) that it asks for; without it, the one that it has",
        ),
        optional(
            "rate",
            rate(),
            "Mean rate of the source once the change is granted; without it, the source goes on as before",
        ),
    ];
    let help = "A change of (AR, AI) while the flow runs, granted by every link of its route or refused whole. An envelope \
                follows: its rate becomes AR and its burst AR * AI. What is queued keeps its place.";
    Section::new("change", "Change", help, fields).citing("Zhang 1991, sections 2.1 and 2.2")
}

fn headers() -> Section {
    let fields = vec![
        required(
            "flow",
            Shape::Value(Kind::Text),
            "The first one's addresses, ports and protocol, from the sender to the receiver, as \
             `10.0.0.1:5004>192.0.2.1:5060/udp`, `10.0.0.1>192.0.2.1/icmp`, or `other` for what is not IP",
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
            "What each of `count` flows has of its own, counted up from the first: the address inside, the IPv4 address or \
             IPv6 /64 inside, or only the port inside",
        ),
    ];
    let help = "What a gate reads from the flow's packets. Their `size` is then that of the Ethernet frame: with its header, \
                without its check sequence.";
    Section::new("headers", "Headers", help, fields)
}

/// What a flow states to the ports on its way.
pub(super) fn terms() -> Vec<Field> {
    let mut fields: Vec<Field> = CONTRACT.iter().map(Field::of_param).collect();
    fields.extend([
        optional("profile", Shape::Name, "Profile that its packets are metered against, with those of other flows; without it, the flow's own contract"),
        optional(
            "weight",
            Shape::Value(Kind::Integer(1, MOST_WEIGHT)),
            "Weight of each of these flows among all that name the `profile`, which then all have one: its share of the profile's \
             rates and bursts is its own, and what it leaves unused goes to no other; without it, they use the profile together",
        ),
        defaulted(
            "colour",
            Shape::Value(Kind::Word(colour::WORDS)),
            "green",
            "Colour that the source itself gives its packets, in profile or out; a meter before it counts only in the colour-aware \
             mode",
        ),
        optional("class", Shape::Name, "Class that it belongs to; without it, it stands directly under the port's scheduler"),
        optional("ceiling", rate(), "Rate that the flow never exceeds at a switch port; without it, no ceiling"),
    ]);
    fields
}

/// How the packets of a flow, or of both flows of a connection, go over links.
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

/// When a flow or a connection comes and goes.
pub(super) fn life() -> [Field; 4] {
    [
        defaulted("start", time(), "0s", "When it starts to send, or is set up first"),
        optional("stop", time(), "When it stops to send, later than `start`; without it, at the end"),
        optional(
            "every",
            time(),
            "Mean time from the start of one of `count` to that of the next, exponential; without it, all start at `start`",
        ),
        optional("lasts", time(), "Mean time from its start to its stop, exponential, instead of `stop`"),
    ]
}

pub(super) fn flow() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Name, which no other flow or connection has"),
        defaulted(
            "count",
            Shape::Value(Kind::Integer(1, MOST_FLOWS)),
            "1",
            "Number of flows like this one; above 1, they are called NAME/1, NAME/2 and so on",
        ),
        required("from", Shape::Name, "Node that sends"),
        required(
            "to",
            Shape::OneOrMoreNames,
            "Node that receives, or a list of nodes that all do (multicast). The shortest routes to them are then a tree: on each \
             of its links a packet and a reservation count once, and what is received, dropped or lost counts every copy",
        ),
        optional(
            "route",
            Shape::Names,
            "Nodes on the way, from `from` to `to`; without it, the shortest path by hops",
        ),
    ];
    fields.extend(terms());
    fields.push(optional(
        "size",
        Shape::OneOrMore(Kind::Size),
        "Packet size of at most 1 MiB, or a list of sizes that are drawn with equal chance; required unless the source brings sizes",
    ));
    fields.push(adaptation());
    fields.extend(life());
    fields.extend([
        optional("hangup", time(), "When the destination tears the flow down, later than `start`; needs `admission`"),
        defaulted(
            "warned",
            Shape::Value(Kind::Word(&["ignore", "slow", "shrink"])),
            "ignore",
            "What the source does when it is warned: goes on; is silent for as long as it is ahead, and then keeps to what it \
             reserves; or sends smaller packets until it is not ahead, and then as large as what it reserves allows",
        ),
        defaulted(
            "ecn",
            Shape::Value(Kind::Word(&["on", "off"])),
            "off",
            "Whether its packets say that their sender answers to congestion marks (ECT(0), RFC 3168): droppers then mark them \
             where they would drop others. The source heeds no mark",
        ),
        optional("change", Shape::Tables(change()), "Changes of what it reserves while it runs; needs `admission`"),
        optional("headers", Shape::Table(headers()), "What its packets look like to a gate on its way; a `capture` brings its own"),
        required("source", source::shape(), "What is sent when"),
        optional(
            "envelope",
            policies("envelope", Some(tidegate_core::shaper::DEFAULT.name), tidegate_core::shaper::RECORDS),
            "Shaper between the source and the network; without it, packets go as they come. What waits in it is not sent yet; in a switch it takes room in the switch's `buffer`, in a host in none",
        ),
    ]);
    let help = "A flow, or `count` flows alike. The keys of a contract are what the flow states to the ports on \
                its way; a policy reads those that it names and ignores the rest.";
    Section::new("flow", "Flow", help, fields)
}
