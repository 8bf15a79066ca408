//! The parameters of a policy, and the facts about it that users and other modules need.
//!
//! The macro `parameters!` writes a policy's parameters as a struct. Each field has its type,
//! range, default and help, once. Scenario files, gate files, the JSON Schema, `--set`, the Python
//! types and the reference page are all read from it; the policy reads fields.

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
    /// A differentiated services code point (RFC 2474): a whole number of six bits, or its name:
    /// `ef`.
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
    /// The default value; `None` when leaving the parameter out has a meaning of its own, which
    /// `help` states (or when it is `required`).
    pub default: fn() -> Option<Value>,
    /// The default value in a gate file; `None` if it is as elsewhere.
    pub in_gate: fn() -> Option<Value>,
    /// True if the parameter must be given.
    pub required: bool,
    /// One sentence for a person, starting with a noun; states the meaning of leaving it out.
    pub help: &'static str,
}

/// The role of a policy in a port or at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Several policies under one name.
    Composite(Consists),
    /// Orders flows.
    Scheduler {
        /// The moment at which it starts packets.
        service: Service,
    },
    /// Drops or marks arriving packets.
    Dropper,
    /// Delays packets until they conform.
    Shaper,
    /// Checks flows against their contracts.
    Meter {
        /// True if it divides a profile's packets by colour into those inside and those outside, so
        /// that the traffic inside has to be provisioned for.
        colours: bool,
    },
    /// Names flows that do not respond to congestion.
    Detector,
    /// Tells the sources of ABR connections, at an output port, the rate at which they may send.
    RateControl,
    /// Couples the control loops of ABR connections before and behind an output port.
    Coupling,
    /// Makes both ends of a connection.
    Transport {
        /// True if the sent traffic depends on the network's treatment of it.
        responsive: bool,
    },
}

/// Greatest amount that a transport has in flight, limited by its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverWindow {
    /// The parameter that states it.
    pub key: &'static str,
    /// Its value, in bytes of data.
    pub data: u64,
    /// The packets that carry these data, in bytes.
    pub packets: u64,
}

/// Marking of ECN-capable packets by a dropper in place of dropping them (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// It does not.
    Never,
    /// It does, in some states of its queue.
    EcnCapable {
        /// The parameter that enables it; `None` for one that always does.
        by: Option<&'static str>,
    },
}

/// The moment at which a scheduler starts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// As soon as the server is free and any packet waits.
    WorkConserving,
    /// As soon as the server is free and an eligible packet waits. A packet may have to wait for a
    /// time that depends on its flow's contract and on the value that it carries.
    Regulated,
    /// At the beginning of slots only, laid out in the order in which flows are set up. The slots
    /// of two such schedulers, one in a class of the other, may never begin at the same time.
    Slotted,
}

/// The meaning of a scheduler's stamps, the tags of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// Packets are served in the order of their stamps, each a time or
    /// [`NEVER`](crate::units::Time::NEVER).
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
    /// It neither reads nor writes: the packet keeps its value.
    Nothing,
    /// Waiting time of the packet beyond the average of packets, at all hops before.
    Deviation,
    /// Time before its deadline at which the packet left the hop before.
    Ahead,
}

/// The facts about a policy that others need without reading its code.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRecord {
    /// Its name in scenario files and on the command line: `virtual-clock`.
    pub name: &'static str,
    /// Its name in prose: `VirtualClock`.
    pub title: &'static str,
    /// Its role.
    pub role: Role,
    /// One or two sentences for a person.
    pub help: &'static str,
    /// Paper and section, or RFC and section.
    pub source: &'static str,
    /// The parameters of the policy.
    pub params: &'static [Param],
    /// The keys of a flow's contract ([`CONTRACT`]) that it reads.
    pub reads: &'static [&'static str],
    /// The meaning of the tags that it writes.
    pub stamps: Stamps,
    /// True if one flow's promise may leave too little for another, so that all contracts at its
    /// node have to be checked together.
    pub divides: bool,
    /// True if its order depends on packets behind the first of a flow. Above a class, of which it
    /// sees one packet at a time, its order then differs from that above the flow itself.
    pub reads_queues: bool,
    /// The key of a contract without which it does nothing for a flow; `None` for a policy that
    /// sees to every flow.
    pub needs: Option<&'static str>,
    /// The value that a packet carries from it to the next hop.
    pub carries: Carry,
}

