//! Packet captures: pcap and pcapng.
//!
//! Sources: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Records are parsed by
//! `pcap-parser`; this module sees to it that a record is there as a whole before it is
//! parsed, so that a record cut off by the end of the file, one that contradicts itself
//! and one that is absurdly long are told apart.

use super::collect::{Collector, Order, SECOND, Ticks};
use super::fragments::Fragments;
use super::frames::{self, Frames};
use super::window::Window;
use super::{InputError, Place, Trace, What};
use pcap_parser::{
    Block, InterfaceDescriptionBlock, LegacyPcapBlock, OptionCode, parse_block_be, parse_block_le,
    parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header,
};
use std::io::{self, Read};
use std::path::Path;
use tidegate_core::classifier::Classifier;
use tidegate_core::headers::{Headers, LinkType};

/// The longest record that is read, in bytes: it bounds the memory. A packet is at most
/// 256 KiB in what capture programs write; blocks with names and secrets are longer.
const LONGEST: usize = 16 << 20;

const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Whether a file that starts with `head` is a capture.
pub(super) fn is_capture(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else { return false };
    let classic = matches!(magic, 0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34 | 0xd4c3_b2a1 | 0x4d3c_b2a1);
    classic || magic == u32::from_le_bytes(SECTION)
}

/// Reads a capture that starts with one of the numbers of [`is_capture`].
pub(super) fn read(input: impl Read, file: &Path, what: What) -> Result<Trace, InputError> {
    let collector = Collector::new(file, Order::WithinASecond);
    let flows = match what {
        What::Packets => Flows::Packets(Classifier::new(), Fragments::default()),
        What::Frames => Flows::Frames(Frames::default()),
    };
    let mut reader = Reader { file, window: Window::new(input), collector, flows };
    reader.need(4)?;
    let end = if reader.window.bytes().starts_with(&SECTION) { reader.blocks() } else { reader.classic() };
    let Reader { collector, flows, .. } = reader;
    match flows {
        Flows::Packets(classifier, _) => {
            collector.finish(end, |number| classifier.flows()[number].to_string())
        }
        Flows::Frames(frames) => {
            let mut trace = collector.finish(end, |number| frames.name(number))?;
            for (number, flow) in trace.flows.iter_mut().enumerate() {
                flow.headers = Some(frames.headers(number));
            }
            Ok(trace)
        }
    }
}

/// What makes a flow of packets.
enum Flows {
    /// 5-tuples; later fragments follow their datagram's.
    Packets(Classifier, Fragments),
    /// What a gate tells apart, which sees no ports in later fragments.
    Frames(Frames),
}

/// An interface of a capture, or the whole of a classic one.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    /// Units of its clock in a second.
    units: u64,
    /// What its clock's zero is.
    zero: Ticks,
    /// Bytes of frame check sequence in its packets, which do not count.
    fcs: u32,
}

struct Reader<'a, R> {
    file: &'a Path,
    window: Window<R>,
    collector: Collector<'a>,
    flows: Flows,
}

