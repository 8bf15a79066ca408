//! The records of a pcap file.

use super::{Interface, LONGEST, Reader};
use crate::input::InputError;
use crate::input::ticks::{SECOND, Ticks};
use pcap_parser::parse_pcap_header;
use std::io::Read;

/// Bytes of the longest packet that capture programs write, whatever snapshot length the file
/// states.
const LONGEST_PACKET: usize = 1 << 18;
const DAY: i64 = 86_400;

/// Record format of a file.
#[derive(Clone, Copy)]
struct Style {
    big: bool,
    /// Bytes of a record's header.
    header: usize,
    /// Units of time in a second.
    units: u32,
    /// The most bytes kept of a packet.
    kept: usize,
}

/// The header of a record.
#[derive(Clone, Copy)]
struct Record {
    seconds: u32,
    fraction: u32,
    captured: usize,
    original: u32,
}

impl Style {
    /// Reads the header at the start of `bytes`; `None` when there are too few.
    fn record(self, bytes: &[u8]) -> Option<Record> {
        let word = |at: usize| {
            let bytes = *bytes.get(at..)?.first_chunk()?;
            Some(if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
        };
        bytes.get(..self.header)?;
        Some(Record {
            seconds: word(0)?,
            fraction: word(4)?,
            captured: word(8)? as usize,
            original: word(12)?,
        })
    }

    /// Returns true if a header is plausible.
    fn may_be(self, record: Record) -> bool {
        record.fraction < self.units && record.captured <= self.kept
    }

    /// Returns true if a header is very likely one: close in time to `seconds`, and with lengths
    /// that agree.
    fn is_likely(self, record: Record, seconds: u32) -> bool {
        self.may_be(record)
            && record.is_near(seconds)
            && record.captured > 0
            && record.captured as u64 <= record.original.into()
    }
}

impl Record {
    fn is_near(self, seconds: u32) -> bool {
        (i64::from(self.seconds) - i64::from(seconds)).abs() <= DAY
    }
}

impl<R: Read> Reader<'_, R> {
    pub(super) fn classic(&mut self) -> Result<(), InputError> {
        self.need(24)?;
        let Ok((_, header)) = parse_pcap_header(self.window.bytes()) else {
            return Err(self.bad("a pcap file header", "something else"));
        };
        let units = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
        // The low 16 bits are the link type; bit 26 says that the top four give the length of the
        // frame check sequence in units of two bytes.
        let network = header.network.0 as u32;
        let fcs = if network & (1 << 26) != 0 { (network >> 28) * 2 } else { 0 };
        let interface = Interface { number: 0, link: network & 0xffff, units: units.into(), zero: 0, fcs };
        let style = Style {
            big: header.is_bigendian(),
            header: if header.is_modified_format() { 24 } else { 16 },
            units,
            kept: (header.snaplen as usize).clamp(LONGEST_PACKET, LONGEST),
        };
        self.link(interface)?;
        self.window.pass(24);
        let mut seconds = None;
        while self.more()? {
            self.need(style.header)?;
            let Some(record) = style.record(self.window.bytes()) else { return Err(self.truncated()) };
            let end = style.header + record.captured;
            if !self.is_record(style, record, seconds)? {
                let found = format!("one of {} bytes at {} s", record.captured, record.seconds);
                let damage = self.bad("a packet record of at most 256 KiB", found);
                self.left_out(|left_out| &mut left_out.damaged, damage);
                if !self.find_record(style, seconds)? {
                    return Ok(());
                }
                continue;
            }
            if !self.has(end)? {
                // A damaged length, or the end of the file.
                let cut = self.truncated();
                if self.find_record(style, seconds)? {
                    self.left_out(|left_out| &mut left_out.damaged, cut);
                    continue;
                }
                return Err(cut);
            }
            seconds = Some(record.seconds);
            let time =
                Ticks::from(record.seconds) * SECOND + super::ticks(record.fraction.into(), units.into());
            self.packet(time, interface, style.header, record.captured, record.original)?;
            self.window.pass(end);
        }
        Ok(())
    }

    /// Returns true if there is a record here. If its time is far from `seconds`, that of the
    /// previous record, or it has more bytes than the packet had, the record behind it must be a
    /// likely one: then the clock was set, or this time is wrong. Otherwise the file is damaged.
    fn is_record(&mut self, style: Style, record: Record, seconds: Option<u32>) -> Result<bool, InputError> {
        if !style.may_be(record) {
            return Ok(false);
        }
        let before = seconds.unwrap_or(record.seconds);
        let agrees = record.captured as u64 <= record.original.into();
        let end = style.header + record.captured;
        if agrees && record.is_near(before) || !self.has(end + style.header)? {
            return Ok(true);
        }
        let next = self.window.bytes().get(end..).and_then(|rest| style.record(rest));
        let near = |next| style.is_likely(next, record.seconds) || style.is_likely(next, before);
        Ok(record.captured > 0 && next.is_some_and(near))
    }

    /// Skips to the next place where two records follow each other, the first close in time to the
    /// last one read. Returns false, and skips nothing, when there is none within 16 MiB.
    fn find_record(&mut self, style: Style, seconds: Option<u32>) -> Result<bool, InputError> {
        let seconds = |record: Record| seconds.unwrap_or(record.seconds);
        let mut at = 1;
        while at < LONGEST && self.has(at + style.header)? {
            let found = self.window.bytes().get(at..).and_then(|rest| style.record(rest));
            if let Some(record) = found.filter(|record| style.is_likely(*record, seconds(*record))) {
                let end = at + style.header + record.captured;
                let follows = if self.has(end + style.header)? {
                    let next = self.window.bytes().get(end..).and_then(|rest| style.record(rest));
                    next.is_some_and(|next| style.is_likely(next, record.seconds))
                } else {
                    self.has(end)? && self.window.bytes().len() == end
                };
                if follows {
                    self.window.pass(at);
                    return Ok(true);
                }
            }
            at += 1;
        }
        Ok(false)
    }
}
