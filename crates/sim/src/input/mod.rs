//! Recorded traffic: packet captures and packet lists, as arrival times and sizes per flow.
//!
//! [`load`] reads these formats, recognized by content and not by name:
//!
//! - captures: pcap (either byte order, microseconds or nanoseconds) and pcapng;
//! - lists: one packet a line, `time size`, seconds and bytes, `#` for comments;
//! - CSV with a header that names the columns `time`, `size` and, optionally, `flow`;
//! - any of them compressed with gzip.
//!
//! [`load_video`] reads the frame sizes of a video, and [`detect_format`] tells which of the two a
//! file contains. [`load_sizes`] reads a distribution function of transfer sizes.
//!
//! A file is read as a stream; 16 bytes a packet are kept (up to twice that while a flow grows), of
//! at most [`MAX_PACKETS`] packets. If a file is cut off, the part before is read, and
//! [`Trace::cut`] has the place.
//!
//! A capture becomes the traffic that a link would carry: unreadable records are left out
//! ([`LeftOut`]), copies of packets are removed (`copies`), steps of the clock are taken back
//! (`clock`), and super-packets are cut (`segments`). [`Trace::mended`] lists these changes.

mod capture;
mod clock;
mod collect;
pub mod contract;
mod copies;
mod error;
mod fragments;
mod frames;
mod gzip;
mod mended;
mod packet;
pub mod rhythm;
mod schedule;
mod segments;
mod sizes;
pub mod suggest;
mod text;
mod video;
mod window;

pub use collect::MAX_PACKETS;
pub use error::{InputError, Place};
pub use mended::{LeftOut, Mended, Step};
pub use schedule::{Schedule, ScheduleError};
pub use sizes::{load_sizes, read_sizes};
pub use video::{MAX_FRAMES, Video, load_video, read_video};

use gzip::Gunzip;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use text::Lines;
use tidegate_core::headers::Headers;
use tidegate_core::units::Span;

/// The packets of a file, by flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The flows in the order of their first packet in the file; at least one.
    pub flows: Vec<TraceFlow>,
    /// Packets of all flows; at least one.
    pub packets: u64,
    /// Bytes of all flows.
    pub bytes: u64,
    /// From the first packet to the last one.
    pub span: Span,
    /// Packets of a capture that come after a packet with a later time; they were sorted. Always 0
    /// for lists, where this is an error.
    pub reordered: u64,
    /// The packet or line at which the file is cut off, which is left out.
    pub cut: Option<Place>,
    /// Other differences from its file.
    pub mended: Mended,
}

/// One flow's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFlow {
    /// The 5-tuple as [`tidegate_core::classifier::FiveTuple`] writes it (captures;
    /// `other` for everything that is not IP), the flow column's text (CSV), or `all`.
    pub name: String,
    /// Time and size of each packet, in order of time: the span since the first packet of the file,
    /// and bytes. Never empty.
    ///
    /// In a capture the size is the packet's original length as the capture states it, whatever
    /// part of it was kept, as an Ethernet frame without preamble and frame check sequence: the
    /// pseudo-headers of other link types do not count, and Ethernet's 14 bytes do.
    pub packets: Vec<(Span, u32)>,
    /// The distance from one repetition of the file to the next: its span and one mean gap between
    /// its packets (of all flows). Zero when all its packets have one time.
    pub period: Span,
    /// Header fields that a gate reads, for captures read with [`load_frames`].
    pub headers: Option<Headers>,
}

impl TraceFlow {
    /// Returns the bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// Returns the span from the flow's first packet to its last one.
    pub fn life(&self) -> Span {
        match (self.packets.first(), self.packets.last()) {
            (Some(first), Some(last)) => last.0 - first.0,
            _ => Span::ZERO,
        }
    }
}

/// Reads the trace in the file at `path`.
///
/// # Errors
///
/// [`InputError`], which names the file and the place in it. A pipe is refused, because files are
/// read again, and opening one waits for a writer.
pub fn load(path: &Path) -> Result<Trace, InputError> {
    open(path, What::Packets)
}

/// Like [`load`], and adds the bytes of the file to `done` as they are read.
///
/// # Errors
///
/// As [`load`].
pub fn load_counted(path: &Path, done: &AtomicU64) -> Result<Trace, InputError> {
    read_what(Counted { from: open_file(path)?, done }, path, What::Packets)
}

/// A stream that counts the bytes read.
struct Counted<'a> {
    from: File,
    done: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Reads the capture at `path` as Ethernet frames: flows also differ in DSCP and VLAN tags, which
/// their names have behind the 5-tuple, and a packet without an Ethernet header is lengthened by
/// one. Lists are read as by [`load`].
///
/// # Errors
///
/// As [`load`].
pub fn load_frames(path: &Path) -> Result<Trace, InputError> {
    open(path, What::Frames)
}

