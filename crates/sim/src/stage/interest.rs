//! The calls that a stage wants at a site.

use core::ops::BitOr;

/// The calls that a stage wants at a site: the union of the constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest(u8);

impl Interest {
    /// No call.
    pub const NONE: Interest = Interest(0);
    /// [`Stage::enter`](super::Stage::enter).
    pub const ENTER: Interest = Interest(1);
    /// [`Stage::released`](super::Stage::released).
    pub const RELEASED: Interest = Interest(1 << 1);
    /// [`Stage::leave`](super::Stage::leave). Without it, the next packet starts as soon as the last bit of one is out.
    pub const LEAVE: Interest = Interest(1 << 2);
    /// [`Stage::dropped`](super::Stage::dropped).
    pub const DROPPED: Interest = Interest(1 << 3);
    /// [`Stage::start`](super::Stage::start). Without it, a packet that finds the port idle starts
    /// as it arrives.
    pub const START: Interest = Interest(1 << 4);
    /// [`Stage::ended`](super::Stage::ended) and [`Stage::observe`](super::Stage::observe), for all
    /// packets and links of the network once it is returned for any site.
    pub const OBSERVE: Interest = Interest(1 << 5);
    /// Comes before the stages without it, in the calls on entering and in those on leaving.
    pub const FIRST: Interest = Interest(1 << 6);

    /// Returns true if it contains a constant.
    pub const fn has(self, one: Interest) -> bool {
        self.0 & one.0 != 0
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }
}
