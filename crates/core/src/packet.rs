//! The ticket that stands for a packet inside a switch, and the indices of flows and ports.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::packet::{BodyId, Mark, Packet};
//!
//! let packet = Packet::new(BodyId(7), 1500);
//! assert_eq!((packet.body, packet.len), (BodyId(7), 1500));
//! // Expedited forwarding, from an ECN-capable sender.
//! let mark = Mark::from_ip(46, 0b10);
//! assert_eq!((mark.dscp(), mark.ecn()), (46, 2));
//! assert_eq!(mark.with_dscp(0).ecn(), 2);
//! ```

use crate::units::Time;

/// The driver's name for a packet's bytes, which never enter this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BodyId(pub u32);

impl BodyId {
    /// The body of a token, which stands for a class at the scheduler above it: no packet has it.
    pub(crate) const TOKEN: BodyId = BodyId(u32::MAX);
}

/// A flow's dense index at one port (or, inside a tree, at one node).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowIx(pub u32);

/// An output port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortIx(pub u16);

/// One leg of a flow at one switch: an output port and the flow's index there. A multicast flow has
/// several legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leg {
    /// The output port.
    pub port: PortIx,
    /// The flow's index at that port.
    pub flow: FlowIx,
}

impl FlowIx {
    /// The index as a `usize`, for a `Vec`.
    #[inline]
    pub const fn ix(self) -> usize {
        self.0 as usize
    }
}

/// A 40-byte `Copy` ticket. The bytes stay with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The driver's name for the bytes.
    pub body: BodyId,
    /// Flow index, dense and local: never hashed here. Drivers assign it at set-up.
    pub flow: FlowIx,
    /// Length in bytes, as charged to clocks and buckets.
    pub len: u32,
    /// Colour, ECN, EFCI, DSCP.
    pub mark: Mark,
    /// 1 when other ports hold the same body (multicast), else 0; kept by the switch. Not a
    /// `bool`: an `Option<Packet>` would hide its tag there, and be copied in pieces.
    pub(crate) shared: u8,
    /// The driver's own: the switch keeps it with the packet, and reads nothing into it.
    pub note: u8,
    /// Arrival time of the last bit at this switch.
    pub arrived: Time,
    /// Reserved for the scheduler while the packet is queued.
    pub tag: u64,
    /// A value from a scheduler to the next hop, in ticks; [`Carry`](crate::params::Carry) gives
    /// its meaning.
    pub carry: i64,
}

impl Packet {
    /// A placeholder for no packet.
    pub const NONE: Packet = Packet::new(BodyId(u32::MAX), 0);

    /// Creates a packet of `len` bytes whose bytes the driver keeps as `body`; unmarked.
    #[inline]
    pub const fn new(body: BodyId, len: u32) -> Packet {
        Packet {
            body,
            flow: FlowIx(u32::MAX),
            len,
            mark: Mark::NONE,
            shared: 0,
            note: 0,
            arrived: Time::from_ticks(0),
            tag: 0,
            carry: 0,
        }
    }
}

/// Drop precedence (RFC 2597, RFC 2697).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// In profile.
    Green,
    /// Beyond the committed rate or burst.
    Yellow,
    /// Out of profile.
    Red,
}

/// The marks that meters and droppers write on a packet, in 16 bits: DSCP (RFC 2474), ECN (RFC
/// 3168), EFCI (ATM TM 4.0) and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Mark(u16);

impl Mark {
    /// Not marked: best effort, not ECN-capable, green.
    pub const NONE: Mark = Mark(0);
    const ECN_SHIFT: u32 = 6;
    const ECN_CE: u16 = 0b11;
    const ECT_0: u16 = 0b10;
    const COLOUR_SHIFT: u32 = 8;
    const EFCI: u16 = 1 << 10;
    const SET: u16 = 1 << 11;

    /// Returns the mark of a packet that carries this DSCP (6 bits) and ECN codepoint (2 bits).
    pub const fn from_ip(dscp: u8, ecn: u8) -> Mark {
        Mark((dscp & 0x3f) as u16 | ((ecn & 0b11) as u16) << Self::ECN_SHIFT)
    }

