//! The kind of value that a parameter takes, and values as read from a file.

use crate::units::Span;
use alloc::string::String;
use alloc::vec::Vec;

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
    /// A policy of the role with this name in prose ([`Role::name`](super::Role::name)): its own
    /// name, or a table with `kind` and its parameters.
    Policy(&'static str),
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
    /// A policy.
    Policy(PolicyValue),
}

/// A policy as the value of a parameter of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyValue {
    /// Its name.
    pub name: String,
    /// The values of its parameters.
    pub values: Vec<(&'static str, Value)>,
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
