//! Strict priority.
use crate::params::{PolicyRecord, Role};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "strict-priority",
    title: "Strict priority",
    role: Role::Scheduler,
    help: "Serves the most urgent backlogged level first, and FIFO within a level; a busy level starves those below it.",
    source: "RFC 2475, section 2.3.3 (class-based priority)",
    params: &[],
    reads: &["level"],
};
