//! Durations that recur: times of thought, of sending and of silence.

use crate::rng::Rng;
use crate::units::Span;

/// The duration of a recurring period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// An equal duration every time.
    Fixed(Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
}

impl Period {
    /// Draws the next duration.
    pub(super) fn draw(self, rng: &mut Rng) -> Span {
        match self {
            Period::Fixed(span) => span,
            Period::Exponential(mean) => rng.exponential(mean),
        }
    }
}
