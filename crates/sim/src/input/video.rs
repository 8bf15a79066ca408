//! The frame sizes of videos: one a line, or in columns.

use super::error::{InputError, TracePlace};
use super::file::{is_text, open_file, with_plain_bytes};
use super::text::Lines;
use std::io::{BufRead, Read};
use std::path::Path;

/// The most frames of a file: 80 MB of memory, more than a week at 30 frames a second.
pub const MAX_FRAMES: usize = 20_000_000;

/// The frames of a video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// The bytes of each frame in the order of the file, which is that of transmission. At least
    /// one frame is not empty.
    pub frames: Vec<u32>,
    /// The line at which the file is cut off, which is left out.
    pub cut: Option<TracePlace>,
}

/// Reads the frame sizes in the file at `path`, plain or compressed with gzip: lines of one number
/// of bytes, or of the columns of the Arizona State University's library (number, time, type,
/// bytes, and more). Skips blank lines and those that begin with `#`.
///
/// # Errors
///
/// [`InputError`], which names the file and the line.
pub fn load_video(path: &Path) -> Result<Video, InputError> {
    read_video(open_file(path)?, path)
}

/// Reads frame sizes from `input`; `name` is its name in errors.
///
/// # Errors
///
/// As [`load_video`].
pub fn read_video(input: impl Read, name: &Path) -> Result<Video, InputError> {
    with_plain_bytes(input, name, |head, input| {
        if !is_text(head) {
            return Err(InputError::NotText { file: name.to_owned(), found: head.to_vec() });
        }
        frames(Lines::new(input, name), MAX_FRAMES)
    })
}

fn frames(mut lines: Lines<'_, impl BufRead>, most: usize) -> Result<Video, InputError> {
    let file = || lines.file().to_owned();
    let (nothing, too_many) =
        (InputError::NoFrames { file: file() }, InputError::TooManyFrames { file: file(), most });
    let (mut frames, mut columns, mut cut) = (Vec::new(), None, None);
    loop {
        match lines.next() {
            Ok(true) => {}
            Ok(false) => break,
            Err(InputError::Truncated { place, .. }) if !frames.is_empty() => {
                cut = Some(place);
                break;
            }
            Err(error) => return Err(error),
        }
        if frames.len() == most {
            return Err(too_many);
        }
        let has_columns = *columns.get_or_insert_with(|| is_in_columns(lines.line()));
        frames.push(frame(&lines, has_columns)?);
    }
    if frames.iter().all(|bytes| *bytes == 0) {
        return Err(nothing);
    }
    Ok(Video { frames, cut })
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// Returns true if a line has columns: number, time, the type of the frame, which is a letter, and
/// bytes.
fn is_in_columns(line: &[u8]) -> bool {
    let letters = |field: &[u8]| field.iter().all(u8::is_ascii_alphabetic);
    fields(line).nth(2).is_some_and(letters) && fields(line).nth(3).is_some()
}

/// Returns true if a line of a list, of packets or of frame sizes, is one of frame sizes.
pub(super) fn is_of_video(line: &[u8]) -> bool {
    !line.contains(&b',') && (fields(line).count() == 1 || is_in_columns(line))
}

fn frame(lines: &Lines<'_, impl BufRead>, has_columns: bool) -> Result<u32, InputError> {
    let line = lines.line();
    let (at, expected) = match has_columns {
        true => (3, "columns number, time, type (I, P or B) and bytes, 0 to 4294967295"),
        false => (0, "the bytes of a frame, a whole number of 0 to 4294967295"),
    };
    let alone = has_columns || fields(line).count() == 1;
    let bytes = fields(line).nth(at).filter(|_| alone).and_then(|field| std::str::from_utf8(field).ok());
    bytes.and_then(|bytes| bytes.parse().ok()).ok_or_else(|| lines.bad(expected, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn read(text: &[u8]) -> Result<Video, String> {
        read_video(text, Path::new("v")).map_err(|error| error.to_string())
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn one_a_line_and_columns_are_the_same_plain_and_compressed() {
        let plain = b"# a comment\n536\n152\n\n0\r\n136";
        let columns = b"0 0.0 I 536 98.19 92.17 92.17\n4\t133.33\tP\t152\n1 33.3 B 0\n2 66.6 B 136 1 2 3\n";
        for text in [&plain[..], &columns[..]] {
            for text in [text.to_vec(), gzip(text)] {
                assert_eq!(read(&text), Ok(Video { frames: vec![536, 152, 0, 136], cut: None }));
            }
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        let whole = "the bytes of a frame, a whole number of 0 to 4294967295";
        let columns = "columns number, time, type (I, P or B) and bytes, 0 to 4294967295";
        for (text, expected) in [
            ("", "v: holds no packets: expected at least one".to_owned()),
            ("# nothing\n\n", "v: holds no frame of any bytes: expected at least one".to_owned()),
            ("0\n0\n", "v: holds no frame of any bytes: expected at least one".to_owned()),
            ("1\n-2\n", format!("v: line 2: expected {whole}, found \"-2\"")),
            ("1\n2.5\n", format!("v: line 2: expected {whole}, found \"2.5\"")),
            ("4294967296\n", format!("v: line 1: expected {whole}, found \"4294967296\"")),
            ("1 2\n", format!("v: line 1: expected {whole}, found \"1 2\"")),
            ("7\n0 0.0 I 5\n", format!("v: line 2: expected {whole}, found \"0 0.0 I 5\"")),
            ("0 0.0 I 5\n7\n", format!("v: line 2: expected {columns}, found \"7\"")),
            ("0 0.0 I -5\n", format!("v: line 1: expected {columns}, found \"0 0.0 I -5\"")),
            (
                "\u{7f}ELF",
                "v: is not a list of frame sizes: expected text, found the bytes [7f, 45, 4c, 46]".to_owned(),
            ),
        ] {
            assert_eq!(read(text.as_bytes()), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn frames_before_a_cut_are_read_and_the_cut_is_said() {
        let text: String = (0..20_000).map(|frame| format!("{}\n", frame * 7919 % 5000)).collect();
        let whole = gzip(text.as_bytes());
        let video = read(&whole[..whole.len() / 2]).unwrap();
        assert_eq!(video.cut, Some(TracePlace::Line(video.frames.len() as u64 + 1)));
        assert_eq!(video.frames, read(&whole).unwrap().frames[..video.frames.len()]);
        assert!(video.frames.len() > 1000);
    }

    #[test]
    fn frames_beyond_the_most_are_refused() {
        let refused = frames(Lines::new(&b"1\n2\n3\n"[..], Path::new("v")), 2).unwrap_err();
        assert_eq!(refused.to_string(), "v: holds more than 2 frames, and they are kept in memory");
    }
}