impl<R: Read> Reader<'_, R> {
    fn io(&self, source: io::Error) -> InputError {
        // Compressed data that end early.
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return self.truncated();
        }
        InputError::Unreadable { file: self.file.to_owned(), source }
    }

    fn truncated(&self) -> InputError {
        InputError::Truncated { file: self.file.to_owned(), place: self.place() }
    }

    /// The packet that is read next.
    fn place(&self) -> Place {
        Place::Packet { number: self.collector.packets() + 1, offset: self.window.offset() }
    }

    fn bad(&self, expected: &'static str, found: impl Into<String>) -> InputError {
        let (offset, packets) = (self.window.offset(), self.collector.packets());
        InputError::BadRecord { file: self.file.to_owned(), offset, packets, expected, found: found.into() }
    }

    /// Makes sure that the first `count` bytes of a record are there.
    fn need(&mut self, count: usize) -> Result<(), InputError> {
        match self.window.have(count) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.truncated()),
            Err(error) => Err(self.io(error)),
        }
    }

    /// Whether another record starts here.
    fn more(&mut self) -> Result<bool, InputError> {
        self.window.have(1).map_err(|error| self.io(error))
    }

    /// Bytes `at..at + 4` of the record, which are there.
    fn word(&self, at: usize, big: bool) -> u32 {
        let bytes =
            self.window.bytes().get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn classic(&mut self) -> Result<(), InputError> {
        self.need(24)?;
        let Ok((_, header)) = parse_pcap_header(self.window.bytes()) else {
            return Err(self.bad("a pcap file header", "something else"));
        };
        type Parse = fn(&[u8]) -> Result<(&[u8], LegacyPcapBlock<'_>), ()>;
        let (parse, length): (Parse, usize) = if header.is_modified_format() {
            (|i| parse_pcap_frame_modified(i).map_err(|_| ()), 24)
        } else if header.is_bigendian() {
            (|i| parse_pcap_frame_be(i).map_err(|_| ()), 16)
        } else {
            (|i| parse_pcap_frame(i).map_err(|_| ()), 16)
        };
        let units = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
        // The low 16 bits are the link type; bit 26 says that the top four give the
        // length of the frame check sequence in units of two bytes.
        let network = header.network.0 as u32;
        let fcs = if network & (1 << 26) != 0 { (network >> 28) * 2 } else { 0 };
        let interface = Interface { link: network & 0xffff, units, zero: 0, fcs };
        let link = self.link(interface)?;
        self.window.pass(24);
        while self.more()? {
            self.need(length)?;
            let captured = self.word(8, header.is_bigendian()) as usize;
            if captured > LONGEST {
                return Err(self.bad("a packet of at most 16 MiB", format!("one of {captured} bytes")));
            }
            self.need(length + captured)?;
            let Ok((_, record)) = parse(self.window.bytes()) else {
                return Err(self.bad("a packet record", "something else"));
            };
            let time = Ticks::from(record.ts_sec) * SECOND + ticks(record.ts_usec.into(), units);
            let size = record.origlen.max(record.caplen).saturating_sub(fcs);
            let headers = Headers::read(link, record.data);
            self.push(time, link, &headers, size)?;
            self.window.pass(length + captured);
        }
        Ok(())
    }

    fn blocks(&mut self) -> Result<(), InputError> {
        let (mut big, mut interfaces) = (false, Vec::new());
        while self.more()? {
            self.need(12)?;
            if self.window.bytes().starts_with(&SECTION) {
                big = match self.word(8, false) {
                    0x1a2b_3c4d => false,
                    0x4d3c_2b1a => true,
                    other => {
                        return Err(self.bad("the byte-order magic of a section", format!("{other:#010x}")));
                    }
                };
                interfaces.clear(); // they belong to their section
            }
            let length = self.word(4, big) as usize;
            if !(12..=LONGEST).contains(&length) {
                return Err(self.bad("a block of 12 bytes to 16 MiB", format!("one of {length} bytes")));
            }
            self.need(length)?;
            let bytes = &self.window.bytes()[..length];
            let parsed = if big { parse_block_be(bytes) } else { parse_block_le(bytes) };
            match parsed {
                // A clock that cannot be read matters once a packet has its time.
                Ok((_, Block::InterfaceDescription(description))) => {
                    interfaces.push(interface(&description, big));
                }
                Ok((_, Block::EnhancedPacket(packet))) => {
                    let Some(interface) = interfaces.get(packet.if_id as usize).copied() else {
                        let found = format!("interface {}", packet.if_id);
                        return Err(self.bad("a packet of an interface described before", found));
                    };
                    let interface = interface.map_err(|resolution| {
                        let expected = "an interface whose clock counts 10⁻⁰ to 10⁻¹⁹ s or 2⁻⁰ to 2⁻⁶³ s";
                        self.bad(expected, format!("if_tsresol {resolution:#04x}"))
                    })?;
                    let stamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    let size = packet.origlen.max(packet.caplen).saturating_sub(interface.fcs);
                    let captured = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                    let link = self.link(interface)?;
                    let headers = Headers::read(link, captured);
                    self.push(interface.zero + ticks(stamp, interface.units), link, &headers, size)?;
                }
                Ok((_, Block::SimplePacket(_))) => {
                    return Err(self.bad("packets with times", "a Simple Packet Block, which has none"));
                }
                Ok((_, Block::Unknown(_))) if self.word(0, big) == 2 => {
                    return Err(self.bad("Enhanced Packet Blocks", "an obsolete Packet Block"));
                }
                Ok(_) => {} // names, statistics, secrets, comments: no packets
                Err(_) => {
                    let found = format!("a block of type {:#x} whose parts do not fit", self.word(0, big));
                    return Err(self.bad("a well-formed pcapng block", found));
                }
            }
            self.window.pass(length);
        }
        Ok(())
    }

    fn link(&self, interface: Interface) -> Result<LinkType, InputError> {
        let number = interface.link;
        LinkType::from_number(number)
            .ok_or_else(|| InputError::LinkType { file: self.file.to_owned(), number })
    }

    fn push(&mut self, time: Ticks, link: LinkType, headers: &Headers, size: u32) -> Result<(), InputError> {
        let (flow, size) = match &mut self.flows {
            Flows::Packets(classifier, fragments) => {
                (fragments.flow(headers, |headers| classifier.classify(headers)), size)
            }
            Flows::Frames(frames) => (frames.number(headers), frames::length(link, size)),
        };
        let place = self.place();
        self.collector.push(time, flow, size, place)
    }
}

/// `count` units, of which there are `units` in a second, to the nearest tick.
fn ticks(count: u64, units: u64) -> Ticks {
    // Times of less than a tick are rounded; the two clocks of classic files and
    // nanoseconds never are.
    let units = Ticks::from(units);
    (Ticks::from(count) * SECOND + units / 2) / units
}

/// What an interface's description says, or its `if_tsresol` when that is out of range.
///
/// The options are read here because the parser refuses every resolution that is a
/// power of two, and reads the offset as little-endian in any file.
fn interface(description: &InterfaceDescriptionBlock<'_>, big: bool) -> Result<Interface, u8> {
    let option = |code: u16| {
        let found = description.options.iter().find(|option| option.code == OptionCode(code));
        found.and_then(|option| option.as_bytes().ok()).unwrap_or_default()
    };
    let resolution = option(OptionCode::IfTsresol.0).first().copied().unwrap_or(6);
    let exponent = u32::from(resolution & 0x7f);
    let units = if resolution < 0x80 { 10u64.checked_pow(exponent) } else { 1u64.checked_shl(exponent) };
    let zero = match option(OptionCode::IfTsoffset.0).first_chunk() {
        Some(bytes) if big => i64::from_be_bytes(*bytes),
        Some(bytes) => i64::from_le_bytes(*bytes),
        None => 0,
    };
    // if_fcslen is in bits; some writers have taken it for bytes.
    let fcs = match option(13).first().copied().unwrap_or(0) {
        bits @ 16.. => u32::from(bits) / 8,
        bytes => bytes.into(),
    };
    Ok(Interface {
        link: u32::from(description.linktype.0 as u16),
        units: units.ok_or(resolution)?,
        zero: Ticks::from(zero) * SECOND,
        fcs,
    })
}
