//! All errors of traces, in one place.

use std::fmt;
use std::io;
use std::path::PathBuf;
use tidegate_core::units::Span;
use tidegate_formats::in_words;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// A line of a list, from 1.
    Line(u64),
    /// A packet of a capture.
    Packet {
        /// Its number, from 1.
        number: u64,
        /// Start of its record, in bytes from the start of the (uncompressed) file.
        offset: u64,
    },
}

impl fmt::Display for TracePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TracePlace::Line(line) => write!(f, "line {line}"),
            TracePlace::Packet { number, offset } => write!(f, "packet {number} (byte offset {offset})"),
        }
    }
}

/// A file cannot be used as a trace.
///
/// Byte offsets in a compressed file are those of its uncompressed bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened or read, or its compressed data are damaged.
    #[error("{}: cannot be read: {}", file.display(), in_words(source))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// The file is neither a capture nor text, or is text but named as a capture.
    #[error(
        "{}: is not a capture: expected the first bytes of a pcap or pcapng file, found {found:02x?}",
        file.display()
    )]
    NotACapture {
        /// The file.
        file: PathBuf,
        /// Its first bytes, at most four.
        found: Vec<u8>,
    },
    /// The file holds no packet.
    #[error("{}: holds no packets: expected at least one", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// The file is not text, where frame sizes are expected.
    #[error("{}: is not a list of frame sizes: expected text, found the bytes {found:02x?}", file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// Its first bytes, at most four.
        found: Vec<u8>,
    },
    /// The file holds no frame, or only empty ones.
    #[error("{}: holds no frame of any bytes: expected at least one", file.display())]
    NoFrames {
        /// The file.
        file: PathBuf,
    },
    /// The file holds more than [`MAX_FRAMES`](super::MAX_FRAMES) frames.
    #[error("{}: holds more than {most} frames, and they are kept in memory", file.display())]
    TooManyFrames {
        /// The file.
        file: PathBuf,
        /// The most that are read.
        most: usize,
    },
    /// The file ends before its first packet or line is whole.
    #[error("{}: is truncated: ends in {place}, and holds no whole packet", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// The incomplete packet or line.
        place: TracePlace,
    },
    /// The path leads to a pipe, a socket or a device.
    #[error("{}: is a pipe or a device: expected a regular file, which can be read again", file.display())]
    NotAFile {
        /// The path.
        file: PathBuf,
    },
    /// The file holds more than [`MAX_PACKETS`](super::MAX_PACKETS) packets.
    #[error(
        "{}: holds more than {most} packets, and they are kept in memory: cut it into shorter files \
         (`editcap -c {most}`)",
        file.display()
    )]
    TooMany {
        /// The file.
        file: PathBuf,
        /// The most that are read.
        most: u64,
    },
    /// A record of a capture contradicts itself or is of a kind that has no use here.
    #[error(
        "{}: byte offset {offset}, after {packets} whole packets: expected {expected}, found {found}",
        file.display()
    )]
    BadRecord {
        /// The file.
        file: PathBuf,
        /// Start of the record.
        offset: u64,
        /// Number of whole packets before it.
        packets: u64,
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// The capture's link type is not supported.
    #[error(
        "{}: link type {number} is not supported: expected Ethernet (1), raw IP (101), Linux cooked (113, 276) \
         or BSD loopback (0, 108)",
        file.display()
    )]
    LinkType {
        /// The file.
        file: PathBuf,
        /// The LINKTYPE_ number.
        number: u32,
    },
    /// A line of a list is malformed.
    #[error("{}: line {line}: expected {expected}, found {found:?}", file.display())]
    BadLine {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// Time goes back in a list.
    #[error(
        "{}: {place}: time goes back by {} s: expected times that do not decrease",
        file.display(),
        by.as_secs_f64()
    )]
    Backwards {
        /// The file.
        file: PathBuf,
        /// The packet that is too early.
        place: TracePlace,
        /// Time by which it is earlier than the latest packet before it.
        by: Span,
    },
    /// A packet has no bytes.
    #[error("{}: {place}: expected a size above zero, found 0", file.display())]
    ZeroSize {
        /// The file.
        file: PathBuf,
        /// The packet.
        place: TracePlace,
    },
    /// The packets are further apart than a [`Span`] can hold.
    #[error("{}: {place}: expected a time within 5.8 years of the first packet's", file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
        /// The first packet that is too late.
        place: TracePlace,
    },
}
