//! Rates and sizes as `tc` prints them.

/// The highest rate of a gate, in bit/s.
const HIGHEST: f64 = 1e13;
const RATE_UNITS: [(&str, f64); 9] = [
    ("bit", 1.0),
    ("Kbit", 1e3),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
    ("Tbit", 1e12),
    ("Kibit", 1024.0),
    ("Mibit", 1024.0 * 1024.0),
    ("Gibit", 1024.0 * 1024.0 * 1024.0),
    ("Tibit", 1024.0 * 1024.0 * 1024.0 * 1024.0),
];
/// Units of a size, which are powers of two.
const SIZE_UNITS: [(&str, f64); 4] =
    [("b", 1.0), ("Kb", 1024.0), ("Mb", 1024.0 * 1024.0), ("Gb", 1024.0 * 1024.0 * 1024.0)];

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    Some(number.parse::<f64>().ok()? * factor)
}

fn in_range(bits: f64) -> Option<u64> {
    (1.0..=HIGHEST).contains(&bits).then(|| bits.round() as u64)
}

/// A rate in bit/s, from text: `9500Kbit`.
pub(super) fn rate(text: &str) -> Option<u64> {
    in_range(scaled(text, &RATE_UNITS)?)
}

/// A rate in bit/s, from a number of bytes per second.
pub(super) fn rate_of_bytes(bytes: f64) -> Option<u64> {
    in_range(bytes * 8.0)
}

/// A size in bytes, from text: `4Kb`, or `2784b/1` with the cell behind it.
pub(super) fn size(text: &str) -> Option<u64> {
    let size = text.split_once('/').map_or(text, |(size, _)| size);
    Some(scaled(size, &SIZE_UNITS)? as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_are_read_as_tc_prints_them() {
        assert_eq!(rate("9500Kbit"), Some(9_500_000));
        assert_eq!(rate("40Gbit"), Some(40_000_000_000));
        assert_eq!(rate("1Mibit"), Some(1_048_576));
        assert_eq!(rate_of_bytes(1_187_500.0), Some(9_500_000));
        assert_eq!([size("2784b/1"), size("4Kb"), size("0b")], [Some(2784), Some(4096), Some(0)]);
        for wrong in ["", "0bit", "9500", "9500kbps", "1e3bit", "99Tbit", "-1bit", "1..2bit"] {
            assert_eq!(rate(wrong), None, "{wrong}");
        }
        assert_eq!([size("4"), size("4K"), size("")], [None; 3]);
    }
}
