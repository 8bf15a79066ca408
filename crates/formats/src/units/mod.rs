//! Quantities as a person writes them: `400kbit`, `5ms`, `250B`, `100p`.
//!
//! Spelled as in `tc`, but the unit is always required and never ambiguous: rates are in
//! bits, sizes in bytes, `kB` is 1000 bytes and `KiB` 1024. Arithmetic is exact; only times
//! finer than a tick of 10 ps are rounded, to the nearest.

mod decimal;
mod show;

pub use show::{show_limit, show_rate, show_size, show_time, show_value};

use crate::error::Complaint;
use crate::suggest::brief;
use decimal::{Decimal, Unfit};
use tidegate_core::params::Limit;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND};

/// A unit: its spelling, and its size in the base unit.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// As written after the number.
    pub name: &'static str,
    /// In bit/s, in ticks of 10 ps, or in bytes.
    pub factor: u64,
}

const fn unit(name: &'static str, factor: u64) -> Unit {
    Unit { name, factor }
}

/// Units of a rate, in bit/s, smallest first.
pub const RATES: &[Unit] = &[
    unit("bit", 1),
    unit("kbit", 1_000),
    unit("mbit", 1_000_000),
    unit("gbit", 1_000_000_000),
    unit("tbit", 1_000_000_000_000),
];

/// Units of a time, in ticks of 10 ps, smallest first.
pub const TIMES: &[Unit] = &[
    unit("ns", TICKS_PER_SECOND / 1_000_000_000),
    unit("us", TICKS_PER_SECOND / 1_000_000),
    unit("ms", TICKS_PER_SECOND / 1_000),
    unit("s", TICKS_PER_SECOND),
    unit("min", 60 * TICKS_PER_SECOND),
    unit("h", 3_600 * TICKS_PER_SECOND),
];

/// Units of a size, in bytes.
pub const SIZES: &[Unit] = &[
    unit("B", 1),
    unit("kB", 1_000),
    unit("MB", 1_000_000),
    unit("GB", 1_000_000_000),
    unit("KiB", 1 << 10),
    unit("MiB", 1 << 20),
    unit("GiB", 1 << 30),
];

/// Units of a length, in millimetres, smallest first.
pub const LENGTHS: &[Unit] = &[unit("mm", 1), unit("cm", 10), unit("m", 1_000), unit("km", 1_000_000)];

/// The unit of a limit counted in packets.
pub const PACKETS: Unit = unit("p", 1);

/// The longest time that is accepted, in hours (two years): within the range of the clock.
pub const LONGEST_TIME_HOURS: u64 = 2 * 366 * 24;
/// The largest size that is accepted, in bytes (1 EB): sums of sizes then stay within 64 bits.
pub const LARGEST_SIZE: u64 = 1_000_000_000_000_000_000;
/// The longest link that is accepted, in km: beyond the Moon.
pub const LONGEST_LINK: u64 = 1_000_000;
/// The most packets that a limit may state.
pub const MAX_PACKETS: u64 = 1_000_000_000_000;

/// The longest text that can be a quantity, in bytes.
const LONGEST_TEXT: usize = 64;

/// Reads a rate in bit/s: a whole number from 1 bit/s to 10 Tbit/s.
pub fn parse_rate(text: &str) -> Result<u64, Complaint> {
    let (number, unit) = split(text, "rate", "400kbit", |joined| parse_rate(joined).err())?;
    let Some(found) = RATES.iter().find(|known| known.name == unit) else {
        return Err(unknown_rate_unit(text, number, unit));
    };
    let bits = read(number, text, "rate")?.times(found.factor).map_err(|unfit| match unfit {
        Unfit::Fraction => Complaint::new(format!("`{text}` is not a whole number of bits per second")),
        Unfit::TooLarge => rate_too_large(text),
    })?;
    match bits {
        0 => Err(Complaint::new(format!("`{text}` is not a rate: a rate is at least 1bit"))),
        _ if bits > Rate::MAX_BITS_PER_SECOND => Err(rate_too_large(text)),
        _ => Ok(bits),
    }
}

