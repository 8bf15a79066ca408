//! Distribution functions of transfer sizes: a number of bytes and a percentage on each line.

use super::error::InputError;
use super::file::{open_file, with_plain_bytes};
use super::text::Lines;
use std::io::Read;
use std::path::Path;
use tidegate_core::endpoint::transfers::Distribution;

/// Expected content of a line.
const EXPECTED: &str =
    "bytes and the percentage of transfers of at most so many, both rising, the last at 100";

/// Reads the distribution function in the file at `path`, plain or compressed with gzip; blank
/// lines and those that begin with `#` are passed over.
///
/// # Errors
///
/// [`InputError`], which names the file and the line.
pub fn load_sizes(path: &Path) -> Result<Distribution, InputError> {
    read_sizes(open_file(path)?, path)
}

/// Reads a distribution function from `input`; `name` is its name in errors.
///
/// # Errors
///
/// As [`load_sizes`].
pub fn read_sizes(input: impl Read, name: &Path) -> Result<Distribution, InputError> {
    with_plain_bytes(input, name, |_, input| {
        let mut lines = Lines::new(input, name);
        let mut points: Vec<(f64, f64)> = Vec::new();
        while lines.next()? {
            let point = point(lines.line()).ok_or_else(|| lines.bad(EXPECTED, lines.line()))?;
            let before = points.last().copied().unwrap_or((0.0, 0.0));
            if point.0 < before.0 || point.1 < before.1 {
                return Err(lines.bad(EXPECTED, lines.line()));
            }
            points.push(point);
        }
        if points.is_empty() {
            return Err(InputError::Empty { file: name.to_owned() });
        }
        Distribution::new(points).ok_or_else(|| lines.bad(EXPECTED, b"its end"))
    })
}

/// Returns the bytes and the share of a line.
fn point(line: &[u8]) -> Option<(f64, f64)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(str::parse::<f64>);
    let point = (fields.next()?.ok()?, fields.next()?.ok()? / 100.0);
    (fields.next().is_none() && point.0.is_finite() && point.1.is_finite()).then_some(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Distribution, String> {
        read_sizes(text.as_bytes(), Path::new("sizes")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_its_points() {
        let points = vec![(0.0, 0.0), (1000.0, 0.15), (20_000.0, 1.0)];
        assert_eq!(
            read("# bytes percent\n0 0\n1000 15\n\n20000 100\n"),
            Ok(Distribution::new(points).unwrap())
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in [
            ("0 0\n1000\n", "line 2"),
            ("0 0\n1000 fifteen\n", "line 2"),
            ("0 0\n1000 15 3\n2000 100\n", "line 2"),
            ("0 0\n1000 15\n900 100\n", "line 3"),
            ("0 0\n1000 15\n2000 14\n", "line 3"),
            ("-1 0\n1000 100\n", "line 1"),
            ("0 0\n1000 nan\n", "line 2"),
            ("0 0\n1000 99\n", "its end"),
            ("0 0\n1000 101\n", "its end"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(line) && error.contains("the percentage"), "{text}: {error}");
        }
        assert!(read("# nothing\n").is_err());
    }
}
