//! A mistake in the parameters of a policy, and its key.

use alloc::string::String;

/// A fault in the parameters: the mistake, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key at which to correct the mistake.
    pub key: Key,
    /// The mistake, as a phrase without a full stop; for a member, a phrase with `it` as its
    /// subject.
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
    /// Creates a fault at a parameter.
    pub fn at(param: &'static str, message: impl Into<String>) -> Fault {
        Fault { key: Key::Param(param), message: message.into() }
    }

    /// Creates a fault at a key of a member.
    pub fn of(index: usize, nth: u64, key: &'static str, message: impl Into<String>) -> Fault {
        Fault { key: Key::Member { index, nth, key }, message: message.into() }
    }
}
