//! Which packets does a rule match, by their headers, at a device with two sides?

use super::ethertypes::ethertype_of;
use super::rules::{Direction, Prefix};
use crate::headers::{Headers, MacAddress};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

/// The packets of a rule: those that meet every condition given. A list is met when one of its
/// members is; an empty list is no condition. Conditions on addresses, ports, protocol and DSCP are
/// met by IP packets only.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Match {
    /// The address inside: the source of upstream packets, the destination of downstream ones.
    pub inside: Vec<Prefix>,
    /// The address outside.
    pub outside: Vec<Prefix>,
    /// The MAC address inside: the source of a frame that goes up, the destination of one that goes
    /// down.
    pub inside_mac: Vec<MacAddress>,
    /// The MAC address outside.
    pub outside_mac: Vec<MacAddress>,
    /// The port inside.
    pub inside_port: Vec<PortRange>,
    /// The port outside.
    pub outside_port: Vec<PortRange>,
    /// Either port.
    pub port: Vec<PortRange>,
    /// IANA protocol numbers.
    pub protocol: Vec<u8>,
    /// Differentiated services code points, 0 to 63.
    pub dscp: Vec<u8>,
    /// EtherTypes behind the VLAN tags.
    pub ethertype: Vec<u16>,
    /// Identifiers of the outer or the inner VLAN tag.
    pub vlan: Vec<u16>,
    /// The direction.
    pub direction: Option<Direction>,
    /// Packets that do not match, although they meet all other conditions.
    pub except: Option<Box<Match>>,
}

/// Ports from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// The ports from `first` to `last`; `None` when `last` is below `first`.
    pub const fn new(first: u16, last: u16) -> Option<PortRange> {
        if first <= last { Some(PortRange { first, last }) } else { None }
    }

    /// The first of them.
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The last of them.
    pub const fn last(self) -> u16 {
        self.last
    }

    /// Returns true if the port is one of them.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }
}

impl From<u16> for PortRange {
    /// This port alone.
    fn from(port: u16) -> PortRange {
        PortRange { first: port, last: port }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl Match {
    /// Returns true if packets with these headers that go in this direction match.
    pub fn matches(&self, headers: &Headers, direction: Direction) -> bool {
        fn is<T: PartialEq>(wanted: &[T], found: Option<T>) -> bool {
            wanted.is_empty() || found.is_some_and(|found| wanted.contains(&found))
        }
        let within = |wanted: &[Prefix], found: Option<IpAddr>| {
            wanted.is_empty()
                || found.is_some_and(|address| wanted.iter().any(|prefix| prefix.contains(address)))
        };
        let among = |wanted: &[PortRange], found: &[Option<u16>]| {
            let found = || found.iter().flatten();
            wanted.is_empty() || wanted.iter().any(|range| found().any(|port| range.contains(*port)))
        };
        let ends = Ends::of(headers, direction);
        let vlan = |id: &u16| headers.vlans.iter().flatten().any(|vlan| vlan.id == *id);
        self.direction.is_none_or(|only| only == direction)
            && among(&self.port, &[ends.inside_port, ends.outside_port])
            && (self.ethertype.is_empty() || is(&self.ethertype, ethertype_of(headers)))
            && is(&self.protocol, headers.ip.map(|ip| ip.protocol))
            && is(&self.dscp, headers.ip.map(|ip| ip.dscp))
            && among(&self.inside_port, &[ends.inside_port])
            && among(&self.outside_port, &[ends.outside_port])
            && within(&self.inside, ends.inside)
            && within(&self.outside, ends.outside)
            && is(&self.inside_mac, ends.inside_mac)
            && is(&self.outside_mac, ends.outside_mac)
            && (self.vlan.is_empty() || self.vlan.iter().any(vlan))
            && self.except.as_ref().is_none_or(|except| !except.matches(headers, direction))
    }
}

/// Both ends of a packet, by the side on which they are.
struct Ends {
    inside: Option<IpAddr>,
    outside: Option<IpAddr>,
    inside_port: Option<u16>,
    outside_port: Option<u16>,
    inside_mac: Option<MacAddress>,
    outside_mac: Option<MacAddress>,
}

impl Ends {
    fn of(headers: &Headers, direction: Direction) -> Ends {
        let addresses = headers.ip.map(|ip| (ip.source, ip.destination)).unzip();
        let ports = headers.ip.and_then(|ip| ip.ports).unzip();
        let macs = headers.macs.map(|macs| (macs.source, macs.destination)).unzip();
        let up = direction == Direction::Up;
        fn turned<T>((source, destination): (T, T), up: bool) -> (T, T) {
            if up { (source, destination) } else { (destination, source) }
        }
        let ((inside, outside), (inside_port, outside_port)) = (turned(addresses, up), turned(ports, up));
        let (inside_mac, outside_mac) = turned(macs, up);
        Ends { inside, outside, inside_port, outside_port, inside_mac, outside_mac }
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
