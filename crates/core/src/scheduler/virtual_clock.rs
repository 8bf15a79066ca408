//! VirtualClock.
use crate::params::{PolicyRecord, Role};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "virtual-clock",
    title: "VirtualClock",
    role: Role::Scheduler,
    help: "Stamps each packet with its flow's auxiliary clock, which advances by packet size over reserved rate, \
           and serves packets in the order of their stamps; flows without a reservation get what is left, first in first out.",
    source: "Zhang 1991, section 3.1",
    params: &[],
    reads: &["reserve"],
};
