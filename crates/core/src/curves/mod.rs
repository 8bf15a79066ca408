//! Curves of network calculus in exact rational arithmetic (J.-Y. Le Boudec and P. Thiran, Network
//! Calculus, Springer 2001, chapters 1, 2 and 6).
//!
//! An [`ArrivalCurve`] bounds the traffic of a flow over any time, and a [`ServiceCurve`] the
//! service of a server from below. Arrival curves are concave, service curves convex, and both are
//! piecewise linear, so that every operation here is exact. Data are in bytes, and times in seconds.
//!
//! Packets arrive with their last bit, and have left with their last bit. An arrival curve α counts
//! them whole: over any closed interval of length t, at most α(t) bytes arrive, both ends included.
//! A service curve β counts bits: a packet's last bit has left by the time that β has served all
//! bytes up to it. What the next server sees are whole packets again, so that a service curve of
//! several servers in a row is made of [`ServiceCurve::in_packets`] of all but the last.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::curves::{ArrivalCurve, ServiceCurve, largest_backlog, longest_delay, quotient, whole};
//!
//! // At most 1,000 bytes at once and 100 bytes/s, at a server of 500 bytes/s after 2 s.
//! let arrivals = ArrivalCurve::bucket(whole(1000), whole(100));
//! let service = ServiceCurve::rate_latency(whole(500), whole(2));
//! assert_eq!(longest_delay(&arrivals, &service), Some(whole(4)));
//! assert_eq!(largest_backlog(&arrivals, &service), Some(whole(1200)));
//! assert_eq!(service.at(&quotient(5, 2)), Some(whole(250)));
//! ```

mod arrival;
mod deviation;
mod output;
mod residual;
mod schedulable;
mod service;

pub use arrival::{ArrivalCurve, Bucket};
pub use deviation::{largest_backlog, longest_delay};
pub use output::output;
pub use residual::{beside_fifo, left_by};
pub use schedulable::{Due, are_schedulable};
pub use service::ServiceCurve;

use crate::units::{Rate, Span, TICKS_PER_SECOND};
use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::ToPrimitive;

/// An exact number, of any size: sums over many flows and hops do not overflow.
pub type Exact = Ratio<BigInt>;

/// A whole number.
pub fn whole(number: impl Into<BigInt>) -> Exact {
    Exact::from_integer(number.into())
}

/// The quotient of two whole numbers; `under` is above zero.
pub fn quotient(over: u64, under: u64) -> Exact {
    Exact::new(over.into(), under.max(1).into())
}

/// A rate as it was stated, in bytes a second.
pub fn bytes_per_second(rate: Rate) -> Exact {
    // Stated rates are whole, and below 2⁵³.
    quotient(rate.bits_per_second() as u64, 8)
}

/// A span in seconds.
pub fn seconds(span: Span) -> Exact {
    quotient(span.ticks(), TICKS_PER_SECOND)
}

/// The nearest `f64`: for output, never for a decision.
pub fn nearest(number: &Exact) -> f64 {
    // 64 bits of the smaller one are more than a result has.
    let beyond = number.numer().bits().min(number.denom().bits()).saturating_sub(64);
    let part = |whole: &BigInt| (whole >> beyond).to_f64().unwrap_or(f64::INFINITY);
    part(number.numer()) / part(number.denom())
}
