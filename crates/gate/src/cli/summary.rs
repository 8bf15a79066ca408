//! A line about a gate file.

use tidegate_formats::units::show_rate;
use tidegate_formats::{Fail, GateFile};

/// One line about the interfaces, the rates and the failover of a file.
pub(super) fn describe(file: &GateFile) -> String {
    let [up, down] = file.rates.map(|rate| show_rate(rate.bits_per_second().round() as u64));
    let GateFile { inside, outside, .. } = file;
    format!("{inside} -> {outside} at {up}, {outside} -> {inside} at {down}, fails {}", fails(file))
}

pub(super) fn fails(file: &GateFile) -> &'static str {
    match file.fail {
        Fail::Open => "open",
        Fail::Closed => "closed",
    }
}
