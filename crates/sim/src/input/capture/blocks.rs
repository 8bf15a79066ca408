//! The blocks of a pcapng file.

use super::{Interface, LONGEST, Reader, SECTION};
use crate::input::InputError;
use crate::input::ticks::{SECOND, Ticks};
use pcap_parser::{Block, InterfaceDescriptionBlock, OptionCode, parse_block_be, parse_block_le};
use std::io::Read;

/// The obsolete packet block, which has a time.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Types of blocks at which reading resumes where the file is damaged.
const KNOWN: std::ops::RangeInclusive<u32> = 1..=10;

/// A packet as its block describes it.
struct Packet {
    interface: u32,
    stamp: u64,
    /// Start of its bytes in the block, and their number.
    at: usize,
    captured: usize,
    original: u32,
}

impl<R: Read> Reader<'_, R> {
    pub(super) fn blocks(&mut self) -> Result<(), InputError> {
        // An interface whose clock cannot be read keeps its resolution.
        let (mut big, mut interfaces) = (false, Vec::<Result<Interface, u8>>::new());
        while self.more()? {
            self.need(12)?;
            if self.window.bytes().starts_with(&SECTION) {
                match self.word(8, false) {
                    0x1a2b_3c4d => big = false,
                    0x4d3c_2b1a => big = true,
                    other => {
                        let damage = self.bad("the byte-order magic of a section", format!("{other:#010x}"));
                        self.left_out(|left_out| &mut left_out.damaged, damage);
                    }
                }
                interfaces.clear(); // they belong to their section
            }
            let length = self.word(4, big) as usize;
            if !(12..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
                let damage = self.bad("a block of 12 bytes to 16 MiB", format!("one of {length} bytes"));
                self.left_out(|left_out| &mut left_out.damaged, damage);
                if !self.find_block(big)? {
                    return Ok(());
                }
                continue;
            }
            if !self.has(length)? {
                let cut = self.truncated();
                if self.find_block(big)? {
                    self.left_out(|left_out| &mut left_out.damaged, cut);
                    continue;
                }
                return Err(cut);
            }
            if self.word(length - 4, big) as usize != length {
                let damage = self.bad(
                    "a block whose length stands at both ends",
                    format!("{length} and {} bytes", self.word(length - 4, big)),
                );
                self.left_out(|left_out| &mut left_out.damaged, damage);
                if !self.find_block(big)? {
                    return Ok(());
                }
                continue;
            }
            self.block(big, length, &mut interfaces)?;
            self.window.pass(length);
        }
        Ok(())
    }

    /// Reads a whole block.
    fn block(
        &mut self,
        big: bool,
        length: usize,
        interfaces: &mut Vec<Result<Interface, u8>>,
    ) -> Result<(), InputError> {
        let kind = self.word(0, big);
        match kind {
            PACKET | ENHANCED_PACKET => return self.packet_block(big, length, interfaces),
            SIMPLE_PACKET => {
                let damage = self.bad("packets with times", "a Simple Packet Block, which has none");
                self.left_out(|left_out| &mut left_out.timeless, damage);
                return Ok(());
            }
            _ => {}
        }
        let bytes = &self.window.bytes()[..length];
        let parsed = if big { parse_block_be(bytes) } else { parse_block_le(bytes) };
        match parsed {
            // An unreadable clock matters only once a packet uses it.
            Ok((_, Block::InterfaceDescription(description))) => {
                let number = u32::try_from(interfaces.len()).unwrap_or(u32::MAX);
                interfaces.push(interface(number, &description, big));
            }
            Ok(_) => {} // names, statistics, secrets, comments and unknown blocks: no packets
            Err(_) => {
                let found = format!("a block of type {kind:#x} whose parts do not fit");
                let damage = self.bad("a well-formed pcapng block", found);
                self.left_out(|left_out| &mut left_out.damaged, damage);
            }
        }
        Ok(())
    }

    fn packet_block(
        &mut self,
        big: bool,
        length: usize,
        interfaces: &[Result<Interface, u8>],
    ) -> Result<(), InputError> {
        let word = |at: usize| self.word(at, big);
        let found = (length >= 32).then(|| Packet {
            interface: match word(0) {
                PACKET if big => word(8) >> 16,
                PACKET => word(8) & 0xffff,
                _ => word(8),
            },
            stamp: u64::from(word(12)) << 32 | u64::from(word(16)),
            at: 28,
            captured: word(20) as usize,
            original: word(24),
        });
        let Some(packet) = found.filter(|packet| packet.captured <= length - 32) else {
            let found = format!("a block of type {:#x} whose parts do not fit", word(0));
            let damage = self.bad("a well-formed pcapng block", found);
            self.left_out(|left_out| &mut left_out.damaged, damage);
            return Ok(());
        };
        let interface = match interfaces.get(packet.interface as usize) {
            Some(Ok(interface)) => *interface,
            Some(Err(resolution)) => {
                let expected = "an interface whose clock counts 10⁻⁰ to 10⁻¹⁹ s or 2⁻⁰ to 2⁻⁶³ s";
                let damage = self.bad(expected, format!("if_tsresol {resolution:#04x}"));
                self.left_out(|left_out| &mut left_out.timeless, damage);
                return Ok(());
            }
            None => {
                let found = format!("interface {}", packet.interface);
                let damage = self.bad("a packet of an interface described before", found);
                self.left_out(|left_out| &mut left_out.interface, damage);
                return Ok(());
            }
        };
        let time = interface.zero + super::ticks(packet.stamp, interface.units);
        self.packet(time, interface, packet.at, packet.captured, packet.original)
    }

    /// Skips to the next whole block of a known type; returns false when there is none within 16
    /// MiB.
    fn find_block(&mut self, big: bool) -> Result<bool, InputError> {
        let mut at = 4;
        while at < LONGEST && self.has(at + 12)? {
            let (kind, length) = (self.word(at, big), self.word(at + 4, big) as usize);
            let section = self.window.bytes()[at..].starts_with(&SECTION);
            let likely = section || KNOWN.contains(&kind) && (12..=LONGEST).contains(&length);
            if section
                || likely
                    && length.is_multiple_of(4)
                    && self.has(at + length)?
                    && self.word(at + length - 4, big) as usize == length
            {
                self.window.pass(at);
                return Ok(true);
            }
            at += 4;
        }
        Ok(false)
    }
}

/// Returns an interface from its description, or its `if_tsresol` when that is out of range.
///
/// Options are read here because the parser refuses every resolution that is a power of two, and
/// reads the offset as little-endian in any file.
fn interface(number: u32, description: &InterfaceDescriptionBlock<'_>, big: bool) -> Result<Interface, u8> {
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
    // if_fcslen is in bits; some writers give it in bytes.
    let fcs = match option(13).first().copied().unwrap_or(0) {
        bits @ 16.. => u32::from(bits) / 8,
        bytes => bytes.into(),
    };
    Ok(Interface {
        number,
        link: u32::from(description.linktype.0 as u16),
        units: units.ok_or(resolution)?,
        zero: Ticks::from(zero) * SECOND,
        fcs,
    })
}
