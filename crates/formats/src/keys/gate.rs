//! The gate file's sections. Keys that a gate shares with a scenario have the same names.

use super::contract::OfFlow;
use super::matching::Match;
use super::policies::InGate;
use super::port::{Class, Port, PortPolicies};
use super::wire::{Framed, Recorded, Wire};
use crate::record::Section;
use crate::section::{About, Keys, Name, OneOrMore, ParamsOf, Placed, Table, section, words};
use std::borrow::Cow;
use std::path::PathBuf;
use tidegate_core::classifier::rules::Each;
use tidegate_core::composite::FAIR_DEFAULT;
use tidegate_core::params::Limit;
use tidegate_core::units::Span;

section! {
    /// A gate between two interfaces: the rate of each direction, the policies of its ports, and
    /// which packets belong to which flow.
    pub(crate) struct File = "gate-file", "Gate file" {
        /// Name of the gate; without it, the file's name without its ending
        name: Option<String>,
        /// The two interfaces, and the link between them that the gate stands for
        gate: Gate,
        #[doc = "What the link does besides carrying frames at its rate; without it, a real link follows"]
        emulate: Option<Emulate>,
        /// The output port of each direction
        port: GatePort = "{}",
        /// The memory of each direction
        switch: Switch = "{}",
        /// Classes of flows, in each direction
        class: Vec<Placed<GateClass>>,
        /// Flows: which packets, and what they are promised
        flow: Vec<Placed<Flow>>,
        /// Where a running gate is asked and told
        control: Control = "{}",
        /// Where metrics are served; without it, nowhere
        metrics: Option<Metrics>,
    }
}

section! {
    /// A bump in the wire: every frame that comes in at one interface leaves at the other, as fast
    /// as the rate of its direction allows. A frame is charged its length with the Ethernet header
    /// and without the check sequence, plus `overhead`.
    #[source = "tc-stab(8), whose words and arithmetic these are"]
    pub(crate) struct Gate = "gate", "Gate" {
        /// Interface towards those whom the link serves
        inside: String,
        /// Interface towards the rest of the world
        outside: String,
        /// Rate from the inside to the outside; required, unless `emulate` has a `trace` for it
        up: Option<u64> as Rate,
        /// Rate from the outside to the inside; required, unless `emulate` has a `trace` for it
        down: Option<u64> as Rate,
        #[doc = "How frames come in and go out: rings of packet sockets, packet sockets without rings, which \
                 take less memory, rings that hand over frames in blocks and up to 1 ms late, TAP devices, \
                 which the gate makes, or AF_XDP sockets"]
        io: Io = "ring",
        framing: Framed,
        /// The most flows that are made in each direction by flows with `each`. What comes from
        /// further addresses has one queue for each such flow, and so has what comes from more
        /// addresses than its share of the rate has room for: 10 kbit/s each, and 1024 in any case
        flows: u32 as Integer(1, 1 << 20) = "65536",
        /// Interfaces that the gate uses although they have an IP address: this host is not
        /// reachable there while it runs; without it, none
        addressed: OneOrMore<String>,
        #[doc = "What becomes of traffic when the gate stops or dies: it passes unshaped through a bridge \
                 of the kernel's, or nothing passes"]
        fail: Fail = "open",
    }
}

words! {
    /// Input and output of a gate's frames.
    pub enum Io {
        /// Packet sockets, many frames at a time.
        Packet = "packet",
        /// Packet sockets with rings of slots to receive from.
        Ring = "ring",
        /// Packet sockets with rings of blocks to receive from.
        RingBatch = "ring-batch",
        /// TAP devices, which the gate makes.
        Tap = "tap",
        /// AF_XDP sockets.
        Xdp = "xdp",
    }
}

words! {
    /// The treatment of traffic when the gate stops or dies.
    pub enum Fail {
        /// Packets pass unshaped, through a bridge of the kernel.
        Open = "open",
        /// Nothing passes.
        Closed = "closed",
    }
}

section! {
    /// The gate as a link of its own, rather than in front of one.
    pub(crate) struct Emulate = "emulate", "Emulate" {
        /// Seed of losses and jitter: the same seed draws the same for one frame after the other
        seed: u64 = "1",
        /// The link from the inside to the outside
        up: Option<Emulated>,
        /// The link from the outside to the inside
        down: Option<Emulated>,
    }
}

section! {
    /// One direction of an emulated link. A frame is handed on when its last bit has reached the
    /// end of the link; where nothing is emulated, it is when its first bit may go.
    pub(crate) struct Emulated = "emulated", "Emulated direction" {
        recorded: Recorded,
        /// Propagation delay, from the last bit of a frame out of the port until it is handed on
        delay: Span = "0s",
        wire: Wire,
    }
}

section! {
    /// The policies of the output port of each direction.
    pub(crate) struct GatePort {
        policies: InGate<PortPolicies>,
    }
}

impl Table for GatePort {
    const ABOUT: About = Port::ABOUT;

    fn section() -> Section {
        let mut fields = GatePort::fields();
        for field in fields.iter_mut().filter(|field| field.name == "policy") {
            field.default = Some(Cow::Owned(FAIR_DEFAULT.to_string()));
            field.help = "Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`; the default \
                          holds where neither of these nor a `detector` is given";
        }
        Section { help: "What the output port of each direction does.", fields, ..Port::section() }
    }
}