/// Reads a time of zero or more, to the nearest tick of 10 ps; at most [`LONGEST_TIME_HOURS`].
pub fn parse_time(text: &str) -> Result<Span, Complaint> {
    let (number, unit) = split(text, "time", "5ms", |joined| parse_time(joined).err())?;
    let Some(found) = TIMES.iter().find(|known| known.name == unit) else {
        let complaint = unknown_unit(text, "time", unit, TIMES);
        return Err(match unit {
            "m" => {
                complaint.help(format!("write `{number}min` for minutes or `{number}ms` for milliseconds"))
            }
            "µs" | "μs" => complaint.help(format!("write `{number}us`")),
            "d" | "day" | "days" => complaint.help("write it in hours: a day is `24h`"),
            _ => other_case(complaint, number, unit, TIMES),
        });
    };
    let too_long =
        || Complaint::new(format!("`{text}` is too long: a time is at most {LONGEST_TIME_HOURS}h"));
    let ticks = read(number, text, "time")?.times_rounded(found.factor).map_err(|_| too_long())?;
    if ticks > LONGEST_TIME_HOURS * 3_600 * TICKS_PER_SECOND {
        return Err(too_long());
    }
    Ok(Span::from_ticks(ticks))
}

/// Reads a size in bytes: a whole number above zero.
pub fn parse_size(text: &str) -> Result<u64, Complaint> {
    let (number, unit) = split(text, "size", "250B", |joined| parse_size(joined).err())?;
    let Some(found) = SIZES.iter().find(|known| known.name == unit) else {
        return Err(unknown_size_unit(unknown_unit(text, "size", unit, SIZES), number, unit));
    };
    whole_bytes(number, text, "size", *found)
}

/// Reads a length in millimetres: a whole number of zero or more, at most [`LONGEST_LINK`].
pub fn parse_length(text: &str) -> Result<u64, Complaint> {
    let (number, unit) = split(text, "length", "2km", |joined| parse_length(joined).err())?;
    let Some(found) = LENGTHS.iter().find(|known| known.name == unit) else {
        let complaint = unknown_unit(text, "length", unit, LENGTHS);
        return Err(other_case(complaint, number, unit, LENGTHS));
    };
    let too_long = || Complaint::new(format!("`{text}` is too long: a length is at most {LONGEST_LINK}km"));
    let millimetres = read(number, text, "length")?.times(found.factor).map_err(|unfit| match unfit {
        Unfit::Fraction => Complaint::new(format!("`{text}` is not a whole number of millimetres")),
        Unfit::TooLarge => too_long(),
    })?;
    if millimetres > LONGEST_LINK * 1_000_000 {
        return Err(too_long());
    }
    Ok(millimetres)
}

/// Reads a limit on a queue: packets (`100p`) or bytes (`64kB`), above zero.
pub fn parse_limit(text: &str) -> Result<Limit, Complaint> {
    let (number, unit) = split(text, "limit", "100p` or `64kB", |joined| parse_limit(joined).err())?;
    if unit == PACKETS.name {
        let packets = read(number, text, "limit")?.times(PACKETS.factor).map_err(|unfit| match unfit {
            Unfit::Fraction => Complaint::new(format!("`{text}` is not a whole number of packets")),
            Unfit::TooLarge => too_many_packets(text),
        })?;
        return match packets {
            0 => Err(Complaint::new(format!("`{text}` would let no packet pass: a limit is at least 1p"))),
            _ if packets > MAX_PACKETS => Err(too_many_packets(text)),
            _ => Ok(Limit::Packets(packets)),
        };
    }
    let Some(found) = SIZES.iter().find(|known| known.name == unit) else {
        let complaint = Complaint::new(format!("`{unit}` in `{text}` is not a unit of a limit"))
            .help(format!("a limit is in packets (p) or bytes ({})", names(SIZES)));
        return Err(match unit {
            "pkt" | "pkts" | "packet" | "packets" | "P" => complaint.help(format!("write `{number}p`")),
            _ => unknown_size_unit(complaint, number, unit),
        });
    };
    whole_bytes(number, text, "limit", *found).map(Limit::Bytes)
}

fn whole_bytes(number: &str, text: &str, what: &str, unit: Unit) -> Result<u64, Complaint> {
    let too_large =
        || Complaint::new(format!("`{text}` is too large: a {what} is at most {}", show_size(LARGEST_SIZE)));
    let bytes = read(number, text, what)?.times(unit.factor).map_err(|unfit| match unfit {
        Unfit::Fraction => Complaint::new(format!("`{text}` is not a whole number of bytes")),
        Unfit::TooLarge => too_large(),
    })?;
    match bytes {
        0 => Err(Complaint::new(format!("`{text}` is not a {what}: a {what} is at least 1B"))),
        _ if bytes > LARGEST_SIZE => Err(too_large()),
        _ => Ok(bytes),
    }
}

