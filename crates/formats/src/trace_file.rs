//! Files of delivery opportunities, as mahimahi replays them: the millisecond of each on a line of
//! its own, plain or compressed with gzip.

use crate::error::{Complaint, Report, in_words};
use crate::keys::wire::Recorded;
use crate::suggest::brief;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use tidegate_core::link::{NotATrace, Trace};
use tidegate_core::units::Rate;

/// The most opportunities that are read: half an hour at 100 Mbit/s, in 64 MB.
const MOST: usize = 1 << 24;
/// The longest line, in bytes; a number of milliseconds has ten digits at most.
const LONGEST_LINE: u64 = 64;

/// A trace, and its mean rate.
#[derive(Clone, Debug)]
pub(crate) struct TraceFile {
    pub(crate) trace: Arc<Trace>,
    /// In bit/s, rounded to the nearest.
    pub(crate) mean: u64,
}

/// Reads the file that a link names; a relative path starts at `base_dir`. `None` when it names
/// none, and after something was reported.
pub(crate) fn read(recorded: &Recorded, base_dir: &Path, report: &mut Report) -> Option<TraceFile> {
    let Recorded { trace: named } = recorded;
    let path = base_dir.join(named.as_ref()?);
    let read = open(&path).map_err(|problem| {
        Complaint::new(format!("cannot read {}: {problem}", path.display()))
            .help("a relative path starts at the folder of this file")
    });
    let checked = read.and_then(|input| {
        let trace = parse(input).map_err(|problem| {
            Complaint::new(format!("{} is not a trace of a link: {problem}", path.display()))
                .help("each line is the millisecond of one opportunity to deliver 1500 bytes, in order")
        })?;
        let mean = trace.mean_bits_per_second().round() as u64;
        match Rate::from_bits_per_second(mean) {
            Some(_) => Ok(TraceFile { trace: Arc::new(trace), mean }),
            None => Err(Complaint::new(format!(
                "{} delivers {mean} bit/s, which is not a rate that can be sent",
                path.display()
            ))),
        }
    });
    checked.map_err(|complaint| report.add(named.place, complaint)).ok()
}

fn open(path: &Path) -> Result<File, String> {
    let metadata = std::fs::metadata(path).map_err(|error| in_words(&error))?;
    if metadata.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if !metadata.is_file() {
        // Opening a pipe would block until a writer appears.
        return Err("it is not a regular file".to_owned());
    }
    File::open(path).map_err(|error| in_words(&error))
}

fn parse(mut input: impl Read) -> Result<Trace, String> {
    let mut head = Vec::new();
    input.by_ref().take(2).read_to_end(&mut head).map_err(|error| in_words(&error))?;
    let compressed = head == [0x1f, 0x8b];
    let input = Cursor::new(head).chain(input);
    if compressed { lines(BufReader::new(MultiGzDecoder::new(input))) } else { lines(BufReader::new(input)) }
}

fn lines(mut input: impl BufRead) -> Result<Trace, String> {
    let mut opportunities: Vec<u32> = Vec::new();
    let mut line = Vec::new();
    loop {
        let number = opportunities.len() + 1;
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(format!("its compressed data end in line {number}"));
            }
            Err(error) => return Err(format!("line {number}: {}", in_words(&error))),
        }
        let text = String::from_utf8_lossy(&line);
        let millisecond = text.trim_end().parse().map_err(|_| {
            let found = brief(text.trim_end());
            format!(
                "line {number}: expected a whole number of milliseconds up to {}, found `{found}`",
                u32::MAX
            )
        })?;
        if number > MOST {
            return Err(format!("it has more than {MOST} lines"));
        }
        opportunities.push(millisecond);
    }
    Trace::new(opportunities).map_err(|error| match error {
        NotATrace::Backwards { at, .. } => format!("line {}: {error}", at + 1),
        NotATrace::Empty | NotATrace::NoTime => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_and_compressed_are_the_same() {
        let expected = Trace::new([0, 0, 5, 12]).unwrap();
        for text in ["0\n0\n5\n12\n", "0\r\n0\r\n5\r\n12", "0\n0\n5\n12 \n"] {
            assert_eq!(parse(text.as_bytes()).unwrap(), expected);
            assert_eq!(parse(&gzip(text.as_bytes())[..]).unwrap(), expected);
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        let long = "1".repeat(100);
        for (text, expected) in [
            ("", "there is no opportunity to deliver in it"),
            ("0\n0\n", "it is over at 0 ms: the last opportunity says when it starts again"),
            ("1\n\n2\n", "line 2: expected a whole number of milliseconds up to 4294967295, found ``"),
            ("1\n-2\n", "line 2: expected a whole number of milliseconds up to 4294967295, found `-2`"),
            ("1\n2.5\n", "line 2: expected a whole number of milliseconds up to 4294967295, found `2.5`"),
            ("1\n4294967296\n", "line 2: expected"),
            (long.as_str(), "line 1: expected"),
            ("7\n9\n8\n", "line 3: time goes back from 9 ms to 8 ms"),
        ] {
            let found = parse(text.as_bytes()).unwrap_err();
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn half_a_file_is_not_read() {
        let text: String = (0..20_000).map(|line| format!("{line}\n")).collect();
        let whole = gzip(text.as_bytes());
        let found = parse(&whole[..whole.len() / 2]).unwrap_err();
        assert!(found.starts_with("its compressed data end in line "), "{found}");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 0xff;
        assert!(parse(&damaged[..]).is_err());
    }
}
