//! The parameters of a policy, and the facts about it that users and other modules need.
//!
//! A policy's parameters are the fields of a struct that the macro `parameters!` writes: with the type,
//! the range, the default and the help of each, once. Scenario files, gate files, the JSON Schema,
//! `--set`, the Python types and the reference page are all read from it; the policy reads fields.

mod check;
mod consists;
pub mod contract;
mod kind;
mod table;

pub use check::{Fault, Guarantee, Key, Member, NodeContext, Supply, Traffic};
pub use consists::{Consists, Scope};
pub(crate) use kind::registry;
pub use kind::{BuiltIn, Factory, PolicyKind};
pub use table::{Parameter, Parameters};
pub(crate) use table::{parameters, words};

use crate::units::Span;
use contract::{Contract, Refused};

/// The kind of value that a parameter takes, and its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A rate above zero, written with its unit: `400kbit`.
    Rate,
    /// A length of time, zero or more, written with its unit: `5ms`.
    Time,
    /// A size above zero in bytes, written with its unit: `250B`, `64kB`.
    Size,
    /// A limit above zero on a queue, in packets or in bytes: `100p`, `64kB`.
    Limit,
    /// A whole number within a range (inclusive).
    Integer(i64, i64),
    /// A number within a range (inclusive).
    Number(f64, f64),
    /// A differentiated services code point (RFC 2474): a whole number of six bits, or its name: `ef`.
    Dscp,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// Free text.
    Text,
}

/// One parameter of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The parameter's key in a scenario file.
    pub name: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// The default value; `None` when leaving the parameter out has a meaning of its own, which `help` states
    /// (or when it is `required`).
    pub default: fn() -> Option<Value>,
    /// The default value in a gate file; `None` for the same as elsewhere.
    pub in_gate: fn() -> Option<Value>,
    /// Whether the parameter must be given.
    pub required: bool,
    /// One sentence for a person, starting with a noun; says what leaving it out means.
    pub help: &'static str,
}

/// The role of a policy in a port or at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Is several policies that are known by one name together.
    Composite(Consists),
    /// Orders flows.
    Scheduler {
        /// When it starts packets.
        service: Service,
    },
    /// Decides whether an arriving packet is dropped or marked.
    Dropper,
    /// Delays packets until they conform.
    Shaper,
    /// Sees whether flows keep their contracts.
    Meter {
        /// Whether it divides a profile's packets by colour into those inside and those outside, so that what is inside
        /// has to be provisioned for.
        colours: bool,
    },
    /// Names flows that do not respond to congestion.
    Detector,
    /// Tells the sources of ABR connections, at an output port, at which rate they may send.
    RateControl,
    /// Couples the control loops of ABR connections before and behind an output port.
    Coupling,
    /// Makes both ends of a connection.
    Transport {
        /// Whether what is sent depends on what the network does with it.
        responsive: bool,
    },
}

/// The most that a transport has in flight, because its receiver takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverWindow {
    /// The parameter that states it.
    pub key: &'static str,
    /// Its value, in bytes of data.
    pub data: u64,
    /// The packets that carry these data, in bytes.
    pub packets: u64,
}

/// Whether a dropper marks ECN-capable packets in place of dropping them (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// It does not.
    Never,
    /// It does, in some states of its queue.
    EcnCapable {
        /// The parameter by which it is asked to; `None` for one that always does.
        by: Option<&'static str>,
    },
}

/// When a scheduler starts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// As soon as the server is free and any packet waits.
    WorkConserving,
    /// As soon as the server is free and a packet waits that is eligible: a packet may have to wait for a time that its
    /// flow's contract and what it carries say.
    Regulated,
    /// At the beginning of slots only, which are laid out in the order in which flows are set up. Of two such
    /// schedulers, one in a class of the other, the slots may never begin at the same time.
    Slotted,
}

/// The meaning of a scheduler's stamps, the tags of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// Packets are served in the order of their stamps, each a time or [`NEVER`](crate::units::Time::NEVER).
    Times,
    /// Packets are served in the order of their stamps, each an order of arrival.
    Arrivals,
    /// Packets are not served in the order of their stamps, or there are none.
    Unordered,
}

/// The meaning that a scheduler gives to the value that a packet carries from hop to hop
/// ([`Packet::carry`](crate::packet::Packet::carry)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// It neither reads nor writes: the packet keeps the value with which it came.
    Nothing,
    /// How much longer the packet has waited than packets did on average, at all hops before.
    Deviation,
    /// How long before its deadline the packet left the hop before.
    Ahead,
}

