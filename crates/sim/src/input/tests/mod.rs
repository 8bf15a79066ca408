//! Captures are made here, byte by byte, and read back.

mod capture;
mod contract;
mod mended;
mod real;
mod schedule;
mod suggest;
mod text;

use super::{InputError, Trace};
use etherparse::PacketBuilder;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;

/// Reads bytes like a file of this name.
fn load(name: &str, bytes: &[u8]) -> Result<Trace, InputError> {
    super::read(bytes, Path::new(name))
}

fn message(name: &str, bytes: &[u8]) -> String {
    load(name, bytes).unwrap_err().to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a UDP frame from port `from` with `payload` bytes of payload: 42 bytes more.
fn frame(from: u16, payload: usize) -> Vec<u8> {
    let builder =
        PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(from, 80);
    let mut frame = vec![0; builder.size(payload)];
    builder.write_to_slice(&mut frame, &vec![0; payload]).unwrap();
    frame
}

/// Format of a capture.
#[derive(Clone, Copy, Debug)]
struct Style {
    big: bool,
    nanoseconds: bool,
}

impl Style {
    const ALL: [Style; 4] = [
        Style { big: false, nanoseconds: false },
        Style { big: false, nanoseconds: true },
        Style { big: true, nanoseconds: false },
        Style { big: true, nanoseconds: true },
    ];

    fn words(self, words: &[u32]) -> Vec<u8> {
        let bytes = |word: &u32| if self.big { word.to_be_bytes() } else { word.to_le_bytes() };
        words.iter().flat_map(bytes).collect()
    }

    fn halves(self, halves: [u16; 2]) -> Vec<u8> {
        self.words(&[if self.big {
            u32::from(halves[0]) << 16 | u32::from(halves[1])
        } else {
            u32::from(halves[1]) << 16 | u32::from(halves[0])
        }])
    }

    /// Returns the header of a classic capture of this link type.
    fn header(self, link: u32) -> Vec<u8> {
        let magic = if self.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        [self.words(&[magic]), self.halves([2, 4]), self.words(&[0, 0, 65535, link])].concat()
    }

    /// Returns a record of a classic capture with the first `kept` bytes of `frame`.
    fn record(self, nanoseconds: u64, frame: &[u8], kept: usize) -> Vec<u8> {
        let fraction = (nanoseconds % 1_000_000_000) / if self.nanoseconds { 1 } else { 1000 };
        let kept = &frame[..kept.min(frame.len())];
        let seconds = (nanoseconds / 1_000_000_000) as u32;
        let head = self.words(&[seconds, fraction as u32, kept.len() as u32, frame.len() as u32]);
        [&head, kept].concat()
    }

    /// Returns a pcapng block.
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let length = [padded as u32 + 12];
        let mut block = [self.words(&[kind]), self.words(&length), body.to_vec()].concat();
        block.resize(8 + padded, 0);
        [block, self.words(&length)].concat()
    }

    fn section(self) -> Vec<u8> {
        let body =
            [self.words(&[0x1a2b_3c4d]), self.halves([1, 0]), self.words(&[u32::MAX, u32::MAX])].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    /// Returns an interface of this link type with options (code, value).
    fn interface(self, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [self.halves([link, 0]), self.words(&[65535])].concat();
        for (code, value) in options {
            body.extend(self.halves([*code, value.len() as u16]));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body.extend(self.words(&[0]));
        self.block(1, &body)
    }

    /// Returns an enhanced packet block with the first `kept` bytes of `frame`.
    fn enhanced(self, interface: u32, stamp: u64, frame: &[u8], kept: usize) -> Vec<u8> {
        let kept = &frame[..kept.min(frame.len())];
        let (high, low) = ((stamp >> 32) as u32, stamp as u32);
        let head = self.words(&[interface, high, low, kept.len() as u32, frame.len() as u32]);
        self.block(6, &[&head, kept].concat())
    }
}
