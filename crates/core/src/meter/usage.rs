//! The usage of a profile: its bytes by the colour that a meter found.

use crate::packet::{Colour, Mark};

/// The usage of a profile, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes that the meter found green (inside the profile), yellow and red (outside), in this
    /// order.
    pub coloured: [u64; 3],
    /// Green bytes that came with congestion experienced, where the meter looks for it.
    pub congested_inside: u64,
    /// Yellow and red bytes that came with congestion experienced, where the meter looks for it.
    pub congested_outside: u64,
}

impl Usage {
    /// The usage of a profile without packets.
    pub const NOTHING: Usage = Usage { coloured: [0; 3], congested_inside: 0, congested_outside: 0 };

    /// The usage of the same profile since `before`.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            coloured: [0, 1, 2].map(|colour| self.coloured[colour] - before.coloured[colour]),
            congested_inside: self.congested_inside - before.congested_inside,
            congested_outside: self.congested_outside - before.congested_outside,
        }
    }

    /// The usage in both records together.
    #[must_use]
    pub fn and(&self, other: &Usage) -> Usage {
        Usage {
            coloured: [0, 1, 2].map(|colour| self.coloured[colour] + other.coloured[colour]),
            congested_inside: self.congested_inside + other.congested_inside,
            congested_outside: self.congested_outside + other.congested_outside,
        }
    }

    /// Counts a packet of `len` bytes that was found to be of this colour.
    #[inline]
    pub(super) fn add(&mut self, colour: Colour, len: u32) {
        self.coloured[colour as usize] += u64::from(len);
    }

    /// Counts it as congested if it came with a mark of congestion.
    #[inline]
    pub(super) fn add_congested(&mut self, colour: Colour, len: u32, came: Mark) {
        //= clark1998 II.E
        if came.has_met_congestion() {
            let congested = match colour {
                Colour::Green => &mut self.congested_inside,
                Colour::Yellow | Colour::Red => &mut self.congested_outside,
            };
            *congested += u64::from(len);
        }
    }
}