    /// The 6-bit DSCP.
    pub const fn dscp(self) -> u8 {
        (self.0 & 0x3f) as u8
    }

    /// The 2-bit ECN codepoint.
    pub const fn ecn(self) -> u8 {
        ((self.0 >> Self::ECN_SHIFT) & 0b11) as u8
    }

    /// Returns this mark with another DSCP (6 bits).
    #[must_use]
    pub const fn with_dscp(self, dscp: u8) -> Mark {
        Mark(self.0 & !0x3f | (dscp & 0x3f) as u16 | Self::SET)
    }

    /// Returns this mark with another ECN codepoint (2 bits).
    #[must_use]
    pub const fn with_ecn(self, ecn: u8) -> Mark {
        let cleared = self.0 & !(0b11 << Self::ECN_SHIFT);
        Mark(cleared | ((ecn & 0b11) as u16) << Self::ECN_SHIFT | Self::SET)
    }

    /// The drop precedence of an assured-forwarding codepoint, 1 to 3 (RFC 2597: AFxy, class x,
    /// drop precedence y); `None` for others.
    const fn drop_precedence(self) -> Option<u8> {
        let (class, precedence) = (self.dscp() >> 3, self.dscp() >> 1 & 0b11);
        let assured = matches!(class, 1..=4) && precedence > 0 && self.dscp() & 1 == 0;
        if assured { Some(precedence) } else { None }
    }

    /// The DSCP that shows the colour. An assured-forwarding codepoint (RFC 2597) gets at least the
    /// precedence of the colour, 1 for green, 2 for yellow, 3 for red; a packet with a higher one
    /// keeps it. Other codepoints cannot show a colour, and stay.
    pub const fn coloured_dscp(self) -> u8 {
        let shown = self.colour() as u8 + 1;
        match self.drop_precedence() {
            Some(precedence) if shown > precedence => self.dscp() & 0b11_1000 | shown << 1,
            _ => self.dscp(),
        }
    }

    /// Returns the colour of an arriving packet: the worse of the one that was written on it and
    /// the drop precedence of its assured-forwarding codepoint.
    pub const fn shown_colour(self) -> Colour {
        match (self.drop_precedence(), self.colour()) {
            (Some(3), _) | (_, Colour::Red) => Colour::Red,
            (Some(2), _) | (_, Colour::Yellow) => Colour::Yellow,
            _ => Colour::Green,
        }
    }

    /// Returns true if this mark may differ from the headers that [`from_ip`](Self::from_ip) was
    /// given.
    pub const fn is_modified(self) -> bool {
        self.0 >> Self::COLOUR_SHIFT != 0
    }

    /// The colour.
    pub const fn colour(self) -> Colour {
        match (self.0 >> Self::COLOUR_SHIFT) & 0b11 {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        }
    }

    /// Returns this mark in another colour.
    #[must_use]
    pub const fn coloured(self, colour: Colour) -> Mark {
        let cleared = self.0 & !(0b11 << Self::COLOUR_SHIFT);
        Mark(cleared | (colour as u16) << Self::COLOUR_SHIFT)
    }

    /// Returns true if its transport responds to congestion marks: ECT(0), ECT(1) or CE (RFC 3168,
    /// section 5). An EFCI-capable cell is sent with ECT set.
    pub const fn is_ecn_capable(self) -> bool {
        self.ecn() != 0
    }

    /// Returns true for an L4S packet: ECT(1) or CE (RFC 9331, section 5.1).
    #[inline]
    pub const fn is_l4s(self) -> bool {
        self.ecn() & 1 == 1
    }

    /// Returns this mark with congestion experienced: CE when the packet is ECN-capable, and EFCI.
    #[must_use]
    pub const fn congested(self) -> Mark {
        let ce = if self.is_ecn_capable() { Self::ECN_CE << Self::ECN_SHIFT } else { 0 };
        Mark(self.0 | ce | Self::EFCI)
    }

    /// Returns true if congestion was experienced on the way.
    pub const fn is_congested(self) -> bool {
        self.0 & Self::EFCI != 0
    }

