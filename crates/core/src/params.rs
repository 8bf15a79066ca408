//! One record per policy: what it is called, what can be set, in which unit and
//! range, what it defaults to and where it comes from.
//!
//! Scenario files, gate files, the JSON Schema, `--set`, the Python types and the
//! reference page are all read from these records; nothing about a parameter is
//! written twice.

use crate::units::Span;

/// What kind of value a parameter takes, and its range.
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
    /// One of a few words.
    Word(&'static [&'static str]),
    /// Free text.
    Text,
}

/// One parameter of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its key in a scenario file.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds when it is left out, spelled as in a scenario file; `None` when leaving
    /// it out has a meaning of its own, which `help` states (or when it is `required`).
    pub default: Option<&'static str>,
    /// Whether it must be given.
    pub required: bool,
    /// One sentence for a person, starting with a noun; says what leaving it out means.
    pub help: &'static str,
}

/// The part that a policy plays in a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Orders flows.
    Scheduler,
    /// Decides whether an arriving packet is dropped or marked.
    Dropper,
    /// Delays packets until they conform.
    Shaper,
    /// Sees whether flows keep their contracts.
    Meter,
}

/// Everything a person can know about a policy without reading its code.
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
    /// What is set once for the policy.
    pub params: &'static [Param],
    /// Which keys of a flow's contract ([`CONTRACT`]) it reads.
    pub reads: &'static [&'static str],
}

/// What a flow may state about itself to the ports on its way. A policy reads the keys
/// that its record names and ignores the rest, so the same flows can be given to any policy.
pub const CONTRACT: &[Param] = &[
    Param {
        name: "reserve",
        kind: Kind::Rate,
        default: None,
        required: false,
        help: "Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow",
    },
    Param {
        name: "interval",
        kind: Kind::Time,
        default: None,
        required: false,
        help: "Average interval (AI), over which the flow sends what it reserved; without it the flow is not monitored",
    },
    Param {
        name: "priority",
        kind: Kind::Time,
        default: Some("0s"),
        required: false,
        help: "Head start (P) over flows without one: its packets are stamped as if they had come so much earlier",
    },
    Param {
        name: "level",
        kind: Kind::Integer(0, 7),
        default: Some("0"),
        required: false,
        help: "Priority level, 0 the most urgent",
    },
];

/// A policy with its parameters.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Which policy.
    pub record: &'static PolicyRecord,
    /// What was set, by parameter name, defaults included.
    pub values: Vec<(&'static str, Value)>,
}

impl Choice {
    /// Whether a parameter that takes a word has this one.
    pub fn is(&self, name: &str, meant: &str) -> bool {
        matches!(self.value(name), Some(Value::Text(word)) if word == meant)
    }

    /// The value of a parameter, if it was set or has a default.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Choice) -> bool {
        self.record.name == other.record.name && self.values == other.values
    }
}

/// A parameter's value after parsing.
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
