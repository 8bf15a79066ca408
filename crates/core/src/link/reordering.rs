//! A wire that reorders packets: some take longer, so that those behind them overtake.

use crate::contract::Refused;
use crate::rng::Rng;
use crate::units::Span;
use alloc::format;

/// Independent reordering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    probability: f64,
    longer: Span,
}

impl Reordering {
    /// Every packet arrives in its turn.
    pub const NONE: Reordering = Reordering { probability: 0.0, longer: Span::ZERO };

    /// Creates reordering in which each packet takes, with this probability of 0 to 1, the span
    /// `longer` beyond the propagation delay.
    ///
    /// # Errors
    /// When the probability is out of that range.
    pub fn new(probability: f64, longer: Span) -> Result<Reordering, Refused> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Refused(format!(
                "{probability} is not a probability of reordering: it takes 0 to 1"
            )));
        }
        Ok(Reordering { probability, longer })
    }

    /// Returns true if a packet ever takes longer.
    pub fn happens(self) -> bool {
        self.probability > 0.0 && self.longer > Span::ZERO
    }

    /// Returns the extra delay of the next packet. Draws one number, and none when nothing is ever
    /// reordered.
    pub fn takes(self, rng: &mut Rng) -> Span {
        if self.happens() && rng.chance(self.probability) { self.longer } else { Span::ZERO }
    }
}
