//! The checks of a policy's parameters, and their faults.

use super::contract::Contract;
use crate::units::Rate;

/// Where a policy works, as far as it is known before anything runs.
#[derive(Clone, Copy, Debug)]
pub struct NodeContext<'a> {
    /// The rate of the link; of a link that delivers at recorded times, its mean.
    pub link: Rate,
    /// Whether it is that at all times: not of a link that delivers at recorded times.
    pub steady: bool,
    /// The most that signalling may reserve there, in bit/s; `None` where all members are known.
    pub reservable: Option<u64>,
    /// Whose packets it sees: flows, or the classes that are part of a class.
    pub members: &'a [Member],
}

/// Flows that are alike, or a class.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// How many they are.
    pub count: u64,
    /// The contract that each states to the policy.
    pub contract: Contract,
    /// Their largest packet, in bytes; 0 when it is not known.
    pub largest: u32,
    /// Whether they are set up by signalling, which decides what fits as they come and go.
    pub signalled: bool,
}

/// The mistake, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where to put it right.
    pub key: Key,
    /// The mistake, as a phrase without a full stop; for a member, a phrase with `it` as its subject.
    pub message: String,
}

/// Where a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// At a parameter of the policy.
    Param(&'static str),
    /// At a key of a member: a key of its contract, or `size`.
    Member {
        /// Its index in the node.
        index: usize,
        /// Which of those that are alike, from 0.
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
