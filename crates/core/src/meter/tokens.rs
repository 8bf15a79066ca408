//! How full is a token bucket, exactly?
//!
//! A token is a byte. Its worth is held as the time that it takes to come, in units of 2⁻²⁴ ticks, of which a [`Rate`]
//! states a whole number a byte: filling is an addition, taking a subtraction, and nothing is ever rounded. Tokens come
//! continuously, not at instants CIR times a second (RFC 2697 and 2698, section 3): between those instants a bucket of the
//! RFCs holds less than a byte more or less.
//!
//! A change of the rate leaves the tokens as they are, in bytes, rounded down to a unit.

use crate::units::{Rate, Span};

/// The tokens in a bucket, which belong to the rate at which it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens(u128);

impl Tokens {
    /// None.
    pub(super) const NONE: Tokens = Tokens(0);

    /// Of a full bucket of `depth` bytes.
    #[inline]
    pub(super) fn of(rate: Rate, depth: u32) -> Tokens {
        Tokens(rate.exact_time_for(depth))
    }

    /// What comes in `span`: the same number at every rate.
    #[inline]
    pub(super) fn in_span(span: Span) -> Tokens {
        Tokens(u128::from(span.ticks()) << Rate::FRACTION_BITS)
    }

    /// Adds tokens up to a full bucket, and gives back those that find no room.
    #[inline]
    pub(super) fn fill(&mut self, more: Tokens, full: Tokens) -> Tokens {
        let level = self.0 + more.0;
        self.0 = level.min(full.0);
        Tokens(level - self.0)
    }

    /// Takes tokens out if there are enough of them; whether there were.
    #[inline]
    pub(super) fn take(&mut self, need: Tokens) -> bool {
        let left = self.0.checked_sub(need.0);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// As many bytes in a bucket with another rate, and at most what it holds.
    pub(super) fn moved(self, from: Rate, to: Rate, full: Tokens) -> Tokens {
        let (one, new) = (from.exact_time_for(1), to.exact_time_for(1));
        // At most 2³² bytes of at most 2⁶⁴ units, and a rest below one byte.
        let moved = self.0 / one * new + self.0 % one * new / one;
        Tokens(moved.min(full.0))
    }

    /// How long a bucket takes to fill up; saturates.
    pub(super) fn time_to(self, full: Tokens) -> Span {
        let missing = full.0.saturating_sub(self.0).div_ceil(1 << Rate::FRACTION_BITS);
        Span::from_ticks(u64::try_from(missing).unwrap_or(u64::MAX))
    }
}
