//! The gate file's sections. Keys that a gate shares with a scenario have the same names.

use super::{
    Field, Section, Shape, class, defaulted, loss, optional, port, rate, reorder, reorder_delay, required,
    time, trace, version,
};
use crate::units::show_value;
use std::borrow::Cow;
use std::sync::LazyLock;
use tidegate_core::composite::FAIR_DEFAULT;
use tidegate_core::link::Framing;
use tidegate_core::params::{CONTRACT, Kind};

static GATE: LazyLock<Section> = LazyLock::new(|| {
    let fields = vec![
        version("Version of the gate format"),
        optional(
            "name",
            Shape::Value(Kind::Text),
            "Name of the gate; without it, the file's name without its ending",
        ),
        required(
            "gate",
            Shape::Table(bump()),
            "The two interfaces, and the link between them that the gate stands for",
        ),
        optional(
            "emulate",
            Shape::Table(emulate()),
            "What the link does besides carrying frames at its rate; without it, a real link follows",
        ),
        defaulted("port", Shape::Table(gate_port()), "{}", "The output port of each direction"),
        defaulted("switch", Shape::Table(switch()), "{}", "The memory of each direction"),
        optional("class", Shape::Tables(gate_class()), "Classes of flows, in each direction"),
        optional("flow", Shape::Tables(flow()), "Flows: which packets, and what they are promised"),
        defaulted("control", Shape::Table(control()), "{}", "Where a running gate is asked and told"),
        optional("metrics", Shape::Table(metrics()), "Where metrics are served; without it, nowhere"),
    ];
    let help = "A gate between two interfaces: the rate of each direction, the policies of its ports, and which \
                packets belong to which flow.";
    Section::new("gate-file", "Gate file", help, fields)
});

/// The record of a whole gate file.
pub fn gate() -> &'static Section {
    &GATE
}

fn bump() -> Section {
    let most = i64::from(Framing::MAX_OVERHEAD);
    let fields = vec![
        required("inside", Shape::Value(Kind::Text), "Interface towards those whom the link serves"),
        required("outside", Shape::Value(Kind::Text), "Interface towards the rest of the world"),
        optional(
            "up",
            rate(),
            "Rate from the inside to the outside; required, unless `emulate` has a `trace` for it",
        ),
        optional(
            "down",
            rate(),
            "Rate from the outside to the inside; required, unless `emulate` has a `trace` for it",
        ),
        defaulted(
            "io",
            Shape::Value(Kind::Word(&["packet", "ring", "ring-batch", "tap", "xdp"])),
            "packet",
            "How frames come in and go out: packet sockets, their rings (frame by frame, or in blocks that are up to \
             1 ms late and take less of the processor), TAP devices, which the gate makes, or AF_XDP sockets",
        ),
        defaulted(
            "overhead",
            Shape::Value(Kind::Integer(-most, most)),
            "0",
            "Bytes that the link adds to each Ethernet frame; below zero for a link that carries less of it",
        ),
        defaulted(
            "mpu",
            Shape::Value(Kind::Integer(0, i64::from(Framing::MAX_MPU))),
            "0",
            "Bytes that a frame takes at least, its overhead included",
        ),
        defaulted("atm", Shape::Flag, "false", "Whether the link carries ATM cells: 53 bytes for every 48"),
        defaulted(
            "flows",
            Shape::Value(Kind::Integer(1, 1 << 20)),
            "65536",
            "The most flows that are made in each direction by flows with `each`. What comes from further addresses \
             has one queue for each such flow, and so has what comes from more addresses than its share of the \
             rate has room for: 10 kbit/s each, and 1024 in any case",
        ),
        optional(
            "addressed",
            Shape::OneOrMore(Kind::Text),
            "Interfaces that the gate uses although they have an IP address: this host is not reachable there while it \
             runs; without it, none",
        ),
        defaulted(
            "fail",
            Shape::Value(Kind::Word(&["open", "closed"])),
            "open",
            "What becomes of traffic when the gate stops or dies: it passes unshaped through a bridge of the kernel's, \
             or nothing passes",
        ),
    ];
    let help = "A bump in the wire: every frame that comes in at one interface leaves at the other, as fast as the \
                rate of its direction allows. A frame is charged its length with the Ethernet header and \
                without the \
                check sequence, plus `overhead`.";
    Section::new("gate", "Gate", help, fields).citing("tc-stab(8), whose words and arithmetic these are")
}