/// Parts the number from its unit; the unit may be misspelled but not missing. `fault` describes
/// the mistake in a text without the blanks in front of its unit.
fn split<'t>(
    text: &'t str,
    what: &str,
    example: &str,
    fault: impl Fn(&str) -> Option<Complaint>,
) -> Result<(&'t str, &'t str), Complaint> {
    if text.len() > LONGEST_TEXT {
        return Err(Complaint::new(format!("`{}` is not a {what}", brief(text))));
    }
    if text.starts_with('-') {
        return Err(Complaint::new(format!("`{text}` is negative: a {what} is not")));
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let as_in = format!("write it as in `{example}`");
    if number.is_empty() {
        return Err(Complaint::new(format!("`{text}` is not a {what}")).help(as_in));
    }
    if unit.is_empty() {
        return Err(Complaint::new(format!("a {what} needs a unit, and `{text}` has none")).help(as_in));
    }
    if unit.starts_with(char::is_whitespace) {
        let joined = format!("{number}{}", unit.trim());
        let help = match fault(&joined) {
            None => format!("write `{joined}`"),
            Some(complaint) => complaint.help.unwrap_or(complaint.message),
        };
        return Err(Complaint::new(format!("`{text}` has a space before its unit")).help(help));
    }
    Ok((number, unit))
}

fn read(number: &str, text: &str, what: &str) -> Result<Decimal, Complaint> {
    Decimal::parse(number).ok_or_else(|| {
        Complaint::new(format!("`{text}` is not a {what}: `{number}` is not a plain decimal number"))
            .help("write digits with at most one point, as in `1.5`, and at most 20 digits")
    })
}

fn rate_too_large(text: &str) -> Complaint {
    let most = show_rate(Rate::MAX_BITS_PER_SECOND);
    Complaint::new(format!("`{text}` is too fast: a rate is at most {most}"))
}

fn too_many_packets(text: &str) -> Complaint {
    Complaint::new(format!("`{text}` is too large: a limit is at most {MAX_PACKETS}p"))
}

fn names(units: &[Unit]) -> String {
    units.iter().map(|unit| unit.name).collect::<Vec<_>>().join(", ")
}

fn unknown_unit(text: &str, what: &str, unit: &str, units: &[Unit]) -> Complaint {
    Complaint::new(format!("`{unit}` in `{text}` is not a unit of {what}"))
        .help(format!("a {what} is in {}", names(units)))
}

/// Suggests the unit that differs in its capitals only, if there is just one.
fn other_case(complaint: Complaint, number: &str, unit: &str, units: &[Unit]) -> Complaint {
    let mut alike = units.iter().filter(|known| known.name.eq_ignore_ascii_case(unit));
    match (alike.next(), alike.next()) {
        (Some(known), None) => complaint.help(format!("write `{number}{}`", known.name)),
        _ => complaint,
    }
}

fn unknown_rate_unit(text: &str, number: &str, unit: &str) -> Complaint {
    let complaint = unknown_unit(text, "rate", unit, RATES);
    let lower = unit.to_ascii_lowercase();
    let bits = |prefix: &str| RATES.iter().find(|known| known.name.strip_suffix("bit") == Some(prefix));
    if let Some(prefix) = lower.strip_suffix("bps").or_else(|| lower.strip_suffix("b/s")) {
        let right = bits(prefix).map_or("mbit", |known| known.name);
        return complaint.help(format!(
            "`mbps` means megabytes per second to tc and megabits to most people, so it is not used; \
             write bits: `{number}{right}`, and eight times as many for bytes"
        ));
    }
    if let Some(known) = bits(lower.strip_suffix('b').unwrap_or(&lower)) {
        return complaint.help(format!("write `{number}{}`", known.name));
    }
    if lower.ends_with("ibit") {
        return complaint.help("rates count in thousands: `1kbit` is 1000 bit/s");
    }
    if let Some(bits) = lower.strip_suffix("/s").or_else(|| lower.strip_suffix('s'))
        && RATES.iter().any(|known| known.name == bits)
    {
        return complaint.help(format!("write `{number}{bits}`"));
    }
    other_case(complaint, number, unit, RATES)
}

fn unknown_size_unit(complaint: Complaint, number: &str, unit: &str) -> Complaint {
    match unit {
        "b" => complaint.help(format!("`b` could be bits or bytes: write `{number}B` for bytes")),
        "k" | "K" | "KB" | "kb" | "Kb" => {
            complaint.help(format!("write `{number}kB` for 1000 bytes or `{number}KiB` for 1024"))
        }
        "m" | "M" | "mb" | "Mb" | "mB" => {
            complaint.help(format!("write `{number}MB` for 1000² bytes or `{number}MiB` for 1024²"))
        }
        _ => other_case(complaint, number, unit, SIZES),
    }
}

#[cfg(test)]
mod tests;
