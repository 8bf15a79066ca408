//! The slots of a frame that a reservation needs.

use crate::units::Rate;

/// Stored rates are within 2⁻²⁰ of the configured ones: a whole number of slots stays whole.
pub(super) const ROUNDING: f64 = 1e-6;

/// Share of a frame that a reservation needs, in slots.
pub(super) fn slots_worth(reserve: Rate, rate: Rate, slots: u16) -> f64 {
    reserve.bits_per_second() / rate.bits_per_second() * f64::from(slots)
}

/// Number of slots that a reservation needs.
pub(super) fn slots_needed(reserve: Rate, rate: Rate, slots: u16) -> u64 {
    libm::ceil(slots_worth(reserve, rate, slots) * (1.0 - ROUNDING)) as u64
}