fn emulate() -> Section {
    let fields = vec![
        optional("up", Shape::Table(emulated()), "The link from the inside to the outside"),
        optional("down", Shape::Table(emulated()), "The link from the outside to the inside"),
    ];
    let help = "The gate as a link of its own, rather than in front of one.";
    Section::new("emulate", "Emulate", help, fields)
}

fn emulated() -> Section {
    let delay = "Propagation delay, from the last bit of a frame out of the port until it is handed on";
    let fields = vec![trace(), defaulted("delay", time(), "0s", delay), loss(), reorder(), reorder_delay()];
    let help = "One direction of an emulated link. A frame is handed on when its last bit has reached the end of the \
                link; where nothing is emulated, it is when its first bit may go.";
    Section::new("emulated", "Emulated direction", help, fields)
}

fn switch() -> Section {
    let buffer = defaulted(
        "buffer",
        Shape::Value(Kind::Limit),
        "1000p",
        "Memory of each direction, shared by its flows with push-out; what one direction holds takes nothing from the other",
    );
    Section::new("switch", "Switch", "The memory of the gate, in each direction.", vec![buffer])
}

fn control() -> Section {
    let fields = vec![
        optional(
            "socket",
            Shape::Value(Kind::Text),
            "Path of the socket; without it, the gate's name with `.sock` in /run/tidegate, or for a user other than \
             root in the folder tidegate of XDG_RUNTIME_DIR",
        ),
        defaulted("mode", Shape::Value(Kind::Text), "0600", "Its permissions, in octal"),
        optional(
            "owner",
            Shape::Value(Kind::Text),
            "Owner: a user, or user:group, each a name or a number; without it, the user of the gate",
        ),
    ];
    Section::new("control", "Control", "The socket for `status`, `top`, `reload` and `down`.", fields)
}

fn metrics() -> Section {
    let listen = required("listen", Shape::Value(Kind::Text), "Address and port, as in 127.0.0.1:9273");
    Section::new("metrics", "Metrics", "Metrics for Prometheus, over HTTP at /metrics.", vec![listen])
}

fn flow() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Name, which no other flow has"),
        defaulted("match", Shape::Table(matching()), "{}", "Which packets belong to it"),
        optional(
            "each",
            Shape::Value(Kind::Word(&["5-tuple", "host", "subscriber"])),
            "What has a flow of its own, made at its first packet: every 5-tuple, every address inside, or every IPv4 \
             address and every /64 of IPv6 inside; without it, all packets that match are one flow in each \
             direction",
        ),
        optional(
            "within",
            Shape::Value(Kind::Word(&["5-tuple"])),
            "What shares what each host or subscriber of `each` has: with 5-tuple, each is a class with the flow's reservation \
             and ceiling, in which every 5-tuple has a queue of its own, an equal claim, and a dropper that keeps it short; \
             without it, one queue",
        ),
        optional(
            "circuits",
            Shape::File,
            "CSV file of circuits, each of which has a flow of its own, made at its first packet; packets whose \
             address inside no circuit has go on to the next flow. What a circuit's line leaves empty is as \
             here",
        ),
        defaulted(
            "idle",
            time(),
            "30s",
            "Time without packets after which a flow made for one of `each` or `circuits` is forgotten, once nothing \
             tells it from a new one",
        ),
    ];
    fields.extend(CONTRACT.iter().map(Field::of_param));
    fields.extend([
        optional(
            "class",
            Shape::Name,
            "Class that it belongs to; without it, the flow is directly under the port's scheduler",
        ),
        optional("ceiling", rate(), "Rate that the flow never exceeds; without it, no ceiling"),
        optional(
            "set_dscp",
            Shape::Value(Kind::Dscp),
            "Differentiated services code point that its packets leave with; without it, the one that they \
             came with",
        ),
    ]);
    fields.extend(directions());
    let help = "A flow, in each direction in which packets match. A packet belongs to the first flow in the file that \
                matches it; what none matches has two more, with small reservations: one for what keeps the \
                link working, such as ARP, and one for all else. The keys of a contract are \
                what the flow states to its port; a policy reads those that it names and ignores the rest. With `each`, \
                all that it opens share what other reservations leave, in proportion to `reserve`, which each has in \
                full while there are few of them: `check` says how many.";
    Section::new("flow", "Flow", help, fields)
}

