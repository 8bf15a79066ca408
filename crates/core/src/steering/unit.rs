//! The units that a rule distinguishes among its packets, and those that continue them under other
//! rules.

use crate::classifier::FiveTuple;
use crate::classifier::rules::Key;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

/// A host, subscriber, 5-tuple or circuit. The keys come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Key(Key),
    Circuit(u32),
}

/// The rules and circuits that continue old ones, by the old numbers.
pub(super) struct Continued {
    pub(super) rules: Vec<Option<usize>>,
    pub(super) circuits: Vec<Vec<Option<u32>>>,
}

impl Continued {
    /// The unit that continues one of an old rule.
    pub(super) fn unit(&self, rule: usize, unit: Unit) -> Option<Unit> {
        match unit {
            Unit::Key(_) => Some(unit),
            Unit::Circuit(circuit) => {
                self.circuits[rule].get(circuit as usize).copied().flatten().map(Unit::Circuit)
            }
        }
    }
}

/// Less than every other key: the order is that of the variants, and of addresses within them.
pub(super) const LEAST: Key = Key::Flow(FiveTuple::Ip {
    source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    ports: None,
    protocol: 0,
});
