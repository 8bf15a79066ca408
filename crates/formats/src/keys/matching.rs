//! The keys of `match`, by which a gate recognizes packets.

use crate::section::{OneOrMore, section, words};
use tidegate_core::classifier::matching::PortRange;
use tidegate_core::classifier::rules::{Direction, Each};

section! {
    /// Which packets are meant: those for which everything holds that is given. A list holds when
    /// one of its members does. Later fragments have no ports.
    pub(crate) struct Match = "match", "Match" {
        criteria: Criteria,
        /// Packets that do not belong to it although they match the rest; without it, none
        not: Option<Not>,
    }
}

section! {
    /// Packets that are excluded: those that match everything given here.
    pub(crate) struct Not = "not", "Not" {
        criteria: Criteria,
    }
}

section! {
    /// The criteria for matching packets.
    pub(crate) struct Criteria {
        /// Address or prefix inside: of the sender of what goes up, of the receiver of what goes
        /// down; without it, any
        inside: OneOrMore<String>,
        /// Address or prefix outside; without it, any
        outside: OneOrMore<String>,
        /// Port inside; without it, any
        inside_port: Vec<PortRange>,
        /// Port outside; without it, any
        outside_port: Vec<PortRange>,
        /// Port inside or outside; without it, any
        port: Vec<PortRange>,
        /// Protocol by its name (tcp, udp, icmp, icmp6, esp and so on) or IANA number; without it,
        /// any
        protocol: OneOrMore<String>,
        /// Differentiated services code point; without it, any
        dscp: OneOrMore<u8> as Dscp,
        /// Type of the frame behind its VLAN tags, by its name (arp, ipv4, ipv6, mpls,
        /// pppoe-session, lldp, ptp and so on) or number (0x88f7); without it, any
        ethertype: OneOrMore<String>,
        /// Identifier of the outer or inner VLAN tag; without it, any or none
        vlan: OneOrMore<u16> as Integer(0, 4_095),
        /// MAC address inside: of the sender of what goes up, of the receiver of what goes down;
        /// without it, any
        inside_mac: OneOrMore<String>,
        /// MAC address outside; without it, any
        outside_mac: OneOrMore<String>,
        /// Direction; without it, both
        direction: Option<Direction>,
    }
}

words! {
    Direction {
        Up = "up",
        Down = "down",
    }
}

words! {
    Each {
        FiveTuple = "5-tuple",
        Host = "host",
        Subscriber = "subscriber",
    }
}
