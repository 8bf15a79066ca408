//! First in, first out.
use crate::params::{PolicyRecord, Role};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "fifo",
    title: "FIFO",
    role: Role::Scheduler,
    help: "Serves packets in the order in which they arrived, whatever their flow.",
    source: "the usual baseline; Zhang 1991, section 5",
    params: &[],
    reads: &[],
};
