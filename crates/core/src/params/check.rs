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
    /// The members whose packets the policy sees: flows, or the classes that are part of a class.
    pub members: &'a [Member],
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
