//! Packet captures: pcap and pcapng.
//!
//! Sources: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Headers of files and descriptions
//! of interfaces are parsed by `pcap-parser`; this module makes sure that a record is complete
//! before it is read. A record that contradicts itself, or has no use here, is left out and
//! counted, and reading resumes behind it.

mod blocks;
mod classic;

use super::collect::{Collector, Order};
use super::error::{InputError, TracePlace};
use super::fragments::Fragments;
use super::frames::{self, ETHERNET, Frames};
use super::mended::LeftOut;
use super::packet::{self, Arrival, Look};
use super::ticks::{SECOND, Ticks};
use super::trace::Trace;
use super::window::Window;
use std::io::{self, Read};
use std::path::Path;
use tidegate_core::classifier::{Classifier, FiveTuple};
use tidegate_core::headers::{Headers, LinkType};

/// The longest record that is read, in bytes: it bounds the memory. Packets from capture programs
/// have at most 256 KiB; blocks with names and secrets are longer.
const LONGEST: usize = 16 << 20;

const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Purpose of reading a capture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Packets,
    Frames,
}

/// Returns true if a file that starts with `head` is a capture.
pub(super) fn is_capture(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else { return false };
    let classic = matches!(magic, 0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34 | 0xd4c3_b2a1 | 0x4d3c_b2a1);
    classic || magic == u32::from_le_bytes(SECTION)
}

/// Reads a capture that starts with one of the numbers of [`is_capture`].
pub(super) fn read(input: impl Read, file: &Path, purpose: Purpose) -> Result<Trace, InputError> {
    let mut reader = Reader {
        file,
        window: Window::new(input),
        collector: Collector::new(file, Order::ByTheClock),
        classifier: Classifier::new(),
        fragments: Fragments::default(),
        frames: (purpose == Purpose::Frames).then(Frames::default),
        damage: None,
    };
    let read = reader.need(4).and_then(|()| {
        if reader.window.bytes().starts_with(&SECTION) { reader.blocks() } else { reader.classic() }
    });
    let Reader { collector, classifier, frames, damage, .. } = reader;
    // If no packet was read, the damage is the error.
    let end = match damage {
        Some(damage) if collector.packets() == 0 && read.is_ok() => Err(damage),
        _ => read,
    };
    let tuples = classifier.flows();
    let describe = |number: usize| match &frames {
        None => (tuples[number].to_string(), None),
        Some(frames) => (frames.name(number), Some(frames.headers(number))),
    };
    let reverse = |kin: u32| classifier.find(&reversed(tuples.get(kin as usize)?));
    collector.finish(end, describe, reverse)
}

/// Returns the flow in the other direction.
fn reversed(flow: &FiveTuple) -> FiveTuple {
    match *flow {
        FiveTuple::Other => FiveTuple::Other,
        FiveTuple::Ip { source, destination, ports, protocol } => FiveTuple::Ip {
            source: destination,
            destination: source,
            ports: ports.map(|(from, to)| (to, from)),
            protocol,
        },
    }
}

/// An interface of a capture, or the whole of a classic one.
#[derive(Clone, Copy)]
struct Interface {
    number: u32,
    link: u32,
    /// Units of its clock in a second.
    units: u64,
    /// Zero of its clock.
    zero: Ticks,
    /// Bytes of frame check sequence in its packets, which are not counted.
    fcs: u32,
}

struct Reader<'a, R> {
    file: &'a Path,
    window: Window<R>,
    collector: Collector<'a>,
    /// Numbers of the 5-tuples.
    classifier: Classifier,
    /// Flows of later fragments: those of their datagrams.
    fragments: Fragments,
    /// Flows as a gate distinguishes them; it sees no ports in later fragments.
    frames: Option<Frames>,
    /// The fault of the first record that was left out.
    damage: Option<InputError>,
}

