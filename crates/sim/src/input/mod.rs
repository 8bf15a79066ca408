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
mod file;
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
mod ticks;
mod trace;
mod video;
mod window;

pub use collect::MAX_PACKETS;
pub use error::{InputError, TracePlace};
pub use mended::{ClockStep, LeftOut, Mended};
pub use schedule::{Schedule, ScheduleError};
pub use sizes::{load_sizes, read_sizes};
pub use trace::{Trace, TraceFlow};
pub use video::{MAX_FRAMES, Video, load_video, read_video};

use capture::Purpose;
use file::{is_text, open_file, with_plain_bytes};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use text::Lines;

/// Reads the trace in the file at `path`.
///
/// # Errors
///
/// [`InputError`], which names the file and the place in it. A pipe is refused, because files are
/// read again, and opening one waits for a writer.
pub fn load(path: &Path) -> Result<Trace, InputError> {
    open(path, Purpose::Packets)
}

/// Like [`load`], and adds the bytes of the file to `done` as they are read.
///
/// # Errors
///
/// As [`load`].
pub fn load_counted(path: &Path, done: &AtomicU64) -> Result<Trace, InputError> {
    read_for(CountingReader { from: open_file(path)?, done }, path, Purpose::Packets)
}

/// A stream that counts the bytes read.
struct CountingReader<'a> {
    from: File,
    done: &'a AtomicU64,
}

impl Read for CountingReader<'_> {
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
    open(path, Purpose::Frames)
}

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
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
pub fn detect_format(path: &Path) -> Result<FileKind, InputError> {
    with_plain_bytes(open_file(path)?, path, |head, input| {
        if capture::is_capture(head) || !is_text(head) {
            return Ok(FileKind::Packets);
        }
        let mut lines = Lines::new(input, path);
        match lines.next()? {
            true if video::is_of_video(lines.line()) => Ok(FileKind::Frames),
            true => Ok(FileKind::Packets),
            false => Err(InputError::Empty { file: path.to_owned() }),
        }
    })
}

fn open(path: &Path, purpose: Purpose) -> Result<Trace, InputError> {
    read_for(open_file(path)?, path, purpose)
}

/// Reads a trace from `input`; `name` is its name in errors, and its extension (`.pcap`, `.pcapng`,
/// `.cap`, also before `.gz`) requires a capture.
///
/// # Errors
///
/// As [`load`].
pub fn read(input: impl Read, name: &Path) -> Result<Trace, InputError> {
    read_for(input, name, Purpose::Packets)
}

fn read_for(input: impl Read, name: &Path, purpose: Purpose) -> Result<Trace, InputError> {
    with_plain_bytes(input, name, |head, input| plain(head, input, name, purpose))
}

/// Reads uncompressed bytes that start with `head`.
fn plain(head: &[u8], input: impl Read, name: &Path, purpose: Purpose) -> Result<Trace, InputError> {
    if capture::is_capture(head) {
        return capture::read(input, name, purpose);
    }
    if !is_text(head) || is_named_capture(name) {
        return Err(InputError::NotACapture { file: name.to_owned(), found: head.to_vec() });
    }
    text::read(input, name)
}

fn is_named_capture(name: &Path) -> bool {
    let Some(name) = name.file_name().and_then(|n| n.to_str()) else { return false };
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".pcap", ".pcapng", ".cap"].iter().any(|extension| name.ends_with(extension))
}

#[cfg(test)]
mod tests;
