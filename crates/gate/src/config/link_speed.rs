//! A direction's rate must not be above the link speed of the card that it leaves by.

use crate::error::GateError;
use crate::sys::interface::Interface;
use tidegate_core::classifier::rules::Direction;
use tidegate_formats::GateFile;

/// Checks both rates of a file.
///
/// # Errors
/// When a rate is above the link speed; the error names the direction and the card.
pub(crate) fn check_rates(file: &GateFile) -> Result<(), GateError> {
    for (direction, name) in Direction::BOTH.into_iter().zip([&file.outside, &file.inside]) {
        let speed = Interface::find(name).ok().and_then(|interface| interface.speed);
        let rate = file.rates[direction as usize].bits_per_second();
        if let Some(speed) = speed.filter(|speed| rate > *speed as f64) {
            let (direction, interface) = (direction.name(), name.clone());
            return Err(GateError::RateTooHigh { direction, interface, speed });
        }
    }
    Ok(())
}
