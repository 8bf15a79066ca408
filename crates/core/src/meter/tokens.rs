//! When is a token bucket full, exactly?
//!
//! A bucket is kept as the instant at which it will be full again (the virtual scheduling of ATM TM
//! 4.0, section 4.4.2.2), in units of 2⁻²⁴ ticks, of which a [`Rate`] states a whole number a byte:
//! filling takes no step at all, taking is an addition, and nothing is ever rounded. Tokens come
//! continuously, not at instants CIR times a second (RFC 2697 and 2698, section 3): between those
//! instants a bucket of the RFCs holds less than a byte more or less.

use crate::units::{Rate, Time};
use core::ops::Add;

/// An instant, or a span, in units of 2⁻²⁴ ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fine(u128);

impl Fine {
    /// A span of zero, and the zero of the scale.
    pub(super) const ZERO: Fine = Fine(0);

    /// Converts an instant.
    #[inline]
    pub(super) fn at(time: Time) -> Fine {
        Fine(u128::from(time.ticks()) << Rate::FRACTION_BITS)
    }

    /// Time in which the tokens for `bytes` bytes come.
    #[inline]
    pub(super) fn of(rate: Rate, bytes: u32) -> Fine {
        Fine(rate.exact_time_for(bytes.into()))
    }

    /// Span from `earlier` to this instant; zero when `earlier` is the later one.
    #[inline]
    pub(super) fn since(self, earlier: Fine) -> Fine {
        Fine(self.0.saturating_sub(earlier.0))
    }

    /// The first tick that is no earlier; saturates.
    pub(super) fn up(self) -> Time {
        Time::from_ticks(u64::try_from(self.0.div_ceil(1 << Rate::FRACTION_BITS)).unwrap_or(u64::MAX))
    }
}

impl Add for Fine {
    type Output = Fine;

    /// Nothing wraps: an instant is below 2⁸⁸, and the time to fill a bucket below 2⁹⁶.
    #[inline]
    fn add(self, other: Fine) -> Fine {
        Fine(self.0.wrapping_add(other.0))
    }
}

/// Time to fill a bucket with the rate and depth `(to, deep)` that holds as many tokens, in bytes,
/// as a bucket with `(rate, depth)` that lacks `missing`; at most the time from empty. Rounded up
/// to a unit, so that tokens are rounded down.
pub(super) fn missing_after(missing: Fine, (rate, depth): (Rate, u32), (to, deep): (Rate, u32)) -> Fine {
    let tokens = Fine::of(rate, depth).since(missing).0;
    let (one, new) = (rate.exact_time_for(1), to.exact_time_for(1));
    // At most 2³² bytes of at most 2⁶⁴ units, and a rest below one byte.
    let kept = tokens / one * new + tokens % one * new / one;
    Fine::of(to, deep).since(Fine(kept))
}
