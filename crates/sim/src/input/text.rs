//! Lists of packets: `time size` lines and CSV.
//!
//! Lines are split here, so that every error can name its line; a quoted CSV field
//! therefore ends on the line where it starts.

use super::collect::{Collector, Order};
use super::error::{InputError, TracePlace};
use super::packet::Arrival;
use super::ticks::{SECOND, Ticks};
use super::trace::Trace;
use csv_core::ReadRecordResult;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The longest line, in bytes: it bounds the memory.
const LONGEST: u64 = 1 << 16;

/// Reads a list: as CSV when its first line (blank ones and comments aside) has a comma.
pub(super) fn read(input: impl Read, file: &Path) -> Result<Trace, InputError> {
    let mut lines = Lines::new(input, file);
    let mut collector = Collector::new(file, Order::Strict);
    if !lines.next()? {
        return Err(InputError::Empty { file: file.to_owned() });
    }
    if lines.line.contains(&b',') {
        csv(lines, collector)
    } else {
        let end = columns(lines, &mut collector);
        collector.finish(end, |_| ("all".to_owned(), None), |_| None)
    }
}

/// The lines of a text that are neither blank nor comments.
pub(super) struct Lines<'a, R> {
    file: &'a Path,
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<'a, R: Read> Lines<'a, BufReader<R>> {
    /// Reads lines from the start of `input`; `file` is its name in errors.
    pub(super) fn new(input: R, file: &'a Path) -> Lines<'a, BufReader<R>> {
        Lines { file, input: BufReader::with_capacity(1 << 16, input), line: Vec::new(), number: 0 }
    }
}

impl<R: BufRead> Lines<'_, R> {
    /// Returns the name of the text in errors.
    pub(super) fn file(&self) -> &Path {
        self.file
    }

    /// Returns the line read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line that is neither blank nor a comment; returns false at the end.
    pub(super) fn next(&mut self) -> Result<bool, InputError> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.input.by_ref().take(LONGEST).read_until(b'\n', &mut self.line);
            match read {
                Ok(0) => return Ok(false),
                Ok(read) if read as u64 == LONGEST => {
                    self.line.truncate(20);
                    return Err(self.bad("a line of less than 64 KiB", &self.line));
                }
                Ok(_) => {}
                Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                    let file = self.file.to_owned();
                    return Err(InputError::Truncated { file, place: TracePlace::Line(self.number) });
                }
                Err(source) => return Err(InputError::Unreadable { file: self.file.to_owned(), source }),
            }
            let text = self.line.trim_ascii_start();
            if !text.is_empty() && !text.starts_with(b"#") {
                return Ok(true);
            }
        }
    }

    /// Returns the error for the line read last.
    pub(super) fn bad(&self, expected: &'static str, found: &[u8]) -> InputError {
        let found = String::from_utf8_lossy(found).trim_end().chars().take(60).collect();
        InputError::BadLine { file: self.file.to_owned(), line: self.number, expected, found }
    }

    /// Takes one packet.
    fn push(&self, to: &mut Collector<'_>, time: &[u8], size: &[u8], flow: u32) -> Result<(), InputError> {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let ticks = text(time).and_then(seconds);
        let ticks = ticks.ok_or_else(|| self.bad("a time in seconds, zero or more", time))?;
        let bytes = text(size).and_then(|size| size.parse().ok());
        let bytes = bytes.ok_or_else(|| self.bad("a size in whole bytes, 1 to 4294967295", size))?;
        let arrival = Arrival { time: ticks, interface: 0, flow, kin: flow, bytes, look: None };
        to.push(&arrival, TracePlace::Line(self.number))
    }
}

/// Reads `time size` lines, from the line read last.
fn columns(mut lines: Lines<'_, impl BufRead>, collector: &mut Collector<'_>) -> Result<(), InputError> {
    loop {
        let mut fields = lines.line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let (Some(time), Some(size), None) = (fields.next(), fields.next(), fields.next()) else {
            return Err(lines.bad("two columns, a time in seconds and a size in bytes", &lines.line));
        };
        lines.push(collector, time, size, 0)?;
        if !lines.next()? {
            return Ok(());
        }
    }
}

/// Reads CSV; the line read last is its header.
fn csv(lines: Lines<'_, impl BufRead>, mut collector: Collector<'_>) -> Result<Trace, InputError> {
    let mut names = Vec::new();
    let end = csv_rows(lines, &mut collector, &mut names);
    collector.finish(end, |number| (names[number].clone(), None), |_| None)
}

