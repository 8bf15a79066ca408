//! Statistics: exact records of flows' traffic and of packets' delays.
//!
//! Everything is counted in integer ticks and bytes; a fractional number appears only in results.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::stats::{Moments, half_width_95, nearest_rank};
//! use tidegate_core::units::Span;
//!
//! let mut delays = Moments::default();
//! for milliseconds in [1, 2, 6] {
//!     delays.add(Span::from_millis(milliseconds));
//! }
//! assert_eq!(delays.mean(), Some(Span::from_millis(3)));
//! assert_eq!(nearest_rank(&mut [5, 1, 9, 7], 1, 2), Some(5));
//! // Half the 95 % interval of a mean over four runs.
//! assert!((half_width_95(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 2.054).abs() < 0.001);
//! ```

pub mod convergence;
mod count;
mod lengths;
mod moments;
mod quantile;
#[cfg(feature = "stats")]
mod rare;
#[cfg(feature = "stats")]
mod student;
mod workahead;

pub use count::Count;
pub use lengths::Lengths;
pub(crate) use lengths::PositiveLengths;
pub use moments::Moments;
pub use quantile::nearest_rank;
#[cfg(feature = "stats")]
pub use rare::rare_half_width_95;
#[cfg(feature = "stats")]
pub use student::{half_width_95, t_95};
pub use workahead::{PeakRate, Workahead};

/// Adds to a count of packets, or of their bytes. No sequence of events is long enough to bring a
/// count to 2⁶⁴, so nothing is checked; these sums are in every packet's path.
#[inline]
pub fn wrapping_count(count: &mut u64, more: u64) {
    *count = count.wrapping_add(more);
}

/// Adds a packet of `len` bytes to counts of packets and bytes, neither of which can reach 2⁶⁴.
/// They are added as one number, which is an addition and a carry; for two numbers the compiler
/// makes a vector first.
#[inline(always)]
pub fn wrapping_count_packet(packets: &mut u64, bytes: &mut u64, len: u32) {
    let before = u128::from(*packets) << 64 | u128::from(*bytes);
    let after = before.wrapping_add(1 << 64 | u128::from(len));
    (*packets, *bytes) = ((after >> 64) as u64, after as u64);
}
