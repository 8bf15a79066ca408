//! The checks of a policy's parameters, and their faults.

use super::contract::Contract;
use crate::units::Rate;

/// The place of a policy, as far as it is known before a run.
#[derive(Clone, Copy, Debug)]
pub struct NodeContext<'a> {
    /// The rate of the link; for a link that delivers at recorded times, its mean.
    pub link: Rate,
    /// Whether the rate is constant: false for a link that delivers at recorded times.
    pub steady: bool,
    /// The most that signalling may reserve at the node, in bit/s; `None` where all members are known.
    pub reservable: Option<u64>,
    /// What the policy gets of the link.
    pub supply: Supply,
    /// The members whose packets the policy sees: flows, or the classes that are part of a class.
    pub members: &'a [Member],
}

/// What a scheduler gets of its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supply {
    /// All of it: it is the port's own.
    Link,
    /// A class gets what the schedulers above it guarantee; `None` when that is nothing.
    Class(Option<Guarantee>),
}

/// A strict service curve: while there are packets, a server sends at least `rate` times the time since they began to
/// wait, less `latency`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantee {
    /// In bytes a second.
    pub rate: f64,
    /// In seconds.
    pub latency: f64,
}

impl Guarantee {
    /// A link of this rate.
    pub fn of_link(rate: Rate) -> Guarantee {
        Guarantee { rate: rate.bits_per_second() / 8.0, latency: 0.0 }
    }

    /// What is left of it below a ceiling, for packets of up to `largest` bytes.
    pub fn under(self, ceiling: Rate, largest: u32) -> Guarantee {
        let rate = ceiling.bits_per_second() / 8.0;
        Guarantee { rate: self.rate.min(rate), latency: self.latency + f64::from(largest) / rate }
    }
}

/// The most that flows send: `burst` bytes at once, and `rate` bytes a second from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// In bytes.
    pub burst: f64,
    /// In bytes a second.
    pub rate: f64,
}

impl Traffic {
    /// The traffic of so many flows with this contract; `None` where it does not say.
    pub fn stated(contract: &Contract, count: u64) -> Option<Traffic> {
        let (reserve, burst) = (contract.reserve?, contract.max_workahead()?);
        let count = count as f64;
        Some(Traffic { burst: burst as f64 * count, rate: reserve.bits_per_second() / 8.0 * count })
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Traffic) -> Traffic {
        Traffic { burst: self.burst + other.burst, rate: self.rate + other.rate }
    }
}

/// A group of identical flows, or a class.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Number of members of the group.
    pub count: u64,
    /// The contract that each states to the policy.
    pub contract: Contract,
    /// Their largest packet, in bytes; 0 when it is not known.
    pub largest: u32,
    /// The most that they send together; `None` where that is not stated. Of a class, what its flows state.
    pub traffic: Option<Traffic>,
    /// Whether they are set up by signalling, which decides what fits as they come and go.
    pub signalled: bool,
}

/// A fault in the parameters: the mistake, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key at which to correct the mistake.
    pub key: Key,
    /// The mistake, as a phrase without a full stop; for a member, a phrase with `it` as its subject.
    pub message: String,
}

/// The location of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// At a parameter of the policy.
    Param(&'static str),
    /// At a key of a member: a key of its contract, or `size`.
    Member {
        /// The member's index in the node.
        index: usize,
        /// Index within its group, from 0.
        nth: u64,
        /// The key.
        key: &'static str,
    },
}

impl Fault {
    /// A mistake at a parameter.
    pub fn at(param: &'static str, message: impl Into<String>) -> Fault {
        Fault { key: Key::Param(param), message: message.into() }
    }

    /// A mistake at a key of a member.
    pub fn of(index: usize, nth: u64, key: &'static str, message: impl Into<String>) -> Fault {
        Fault { key: Key::Member { index, nth, key }, message: message.into() }
    }
}