fn csv_rows(
    mut lines: Lines<'_, impl BufRead>,
    collector: &mut Collector<'_>,
    names: &mut Vec<String>,
) -> Result<(), InputError> {
    let mut record = Record::new();
    record.split(&lines)?;
    let column =
        |name: &str| (0..record.len()).find(|i| record.field(*i).eq_ignore_ascii_case(name.as_bytes()));
    let (Some(time), Some(size)) = (column("time"), column("size")) else {
        return Err(lines.bad("a header with the columns time and size, and flow if wanted", &lines.line));
    };
    let (flow, width) = (column("flow"), record.len());
    let mut numbers = BTreeMap::<String, u32>::new();
    if flow.is_none() {
        names.push("all".to_owned());
    }
    while lines.next()? {
        record.split(&lines)?;
        if record.len() != width {
            return Err(lines.bad("as many columns as the header has", &lines.line));
        }
        let number = match flow.map(|column| std::str::from_utf8(record.field(column))) {
            None => 0,
            Some(Ok(name)) if !name.is_empty() => match numbers.get(name) {
                Some(number) => *number,
                None => {
                    let number = u32::try_from(names.len()).unwrap_or(u32::MAX);
                    numbers.insert(name.to_owned(), number);
                    names.push(name.to_owned());
                    number
                }
            },
            Some(_) => return Err(lines.bad("the name of a flow", &lines.line)),
        };
        lines.push(collector, record.field(time), record.field(size), number)?;
    }
    Ok(())
}

/// One line of CSV, split.
struct Record {
    reader: csv_core::Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl Record {
    fn new() -> Record {
        let (text, ends) = (vec![0; 1 << 16], vec![0; 1 << 10]);
        Record { reader: csv_core::Reader::new(), text, ends, count: 0 }
    }

    fn split(&mut self, lines: &Lines<'_, impl BufRead>) -> Result<(), InputError> {
        self.reader.reset();
        let (mut result, read, written, mut count) =
            self.reader.read_record(&lines.line, &mut self.text, &mut self.ends);
        // The last line may lack its line feed; elsewhere, exhausted input means an open quote.
        if result == ReadRecordResult::InputEmpty && read == lines.line.len() && !lines.line.ends_with(b"\n")
        {
            let (text, ends) = (&mut self.text[written..], &mut self.ends[count..]);
            let (last, _, _, more) = self.reader.read_record(&[], text, ends);
            result = last;
            count += more;
        }
        self.count = count;
        match result {
            ReadRecordResult::Record => Ok(()),
            _ => Err(lines.bad("at most 1024 columns, and quotes closed on the same line", &lines.line)),
        }
    }

    fn len(&self) -> usize {
        self.count
    }

    fn field(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        self.text[start..self.ends[index]].trim_ascii()
    }
}

/// Parses a time in seconds to the nearest tick of 10 ps; `None` if it is not a finite number, zero
/// or more. Decimal digits are read exactly, because a number of seconds since 1970 has a
/// resolution of only a quarter of a microsecond in floating point; only numbers with an exponent
/// are read that way.
fn seconds(text: &str) -> Option<Ticks> {
    const DIGITS: usize = 11; // of a second in a tick
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    if !plain || whole.len() > 18 || (whole.is_empty() && fraction.is_empty()) {
        let number: f64 = text.parse().ok()?;
        let usable = (0.0..1e18).contains(&number);
        return usable.then(|| (number * SECOND as f64).round() as Ticks);
    }
    let digit = |place: usize| fraction.as_bytes().get(place).map_or(0, |byte| Ticks::from(byte - b'0'));
    let whole = whole.bytes().fold(0, |sum, byte| sum * 10 + Ticks::from(byte - b'0'));
    let fraction = (0..DIGITS).fold(0, |sum, place| sum * 10 + digit(place));
    Some(whole * SECOND + fraction + Ticks::from(digit(DIGITS) >= 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_exactly() {
        assert_eq!(seconds("0.001340"), Some(134_000_000));
        assert_eq!(seconds("1700000000.123456789"), Some(170_000_000_012_345_678_900));
        assert_eq!(seconds("1."), Some(SECOND));
        assert_eq!(seconds(".5"), Some(SECOND / 2));
        assert_eq!(seconds("0.000000000014"), Some(1));
        assert_eq!(seconds("0.000000000015"), Some(2));
        assert_eq!(seconds("0.999999999995"), Some(SECOND));
        assert_eq!(seconds("1.5e-3"), Some(SECOND * 3 / 2000));
        assert_eq!(seconds("+2"), Some(2 * SECOND));
        for text in ["", ".", "-1", "-0.5", "NaN", "inf", "1e400", "1e18", "1 2", "0x10", "1.2.3", "1_000"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
