//! Durations of an application: constant or drawn.

use crate::keys::application::Distribution;
use tidegate_core::units::Span;

/// Distribution of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// Constant.
    Fixed(Span),
    /// Exponential with this mean.
    Exponential(Span),
}

/// The duration with this value and this distribution.
pub(super) fn lasts(span: Span, distribution: Distribution) -> Lasts {
    match distribution {
        Distribution::Fixed => Lasts::Fixed(span),
        Distribution::Exponential => Lasts::Exponential(span),
    }
}
