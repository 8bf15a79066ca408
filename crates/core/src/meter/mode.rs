//! Does the colour of an arriving packet count?

use crate::packet::{Colour, Mark};
use crate::params::words;

words! {
    /// Use that a marker makes of the colour with which a packet comes (RFC 2697 and 2698, section
    /// 1).
    pub enum Mode {
        /// Colours are ignored: every packet counts as uncoloured, and gets a new colour.
        Blind = "colour-blind",
        /// A packet is never marked better than it came.
        Aware = "colour-aware",
    }
}

impl Mode {
    /// The colour with which a packet comes, as far as it counts.
    #[inline]
    pub(super) fn colour_of(self, mark: Mark) -> Colour {
        match self {
            Mode::Blind => Colour::Green,
            //= clark1998 II.B
            Mode::Aware => mark.shown_colour(),
        }
    }
}