impl PolicyRecord {
    /// Returns true for a scheduler that starts packets at the beginning of slots only.
    pub const fn is_slotted(&self) -> bool {
        matches!(self.role, Role::Scheduler { service: Service::Slotted })
    }

    /// Returns true if the traffic that it sends depends on the network's treatment of it.
    pub const fn is_responsive(&self) -> bool {
        matches!(self.role, Role::Transport { responsive: true })
    }
}

/// Conditions under which a scheduler keeps the rates that flows reserve, as long as they are no
/// more than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepsRates {
    /// True if it also keeps them in a class, and towards classes for the flows in them. If false,
    /// only towards the flows of a link's own scheduler.
    pub in_classes: bool,
    /// The longest time that a packet of any flow may take at the flow's reserved rate; `None` for
    /// any.
    pub longest_packet: Option<Span>,
}

/// The parameters of a policy, from which it is made.
pub trait PolicyParams: Parameters {
    /// The type of the policy that is made.
    type Policy;

    /// Its record.
    const RECORD: PolicyRecord;

    /// Makes the policy with these parameters, without flows.
    ///
    /// # Errors
    /// When a value is beyond the range of the policy.
    fn make(&self) -> Result<Self::Policy, Refused>;

    /// Values that are allowed together, for tests over all policies. At a link of 1 Mbit/s they
    /// suit flows that reserve 300 kbit/s in all and send packets of up to 1500 bytes.
    fn example() -> Self;

    /// Checks constraints across parameters.
    ///
    /// # Errors
    /// When two of them contradict each other.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns how a dropper treats ECN-capable packets that it would drop.
    fn marking(&self) -> Marking {
        Marking::Never
    }

    /// Returns the conditions under which a scheduler keeps the rates that flows reserve, so that
    /// its packets leave in the time of
    /// [`bounds::behind_own_line`](crate::bounds::behind_own_line); `None` for one without such a
    /// promise.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        None
    }

    /// Returns the parameter that makes a meter's window follow the round-trip times that
    /// transports measure; `None` without such a window.
    fn follows_round_trips(&self) -> Option<&'static str> {
        None
    }

    /// Returns true if a dropper or a detector distinguishes packets by their colours, so that it
    /// needs packets that a meter has coloured.
    fn reads_colours(&self) -> bool {
        false
    }

    /// Returns the receiver's window of a transport that sends packets of `size` bytes; `None` for
    /// one without such a window.
    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow> {
        let _ = size;
        None
    }

    /// Returns the target utilisation of a switch algorithm, as a share of a link; `None` for one
    /// that states no share.
    fn target_utilisation(&self) -> Option<f64> {
        None
    }

    /// Returns true if a scheduler's order is one of urgency, so that an idle port waits for all
    /// packets of an instant before it sends one of them.
    fn waits_for_ties(&self) -> bool {
        false
    }

    /// Returns the scheduler's guarantee to the member with this index, which is a class, given the
    /// guarantee of the server; `None` for none.
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee> {
        let _ = (server, members, index);
        None
    }

    /// Checks the parameters against the link and the flows of a node.
    ///
    /// # Errors
    /// When the requested values do not fit.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let _ = node;
        Ok(())
    }
}

/// The keys that a flow may state to the ports on its way. A policy reads the keys that its record
/// names and ignores the rest, so the same flows can be given to any policy.
pub const CONTRACT: &[Param] = Contract::PARAMS;

/// A parameter's value, as read from a file.
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
    /// Greatest number of packets.
    Packets(u64),
    /// Greatest number of bytes.
    Bytes(u64),
}

impl Limit {
    /// Returns true if a queue of `packets` and `bytes` is within the limit.
    #[inline]
    pub fn admits(self, packets: u64, bytes: u64) -> bool {
        match self {
            Limit::Packets(most) => packets <= most,
            Limit::Bytes(most) => bytes <= most,
        }
    }
}