/// A scenario's port, with a fair queue as its default.
fn gate_port() -> Section {
    let mut section = with_gate_defaults(port());
    for field in &mut section.fields {
        if field.name == "policy" {
            field.default = Some(Cow::Owned(FAIR_DEFAULT.to_string()));
            field.help = "Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`; the default \
                          holds where neither of these nor a `detector` is given";
        }
    }
    section.help = "What the output port of each direction does.";
    section
}

/// A scenario's class, in two directions.
fn gate_class() -> Section {
    let mut section = with_gate_defaults(class());
    section.fields.extend(directions());
    section
}

/// The section with the scheduler that is a gate's default, and with the defaults that parameters
/// have in gate files.
fn with_gate_defaults(mut section: Section) -> Section {
    for field in &mut section.fields {
        match &mut field.shape {
            Shape::Policy(parts) => {
                parts.fields.iter_mut().for_each(|part| with_gate_params(&mut part.shape));
                field.help = "Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and \
                              `dropper`; without it, as these say";
            }
            shape => with_gate_params(shape),
        }
        if field.name == "scheduler" {
            field.default = Some(Cow::Borrowed(FAIR_DEFAULT.scheduler));
        }
    }
    section
}

/// Gives the parameters of every kind the defaults that they have in gate files.
fn with_gate_params(shape: &mut Shape) {
    let Shape::OneOf(one_of) = shape else { return };
    for option in &mut one_of.options {
        for param in option.policy.map_or(&[][..], |record| record.params) {
            let value = (param.in_gate)();
            let key = option.fields.iter_mut().find(|key| key.name == param.name);
            if let (Some(value), Some(key)) = (value, key) {
                key.default = Some(Cow::Owned(show_value(&value)));
            }
        }
    }
}

/// The terms that may differ by direction.
fn directions() -> [Field; 2] {
    let terms = |name, title, help| {
        let fields = vec![
            optional(
                "reserve",
                rate(),
                "Reserved rate in this direction; without it, `reserve` of the whole",
            ),
            optional("ceiling", rate(), "Ceiling in this direction; without it, `ceiling` of the whole"),
        ];
        Shape::Table(Section::new(name, title, help, fields))
    };
    [
        optional(
            "up",
            terms("up", "Up", "What a class or a flow has from the inside to the outside."),
            "What differs from the inside to the outside; without it, nothing",
        ),
        optional(
            "down",
            terms("down", "Down", "What a class or a flow has from the outside to the inside."),
            "What differs from the outside to the inside; without it, nothing",
        ),
    ]
}

fn matching() -> Section {
    let mut fields = criteria();
    let but = "Packets that do not belong to it although they match the rest; without it, none";
    let help = "Packets that are excluded: those that match everything given here.";
    fields.push(optional("not", Shape::Table(Section::new("not", "Not", help, criteria())), but));
    let help = "Which packets are meant: those for which everything holds that is given. A list holds when one of its members \
                does. Later fragments have no ports.";
    Section::new("match", "Match", help, fields)
}

/// The criteria for matching packets.
fn criteria() -> Vec<Field> {
    let text = || Shape::OneOrMore(Kind::Text);
    vec![
        optional(
            "inside",
            text(),
            "Address or prefix inside: of the sender of what goes up, of the receiver of what goes down; \
             without it, any",
        ),
        optional("outside", text(), "Address or prefix outside; without it, any"),
        optional("inside_port", Shape::Ports, "Port inside; without it, any"),
        optional("outside_port", Shape::Ports, "Port outside; without it, any"),
        optional("port", Shape::Ports, "Port inside or outside; without it, any"),
        optional(
            "protocol",
            text(),
            "Protocol by its name (tcp, udp, icmp, icmp6, esp and so on) or IANA number; without it, any",
        ),
        optional("dscp", Shape::OneOrMore(Kind::Dscp), "Differentiated services code point; without it, any"),
        optional(
            "ethertype",
            text(),
            "Type of the frame behind its VLAN tags, by its name (arp, ipv4, ipv6, mpls, pppoe-session, lldp, ptp and so on) or \
             number (0x88f7); without it, any",
        ),
        optional(
            "vlan",
            Shape::OneOrMore(Kind::Integer(0, 4_095)),
            "Identifier of the outer or inner VLAN tag; without it, any or none",
        ),
        optional(
            "inside_mac",
            text(),
            "MAC address inside: of the sender of what goes up, of the receiver of what goes down; without \
             it, any",
        ),
        optional("outside_mac", text(), "MAC address outside; without it, any"),
        optional("direction", Shape::Value(Kind::Word(&["up", "down"])), "Direction; without it, both"),
    ]
}
