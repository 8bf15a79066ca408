//! Canonical spelling: the largest unit in which the number is whole.

use super::{RATES, TIMES, Unit};
use tidegate_core::params::{Limit, Value};
use tidegate_core::units::{Span, TICKS_PER_SECOND};

/// Sizes are shown in thousands only: `65536B` is clearer than `64KiB` to a reader of tables.
const SHOWN_SIZES: &[Unit] = &[
    Unit { name: "B", factor: 1 },
    Unit { name: "kB", factor: 1_000 },
    Unit { name: "MB", factor: 1_000_000 },
];

/// A rate, as `400kbit`.
pub fn show_rate(bits: u64) -> String {
    in_largest(bits, RATES)
}

/// A time, as `5ms`; whole seconds stay seconds (`90s`), and times finer than 1 ns get decimals.
pub fn show_time(time: Span) -> String {
    let ticks = time.ticks();
    if ticks == 0 {
        return "0s".to_owned();
    }
    let per_nanosecond = TICKS_PER_SECOND / 1_000_000_000;
    if !ticks.is_multiple_of(per_nanosecond) {
        let decimals = format!("{:02}", ticks % per_nanosecond);
        return format!("{}.{}ns", ticks / per_nanosecond, decimals.trim_end_matches('0'));
    }
    let up_to_seconds = TIMES.iter().position(|unit| unit.factor > TICKS_PER_SECOND).unwrap_or(TIMES.len());
    in_largest(ticks, &TIMES[..up_to_seconds])
}

/// A size, as `250B`.
pub fn show_size(bytes: u64) -> String {
    in_largest(bytes, SHOWN_SIZES)
}

/// A limit on a queue, as `100p` or `64kB`.
pub fn show_limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("{packets}p"),
        Limit::Bytes(bytes) => show_size(bytes),
    }
}

/// A parameter's value as a scenario file spells it (text without its quotes), a
/// policy by its name.
pub fn show_value(value: &Value) -> String {
    match value {
        Value::Rate(bits) => show_rate(*bits),
        Value::Time(time) => show_time(*time),
        Value::Size(bytes) => show_size(*bytes),
        Value::Limit(limit) => show_limit(*limit),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Policy(policy) => policy.name.clone(),
    }
}

fn in_largest(amount: u64, units: &[Unit]) -> String {
    let whole = |unit: &&Unit| amount.is_multiple_of(unit.factor);
    match units.iter().rev().find(whole) {
        Some(unit) if amount > 0 => format!("{}{}", amount / unit.factor, unit.name),
        _ => format!("{amount}{}", units[0].name),
    }
}