/// Everything that can be known about a policy without reading its code.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRecord {
    /// Its name in scenario files and on the command line: `virtual-clock`.
    pub name: &'static str,
    /// Its name in prose: `VirtualClock`.
    pub title: &'static str,
    /// What it plays.
    pub role: Role,
    /// One or two sentences for a person.
    pub help: &'static str,
    /// Paper and section, or RFC and section.
    pub source: &'static str,
    /// The parameters of the policy.
    pub params: &'static [Param],
    /// Which keys of a flow's contract ([`CONTRACT`]) it reads.
    pub reads: &'static [&'static str],
    /// What the tags mean that it writes.
    pub stamps: Stamps,
    /// Whether what one flow is promised may leave too little for another, so that all contracts
    /// at its node have to be checked together.
    pub divides: bool,
    /// Whether its order depends on packets behind the first of a flow. Above a class, of which it sees one
    /// packet at a time, its order then differs from that above the flow itself.
    pub reads_queues: bool,
    /// The key of a contract without which it does nothing for a flow; `None` for a policy that
    /// sees to every flow.
    pub needs: Option<&'static str>,
    /// The value that a packet carries from it to the next hop.
    pub carries: Carry,
}

impl PolicyRecord {
    /// Whether it is a scheduler that starts packets at the beginning of slots only.
    pub const fn is_slotted(&self) -> bool {
        matches!(self.role, Role::Scheduler { service: Service::Slotted })
    }

    /// Whether what is sent by it depends on what the network does with it.
    pub const fn is_responsive(&self) -> bool {
        matches!(self.role, Role::Transport { responsive: true })
    }
}

/// Where a scheduler keeps the rates that flows reserve, as long as they are no more than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepsRates {
    /// Whether it also does in a class, and towards classes for what is in them; if not, only towards the flows of a link's
    /// own scheduler.
    pub in_classes: bool,
    /// The longest time that a packet of any flow may take at the flow's reserved rate; `None` for any.
    pub longest_packet: Option<Span>,
}

/// A policy's parameters, and how it is made of them.
pub trait PolicyParams: Parameters {
    /// What is made.
    type Made;

    /// Its record.
    const RECORD: PolicyRecord;

    /// The policy with these parameters, without flows.
    ///
    /// # Errors
    /// When a value is beyond what the policy takes.
    fn make(&self) -> Result<Self::Made, Refused>;

    /// Values that are allowed together, for tests over all policies. At a link of 1 Mbit/s they
    /// suit flows that reserve 300 kbit/s in all and send packets of up to 1500 bytes.
    fn example() -> Self;

    /// Checks what holds across parameters.
    ///
    /// # Errors
    /// When two of them contradict each other.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether a dropper marks ECN-capable packets in place of dropping them.
    fn marking(&self) -> Marking {
        Marking::Never
    }

    /// Where a scheduler keeps the rates that flows reserve, so that its packets leave in the time of
    /// [`bounds::behind_own_line`](crate::bounds::behind_own_line); `None` for one of which nothing is promised.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        None
    }

    /// The parameter that makes a meter's window follow the round-trip times that transports measure; `None` for what
    /// follows none.
    fn follows_round_trips(&self) -> Option<&'static str> {
        None
    }

    /// Whether a dropper or a detector tells packets apart by their colours, so that it needs packets that a
    /// meter has coloured.
    fn reads_colours(&self) -> bool {
        false
    }

    /// The receiver's window of a transport that sends packets of `size` bytes; `None` for one without such a window.
    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow> {
        let _ = size;
        None
    }

    /// The share of a link that a switch algorithm aims to have used; `None` for one that states no share.
    fn target_utilisation(&self) -> Option<f64> {
        None
    }

    /// Whether a scheduler's order is one of urgency, so that an idle port waits for all packets of an instant before it
    /// sends one of them.
    fn waits_for_ties(&self) -> bool {
        false
    }

    /// What a scheduler guarantees to the member with this index, which is a class, of a server with this guarantee;
    /// `None` for nothing.
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee> {
        let _ = (server, members, index);
        None
    }

    /// Checks the parameters against the link and the flows of a node.
    ///
    /// # Errors
    /// When what is asked for does not fit.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let _ = node;
        Ok(())
    }
}

/// The keys that a flow may state to the ports on its way. A policy reads the keys that its record names and
/// ignores the rest, so the same flows can be given to any policy.
pub const CONTRACT: &[Param] = Contract::PARAMS;

/// A parameter's value as it is read from a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bits per second.
    Rate(u64),
    /// A length of time.
    Time(Span),
    /// Bytes.
    Size(u64),
    /// A limit on a queue.
    Limit(Limit),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Free text, or one of a few words.
    Text(String),
}

/// A limit on a queue: packets or bytes, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets.
    Packets(u64),
    /// At most so many bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether a queue of `packets` and `bytes` is within the limit.
    #[inline]
    pub fn admits(self, packets: u64, bytes: u64) -> bool {
        match self {
            Limit::Packets(most) => packets <= most,
            Limit::Bytes(most) => bytes <= most,
        }
    }
}