impl<R: Read> Reader<'_, R> {
    fn io(&self, source: io::Error) -> InputError {
        // Compressed data that end early, or are damaged behind the part read.
        let damaged = matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
        if source.kind() == io::ErrorKind::UnexpectedEof || damaged && self.collector.packets() > 0 {
            return self.truncated();
        }
        InputError::Unreadable { file: self.file.to_owned(), source }
    }

    fn truncated(&self) -> InputError {
        InputError::Truncated { file: self.file.to_owned(), place: self.place() }
    }

    /// Returns the place of the next packet.
    fn place(&self) -> TracePlace {
        TracePlace::Packet { number: self.collector.packets() + 1, offset: self.window.offset() }
    }

    fn bad(&self, expected: &'static str, found: impl Into<String>) -> InputError {
        let (offset, packets) = (self.window.offset(), self.collector.packets());
        InputError::BadRecord { file: self.file.to_owned(), offset, packets, expected, found: found.into() }
    }

    /// Counts a record that is left out, and keeps the reason if it is the first.
    fn left_out(&mut self, kind: impl Fn(&mut LeftOut) -> &mut u64, why: InputError) {
        *kind(&mut self.collector.mended.left_out) += 1;
        self.damage.get_or_insert(why);
    }

    /// Makes sure that the first `count` bytes of a record are there.
    fn need(&mut self, count: usize) -> Result<(), InputError> {
        if self.has(count)? { Ok(()) } else { Err(self.truncated()) }
    }

    /// Returns true if `count` bytes are there.
    fn has(&mut self, count: usize) -> Result<bool, InputError> {
        self.window.have(count).map_err(|error| self.io(error))
    }

    /// Returns true if another record starts here.
    fn more(&mut self) -> Result<bool, InputError> {
        self.has(1)
    }

    /// Returns bytes `at..at + 4` of the record, which must be there.
    fn word(&self, at: usize, big: bool) -> u32 {
        let bytes =
            self.window.bytes().get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn link(&self, interface: Interface) -> Result<LinkType, InputError> {
        let number = interface.link;
        LinkType::from_number(number)
            .ok_or_else(|| InputError::LinkType { file: self.file.to_owned(), number })
    }

    /// Takes a packet of `original` bytes, of which `captured` are at `at` in the record.
    fn packet(
        &mut self,
        time: Ticks,
        interface: Interface,
        at: usize,
        captured: usize,
        original: u32,
    ) -> Result<(), InputError> {
        let link = match self.link(interface) {
            Ok(link) => link,
            Err(error) => {
                self.left_out(|left_out| &mut left_out.link_type, error);
                return Ok(());
            }
        };
        let on_link = original.max(u32::try_from(captured).unwrap_or(u32::MAX)).saturating_sub(interface.fcs);
        if on_link == 0 {
            let empty = InputError::ZeroSize { file: self.file.to_owned(), place: self.place() };
            self.left_out(|left_out| &mut left_out.empty, empty);
            return Ok(());
        }
        let frame = self.window.bytes().get(at..at + captured).unwrap_or_default();
        let (headers, in_frame) = Headers::read_packet(link, frame);
        let more = i64::from(ETHERNET) - i64::from(frames::link_header(link));
        let look = Look::of(frame, in_frame, &headers, more, interface.number);
        let kin = self.fragments.flow(&headers, |headers| self.classifier.classify(headers));
        let arrival = Arrival {
            time,
            interface: interface.number,
            flow: self.frames.as_mut().map_or(kin, |frames| frames.number(&headers)),
            kin,
            bytes: frames::length(link, packet::length(frame, in_frame, on_link)).max(1),
            look: Some(look),
        };
        let place = self.place();
        self.collector.push(&arrival, place)
    }
}

/// Converts `count` units of 1/`units` s to the nearest tick.
fn ticks(count: u64, units: u64) -> Ticks {
    // Only times finer than a tick are rounded; the two clocks of classic files, and nanoseconds,
    // never are.
    let units = Ticks::from(units);
    (Ticks::from(count) * SECOND + units / 2) / units
}