    /// Returns true if congestion was experienced anywhere: on the way from its source, or before
    /// the headers that [`from_ip`](Self::from_ip) was given.
    pub const fn has_met_congestion(self) -> bool {
        self.is_congested() || self.ecn() == Self::ECN_CE as u8
    }

    /// Returns this mark without congestion indications: ECT(0) for CE, which does not show whether
    /// it was ECT(0) or ECT(1), and no EFCI.
    #[must_use]
    pub const fn congestion_cleared(self) -> Mark {
        if !self.has_met_congestion() {
            return self;
        }
        let ecn = if self.is_ecn_capable() { Self::ECT_0 << Self::ECN_SHIFT } else { 0 };
        Mark(self.0 & !(Self::ECN_CE << Self::ECN_SHIFT | Self::EFCI) | ecn | Self::SET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_forty_bytes() {
        assert_eq!(size_of::<Packet>(), 40);
    }

    #[test]
    fn marks_do_not_disturb_each_other() {
        let mark = Mark::from_ip(46, 0b10).coloured(Colour::Red);
        assert_eq!((mark.dscp(), mark.ecn(), mark.colour()), (46, 0b10, Colour::Red));
        let mark = mark.congested().coloured(Colour::Yellow);
        assert_eq!((mark.dscp(), mark.ecn(), mark.colour()), (46, 0b11, Colour::Yellow));
        assert!(mark.is_congested() && Mark::NONE.congested().ecn() == 0);
        let mark = mark.with_dscp(10);
        assert_eq!((mark.dscp(), mark.ecn(), mark.colour()), (10, 0b11, Colour::Yellow));
        for ecn in 0..4 {
            let mark = mark.with_ecn(ecn);
            assert_eq!((mark.dscp(), mark.ecn(), mark.colour()), (10, ecn, Colour::Yellow));
            assert!(mark.is_congested() && Mark::NONE.with_ecn(ecn).is_modified());
        }
    }

    #[test]
    fn news_is_what_was_written_here() {
        let came = Mark::from_ip(0x3f, 0b11);
        assert!(!came.is_modified());
        for written in [came.with_dscp(0), came.congested(), came.coloured(Colour::Red)] {
            assert!(written.is_modified());
        }
    }

    /// RFC 3168, section 5: a CE packet is ECN-capable again; the original codepoint, ECT(0) or
    /// ECT(1), is unknown.
    #[test]
    fn congestion_is_cleared_and_nothing_else() {
        for (ecn, cleared) in [(0, 0), (1, 0b10), (2, 0b10), (3, 0b10)] {
            let came = Mark::from_ip(46, ecn).coloured(Colour::Yellow);
            assert_eq!(came.has_met_congestion(), ecn == 3);
            let mark = came.congested().congestion_cleared();
            assert_eq!((mark.dscp(), mark.ecn(), mark.colour()), (46, cleared, Colour::Yellow));
            assert!(!mark.is_congested() && !mark.has_met_congestion() && mark.is_modified());
        }
        let came = Mark::from_ip(46, 1);
        assert_eq!(came.congestion_cleared(), came);
        assert_eq!(Mark::from_ip(46, 3).congestion_cleared().ecn(), 0b10);
    }

    /// RFC 2597, section 6: AF11 is 10, AF12 is 12, AF13 is 14, and so on to AF43, 38.
    #[test]
    fn colours_show_in_assured_forwarding_alone() {
        let shown = |dscp, colour| Mark::from_ip(dscp, 0).coloured(colour).coloured_dscp();
        for class in 0..8 {
            for low in 0..8 {
                let dscp = class << 3 | low;
                let assured = (1..=4).contains(&class) && [2, 4, 6].contains(&low);
                for (colour, least) in [(Colour::Green, 2), (Colour::Yellow, 4), (Colour::Red, 6)] {
                    let expected = if assured { class << 3 | low.max(least) } else { dscp };
                    assert_eq!(shown(dscp, colour), expected);
                    let precedence = if assured { expected & 0b110 } else { least };
                    let comes = Mark::from_ip(dscp, 0).coloured(colour).shown_colour();
                    assert_eq!(comes as u8 * 2 + 2, precedence);
                }
            }
        }
    }
}