/// Purpose of reading a capture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Packets,
    Frames,
}

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Packets, read by [`load`].
    Packets,
    /// Frame sizes, read by [`load_video`].
    Frames,
}

/// Returns the content of the file at `path`, by its first bytes and its first line. Captures, CSV
/// and lines of two columns are packets; lines of one number, and lines with a frame type, are
/// frame sizes.
///
/// # Errors
///
/// [`InputError`] when the file cannot be read, and when it has no line.
pub fn detect_format(path: &Path) -> Result<Content, InputError> {
    with_plain_bytes(open_file(path)?, path, |head, input| {
        if capture::is_capture(head) || !is_text(head) {
            return Ok(Content::Packets);
        }
        let mut lines = Lines::new(input, path);
        match lines.next()? {
            true if video::is_of_video(lines.line()) => Ok(Content::Frames),
            true => Ok(Content::Packets),
            false => Err(InputError::Empty { file: path.to_owned() }),
        }
    })
}

fn open(path: &Path, what: What) -> Result<Trace, InputError> {
    read_what(open_file(path)?, path, what)
}

fn open_file(path: &Path) -> Result<File, InputError> {
    let unreadable = |source| InputError::Unreadable { file: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    // Only some systems say in the error that the path is a directory.
    if metadata.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(InputError::NotAFile { file: path.to_owned() });
    }
    File::open(path).map_err(unreadable)
}

/// Reads a trace from `input`; `name` is its name in errors, and its extension (`.pcap`, `.pcapng`,
/// `.cap`, also before `.gz`) requires a capture.
///
/// # Errors
///
/// As [`load`].
pub fn read(input: impl Read, name: &Path) -> Result<Trace, InputError> {
    read_what(input, name, What::Packets)
}

fn read_what(input: impl Read, name: &Path, what: What) -> Result<Trace, InputError> {
    with_plain_bytes(input, name, |head, input| plain(head, input, name, what))
}

/// Reads from the bytes of `input`, decompressed if necessary; `head` is the first of them, at most
/// four.
fn with_plain_bytes<T>(
    input: impl Read,
    name: &Path,
    read: impl FnOnce(&[u8], &mut dyn Read) -> Result<T, InputError>,
) -> Result<T, InputError> {
    let unreadable = |source| InputError::Unreadable { file: name.to_owned(), source };
    let (head, mut input) = peek(input).map_err(unreadable)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        let (head, mut input) = peek(Gunzip::new(input)).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                InputError::Truncated { file: name.to_owned(), place: Place::Packet { number: 1, offset: 0 } }
            }
            _ => unreadable(source),
        })?;
        return whole(head, &mut input, name, read);
    }
    whole(head, &mut input, name, read)
}

/// Reads from uncompressed bytes. Skips the byte-order mark that some programs write before UTF-8
/// text (RFC 3629, section 6).
fn whole<T>(
    head: Vec<u8>,
    mut input: &mut dyn Read,
    name: &Path,
    read: impl FnOnce(&[u8], &mut dyn Read) -> Result<T, InputError>,
) -> Result<T, InputError> {
    const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
    if head.is_empty() {
        return Err(InputError::Empty { file: name.to_owned() });
    }
    if !head.starts_with(&MARK) {
        return read(&head, input);
    }
    let unreadable = |source| InputError::Unreadable { file: name.to_owned(), source };
    input.read_exact(&mut [0; 3]).map_err(unreadable)?;
    let (head, mut input) = peek(&mut input).map_err(unreadable)?;
    if head.is_empty() {
        return Err(InputError::Empty { file: name.to_owned() });
    }
    read(&head, &mut input)
}

/// Reads uncompressed bytes that start with `head`.
fn plain(head: &[u8], input: impl Read, name: &Path, what: What) -> Result<Trace, InputError> {
    if capture::is_capture(head) {
        return capture::read(input, name, what);
    }
    if !is_text(head) || is_named_capture(name) {
        return Err(InputError::NotACapture { file: name.to_owned(), found: head.to_vec() });
    }
    text::read(input, name)
}

fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
}

fn is_named_capture(name: &Path) -> bool {
    let Some(name) = name.file_name().and_then(|n| n.to_str()) else { return false };
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".pcap", ".pcapng", ".cap"].iter().any(|extension| name.ends_with(extension))
}

/// Returns the first four bytes (fewer when there are no more), and the whole input.
fn peek<R: Read>(mut input: R) -> io::Result<(Vec<u8>, impl Read)> {
    let mut head = Vec::new();
    input.by_ref().take(4).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(input)))
}

#[cfg(test)]
mod tests;
