//! Where the CoDel of Linux 6.1 differs from RFC 8289.
//!
//! - Times are in units of 1,024 ns, rounded down, as are target and interval.
//! - A packet may be dropped after an interval above the target, not at its end.
//! - The queue is short with no more than a largest Ethernet packet waiting at the whole port,
//!   also where each flow has a queue of its own.
//! - 1/√count is a number of 16 bits, which each step of Newton's method refines once: the first
//!   intervals of a dropping state are interval · (1, 1/2, 9/16, …).

use crate::units::{Span, Time};

/// A unit of time, in ticks.
const UNIT: u64 = 102_400;
/// The largest Ethernet packet, in bytes.
pub(super) const LARGEST: u64 = 1_514;
/// 1/√1, less than 1 by a step.
pub(super) const ONE: u16 = u16::MAX;

/// Returns a span without its part of a unit.
pub(super) fn whole_units(span: Span) -> Span {
    Span::from_ticks(span.ticks() - span.ticks() % UNIT)
}

/// Returns the time that the clock shows.
pub(super) fn clock(time: Time) -> Time {
    Time::ORIGIN + whole_units(time.since(Time::ORIGIN))
}

/// Returns an inverse square root of the count, from that of a count near to it:
/// x (3 − count x²) / 2.
pub(super) fn refined(root: u16, count: u32) -> u16 {
    let root = u64::from(root) << 16;
    let square = (root * root) >> 32;
    let rest = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square));
    ((rest >> 2).wrapping_mul(root) >> 31 >> 16) as u16
}

/// The interval over the square root of the count, in whole units.
pub(super) fn control_law(interval: Span, root: u16) -> Span {
    let units = interval.ticks() / UNIT;
    Span::from_ticks(((units * u64::from(root)) >> 16) * UNIT)
}
