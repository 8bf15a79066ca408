//! Virtual time in units of 2⁻⁴⁰ tick, rounded down at every step.

use tidegate_core::units::Rate;

/// Virtual time.
pub type Tag = u128;

pub const FRACTION: u32 = 40;

/// Weight that serves a byte in one unit of [`Tag`].
pub const SERVER: u128 = 800_000_000_000 << 16;

/// Whole ticks; nearly the next one counts as the next.
pub fn ticks(tag: Tag) -> u128 {
    (tag + (1 << (FRACTION - 6))) >> FRACTION
}

/// Service time of `len` bytes at this rate, from the time of 2²⁴ bytes, which is how a rate is
/// held.
pub fn span(rate: Rate, len: u32) -> Tag {
    (u128::from(len) * u128::from(rate.time_for(1 << 24).ticks())) << (FRACTION - 24)
}

/// The rate as it is held, in units of 2⁻¹⁶ bit/s.
pub fn weight(rate: Rate) -> u128 {
    let held = u128::from(rate.time_for(1 << 24).ticks());
    ((800_000_000_000u128 << 40) + held / 2) / held
}

/// `a × b / c`, rounded down: long division, digit by digit.
pub fn scaled(a: u128, b: u128, c: u128) -> u128 {
    let (mut quotient, mut rest) = (0, 0);
    for digit in (0..128 / 16).rev().map(|nth| (a >> (16 * nth)) & 0xffff) {
        let left = (rest << 16) + digit * b;
        (quotient, rest) = ((quotient << 16) + left / c, left % c);
    }
    quotient
}
