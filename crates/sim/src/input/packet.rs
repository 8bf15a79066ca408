//! Details of a captured packet beyond its flow: its content, the place where it was seen, and the
//! headers that each of its segments would repeat.

use super::ticks::Ticks;
use tidegate_core::headers::{Fragment, Headers, Ip};

/// A packet of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Its time by the clock of its interface.
    pub(super) time: Ticks,
    /// The interface of a capture, or 0.
    pub(super) interface: u32,
    /// Number of its flow, at most one above the greatest so far.
    pub(super) flow: u32,
    /// Number of its 5-tuple, likewise: flows may differ in more than that.
    pub(super) kin: u32,
    /// Its bytes on a link.
    pub(super) bytes: u32,
    /// `None` for a line of a list.
    pub(super) look: Option<Look>,
}

/// Features of a packet, as far as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Digest of the parts that no router and no switch changes: equal for every copy of a packet.
    pub(super) content: u64,
    /// Digest of the parts that differ between places of observation: interface, link header, hop
    /// limit.
    pub(super) place: u64,
    /// Bytes of the link header, as the packet is charged.
    pub(super) link: u32,
    /// Bytes of all headers that each segment repeats: link, IP, and TCP or UDP. `None` for packets
    /// that are never cut.
    pub(super) head: Option<u32>,
    /// True if its addresses are IPv6.
    pub(super) six: bool,
    /// The maximum segment size that a TCP SYN announces.
    pub(super) announced: Option<u16>,
}

/// Bytes of a packet that its digest covers: all headers, and the sequence numbers of their
/// payload.
const DIGESTED: usize = 128;
const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
/// Kinds of TCP options (RFC 9293, section 3.1).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;

impl Look {
    /// Reads the look of `frame`, of which `packet` is the part from the IP header on. It is
    /// charged `more` bytes more than the link header of the capture has (negative: less).
    pub(super) fn of(frame: &[u8], packet: &[u8], headers: &Headers, more: i64, interface: u32) -> Look {
        let captured_link = frame.len() - packet.len();
        let (Some(ip), false) = (headers.ip, packet.is_empty()) else {
            let content = digest(frame.get(12..).unwrap_or(frame), 0);
            return Look {
                content,
                place: interface.into(),
                link: 0,
                head: None,
                six: false,
                announced: None,
            };
        };
        let six = ip.source.is_ipv6();
        let link = u32::try_from(captured_link as i64 + more).unwrap_or(0);
        let (network, direct) = match six {
            true => (40, packet.get(6) == Some(&ip.protocol)),
            false => (u32::from(packet[0] & 0x0f) * 4, packet.get(9) == Some(&ip.protocol)),
        };
        let transport = packet.get(network as usize..).unwrap_or_default();
        let whole = ip.fragment == Fragment::Whole;
        let above = match ip.protocol {
            _ if !direct || !whole => 0,
            TCP => transport.get(12).map_or(20, |offset| u32::from(offset >> 4) * 4).max(20),
            UDP => 8,
            _ => 0,
        };
        Look {
            content: content(packet, six),
            place: place(&frame[..captured_link], packet, six, interface),
            link,
            head: whole.then_some(link + network + above),
            six,
            announced: announced(&ip, transport).filter(|_| direct && whole),
        }
    }
}

/// Returns the length of a packet that its IP header states.
fn stated(packet: &[u8], six: bool) -> usize {
    match six {
        true => 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])),
        false => usize::from(u16::from_be_bytes([packet[2], packet[3]])),
    }
}

/// Returns the bytes of a frame of `length` bytes by its record: its IP header states more
/// precisely where it ends, except for padding. Super-packets state their length, or zero where it
/// does not fit the field.
pub(super) fn length(frame: &[u8], packet: &[u8], length: u32) -> u32 {
    /// The most bytes of padding, trailer and check sequence behind a packet.
    const BEHIND: u32 = 64;
    let Some(version) = packet.first().map(|byte| byte >> 4) else { return length };
    let stated = stated(packet, version == 6);
    let end = u32::try_from(frame.len() - packet.len() + stated).unwrap_or(u32::MAX);
    if stated > 40 && length > end.saturating_add(BEHIND) { end } else { length }
}

fn content(packet: &[u8], six: bool) -> u64 {
    let total = stated(packet, six);
    // Offload leaves the length zero; padding behind the packet belongs to the link.
    let end = if total <= 40 { packet.len() } else { total.min(packet.len()) }.min(DIGESTED);
    let mut bytes = [0; DIGESTED];
    bytes[..end].copy_from_slice(&packet[..end]);
    match six {
        // Traffic class and hop limit.
        true => {
            bytes[0] &= 0xf0;
            bytes[1] &= 0x0f;
            bytes[7] = 0;
        }
        // Type of service, time to live and header checksum.
        false => {
            bytes[1] = 0;
            bytes[8] = 0;
            bytes[10..12].fill(0);
        }
    }
    digest(&bytes[..end], total as u64)
}

fn place(link: &[u8], packet: &[u8], six: bool, interface: u32) -> u64 {
    let hops = packet[if six { 7 } else { 8 }];
    digest(link, u64::from(interface) << 8 | u64::from(hops))
}

/// Returns the maximum segment size that a SYN announces in its options.
fn announced(ip: &Ip, transport: &[u8]) -> Option<u16> {
    if ip.protocol != TCP || transport.get(13)? & SYN == 0 {
        return None;
    }
    let length = usize::from(transport[12] >> 4) * 4;
    let mut options = transport.get(20..length.min(transport.len()))?;
    loop {
        match *options {
            [MAXIMUM_SEGMENT_SIZE, 4, high, low, ..] => return Some(u16::from_be_bytes([high, low])),
            [NO_OPERATION, ref rest @ ..] => options = rest,
            [END, ..] | [] | [_] => return None,
            [_, length, ..] => options = options.get(usize::from(length).max(2)..)?,
        }
    }
}

/// Returns a digest of bytes: multiplied and folded 8 bytes at a time. It does not resist
/// deliberate collisions; accidental ones do not occur in practice.
fn digest(bytes: &[u8], start: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (start ^ bytes.len() as u64).wrapping_mul(ODD);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = (state ^ u64::from_le_bytes(word)).wrapping_mul(ODD);
        state ^= state >> 29;
    }
    state
}
