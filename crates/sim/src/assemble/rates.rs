//! Rates that can be sent, and the refusal of a scenario's values.

use tidegate_core::units::Rate;
use tidegate_formats::{FormatError, Place, Scenario};

/// Returns a boxed error: it carries its source line, and is rare.
pub(super) fn fail(
    scenario: &Scenario,
    place: Place,
    message: impl Into<String>,
    help: Option<String>,
) -> Box<FormatError> {
    Box::new(scenario.error_at(place, message, help))
}

pub(super) fn rate_of(
    bits: Option<u64>,
    scenario: &Scenario,
    place: Place,
) -> Result<Option<Rate>, Box<FormatError>> {
    bits.map(|bits| rate(bits as f64, scenario, place)).transpose()
}

pub(super) fn rate(bits: f64, scenario: &Scenario, place: Place) -> Result<Rate, Box<FormatError>> {
    // A cast from f64 saturates; a value out of range is refused.
    Rate::from_bits_per_second(bits.round() as u64)
        .ok_or_else(|| fail(scenario, place, format!("{bits} bit/s is not a rate that can be sent"), None))
}