section! {
    /// The memory of the gate, in each direction.
    pub(crate) struct Switch = "switch", "Switch" {
        /// Memory of each direction, shared by its flows with push-out; what one direction holds
        /// takes nothing from the other
        buffer: Limit = "1000p",
    }
}

section! {
    /// A scenario's class, in two directions.
    pub(crate) struct GateClass {
        class: InGate<Class>,
        directions: Directions,
    }
}

impl Table for GateClass {
    const ABOUT: About = Class::ABOUT;

    fn section() -> Section {
        Section { fields: GateClass::fields(), ..Class::section() }
    }
}

section! {
    /// A flow, in each direction in which packets match. A packet belongs to the first flow in the
    /// file that matches it; what none matches has two more, with small reservations: one for what
    /// keeps the link working, such as ARP, and one for all else. The keys of a contract are what
    /// the flow states to its port; a policy reads those that it names and ignores the rest. With
    /// `each`, all that it opens share what other reservations leave, in proportion to `reserve`,
    /// which each has in full while there are few of them: `check` says how many.
    pub(crate) struct Flow = "flow", "Flow" {
        /// Name, which no other flow has
        name: Name,
        /// Which packets belong to it
        r#match: Match = "{}",
        #[doc = "What has a flow of its own, made at its first packet: every 5-tuple, every address \
                 inside, or every IPv4 address and every /64 of IPv6 inside; without it, all packets that \
                 match are one flow in each direction"]
        each: Option<Each>,
        #[doc = "What shares what each host, subscriber or circuit has: with 5-tuple, each is a class \
                 with its reservation and ceiling, in which FQ-CoDel is fair to every 5-tuple and sends \
                 sparse ones first; with host, 5-tuple, it is fair to every address inside first, and then \
                 to every 5-tuple of each; with triple-isolate, to every address inside and outside; with none, \
                 one queue. Without it, circuits have 5-tuple, those of LibreQoS's list triple-isolate, and \
                 others none"]
        within: Option<Within>,
        /// CSV file of circuits, each of which has a flow of its own, made at its first packet;
        /// packets whose address inside no circuit has go on to the next flow. What a circuit's
        /// line leaves empty is as here. LibreQoS's `ShapedDevices.csv` is read as it is
        circuits: Option<PathBuf>,
        /// LibreQoS's `network.json`, with a `ShapedDevices.csv` as `circuits`: each node that is not
        /// virtual is a class, and what it carries is the class's ceiling; without it, the list names
        /// no node
        network: Option<PathBuf>,
        /// True for a gate that may differ from LibreQoS's files: least rates that do not fit are
        /// lowered, and queue management that a gate does not have is replaced; otherwise such files
        /// are refused
        accept_losses: bool = "false",
        /// Time without packets after which a flow made for one of `each` or `circuits` is
        /// forgotten, once nothing tells it from a new one
        idle: Span = "30s",
        contract: ParamsOf<OfFlow>,
        /// Class that it belongs to; without it, the flow is directly under the port's scheduler
        class: Option<Name>,
        /// Rate that the flow never exceeds; without it, no ceiling
        ceiling: Option<u64> as Rate,
        /// Differentiated services code point that its packets leave with; without it, the one that
        /// they came with
        set_dscp: Option<u8> as Dscp,
        directions: Directions,
    }
}

words! {
    /// The conversations that share what a host, subscriber or circuit has.
    pub enum Within {
        /// Every 5-tuple has a queue of its own.
        FiveTuple = "5-tuple",
        /// So has every 5-tuple; hosts take turns, and the 5-tuples of each share its turn.
        HostFiveTuple = "host, 5-tuple",
        /// So has every 5-tuple, whose turn is divided by the number of conversations of that of its two
        /// hosts that has more.
        TripleIsolate = "triple-isolate",
        /// All have one queue.
        None = "none",
    }
}

section! {
    /// The terms of a class or a flow that may differ by direction.
    pub(crate) struct Directions {
        #[doc = "What differs from the inside to the outside; without it, nothing"]
        up: Option<Up>,
        #[doc = "What differs from the outside to the inside; without it, nothing"]
        down: Option<Down>,
    }
}

section! {
    #[doc = "What a class or a flow has from the inside to the outside."]
    pub(crate) struct Up = "up", "Up" {
        terms: DirectionTerms,
    }
}

section! {
    #[doc = "What a class or a flow has from the outside to the inside."]
    pub(crate) struct Down = "down", "Down" {
        terms: DirectionTerms,
    }
}

section! {
    /// The terms of one direction.
    pub(crate) struct DirectionTerms {
        /// Reserved rate in this direction; without it, `reserve` of the whole
        reserve: Option<u64> as Rate,
        /// Ceiling in this direction; without it, `ceiling` of the whole
        ceiling: Option<u64> as Rate,
    }
}

section! {
    /// The socket for `status`, `top`, `reload` and `down`.
    pub(crate) struct Control = "control", "Control" {
        /// Path of the socket; without it, the gate's name with `.sock` in /run/tidegate, or for a
        /// user other than root in the folder tidegate of XDG_RUNTIME_DIR
        socket: Option<String>,
        /// Its permissions, in octal
        mode: String = "0600",
        /// Owner: a user, or user:group, each a name or a number; without it, the user of the gate
        owner: Option<String>,
    }
}

section! {
    /// Metrics for Prometheus, over HTTP at /metrics.
    pub(crate) struct Metrics = "metrics", "Metrics" {
        /// Address and port, as in 127.0.0.1:9273
        listen: String,
    }
}
