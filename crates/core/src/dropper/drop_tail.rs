//! Drop-tail.
use crate::params::{Kind, Param, PolicyRecord, Role};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "drop-tail",
    title: "Drop-tail",
    role: Role::Dropper,
    help: "Drops the arriving packet when the port's queue would exceed its limit.",
    source: "RFC 7567, section 2",
    params: &[Param {
        name: "limit",
        kind: Kind::Limit,
        default: None,
        required: true,
        help: "Longest queue of the port, the packet in service included",
    }],
    reads: &[],
};
