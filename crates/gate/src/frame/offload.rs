//! Offloads in software: partial checksums are completed, super-packets are segmented.
//!
//! Over veth, and after receive offload, the kernel delivers packets whose TCP or UDP checksum is
//! only the pseudo-header's sum, and super-packets of up to 64 KB that stand for many packets. A
//! virtio-net header in front of each packet describes this (linux/virtio_net.h; the fields are in
//! the host's byte order). The results are the frames that a network card would have sent, with
//! correct checksums. A frame whose offloads cannot be carried out is refused, never sent.
//!
//! Sources: the virtio specification 1.2, section 5.1.6; the kernel's `tcp_gso_segment`,
//! `__udp_gso_segment` and `skb_checksum_help`, whose results these are; RFC 3168, section 6.1.2
//! (CWR).

use crate::frame::checksum::Sum;

/// Bytes of a virtio-net header.
pub(crate) const HEADER: usize = 10;

pub(super) const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
pub(super) const GSO_TCP4: u8 = 1;
pub(super) const GSO_TCP6: u8 = 4;
pub(crate) const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

pub(super) const ETHERNET: usize = 14;
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const FIN: u8 = 0x01;
pub(super) const PSH: u8 = 0x08;
const CWR: u8 = 0x80;
/// The greatest length that a header can state, in bytes.
const MAX_LENGTH: usize = 0xffff;

/// A checksum that has to be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartialChecksum {
    /// Offset of the first byte that is summed.
    start: usize,
    /// Offset of the checksum field, which holds the pseudo-header's sum.
    field: usize,
}

/// Segmentation of a super-packet (GSO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segmentation {
    protocol: Protocol,
    /// Payload of each frame but the last.
    size: usize,
    /// Offset of the IP header, and true if it is IPv6.
    ip: usize,
    six: bool,
    /// Offset of the TCP or UDP header.
    transport: usize,
    /// Offset of the payload: the headers before it are repeated in each frame.
    payload: usize,
}

/// A protocol whose packets can be segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// The protocol with this number in an IP header.
    pub(super) fn of(number: u8) -> Option<Protocol> {
        [Protocol::Tcp, Protocol::Udp].into_iter().find(|protocol| protocol.number() == number)
    }

    /// Its number in an IP header.
    pub(super) fn number(self) -> u8 {
        match self {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }

    /// Offset of the checksum in its header.
    pub(super) fn checksum(self) -> usize {
        match self {
            Protocol::Tcp => 16,
            Protocol::Udp => 6,
        }
    }
}

/// The header describes an offload that is unknown or does not fit the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported;

/// A received frame, and the offloads that are still to be carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offloaded<'f> {
    frame: &'f [u8],
    partial: Option<PartialChecksum>,
    segmentation: Option<Segmentation>,
}

impl<'f> Offloaded<'f> {
    /// Parses the virtio-net `header` of a frame into which `inserted` bytes (a VLAN tag) have
    /// since been put back.
    ///
    /// # Errors
    /// When the header describes an offload that is unknown or does not fit the frame.
    pub(crate) fn new(
        header: &[u8; HEADER],
        frame: &'f [u8],
        inserted: usize,
    ) -> Result<Offloaded<'f>, Unsupported> {
        let field = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let partial = if header[0] & NEEDS_CHECKSUM == 0 {
            None
        } else {
            let start = field(6) + inserted;
            let partial = PartialChecksum { start, field: start + field(8) };
            if partial.start < ETHERNET || partial.field + 2 > frame.len() {
                return Err(Unsupported);
            }
            Some(partial)
        };
        let segmentation = match header[1] & !GSO_ECN {
            GSO_NONE => None,
            kind => Some(Segmentation::new(kind, field(4), frame, partial.ok_or(Unsupported)?)?),
        };
        Ok(Offloaded { frame, partial, segmentation })
    }

    /// The frame as it was received.
    pub(crate) fn bytes(&self) -> &'f [u8] {
        self.frame
    }

    /// Number of frames that it is segmented into.
    pub(crate) fn segments(&self) -> usize {
        self.segmentation.map_or(1, |segmentation| {
            (self.frame.len() - segmentation.payload).div_ceil(segmentation.size).max(1)
        })
    }

    /// Length of the longest of its frames.
    pub(crate) fn longest(&self) -> usize {
        self.segmentation.map_or(self.frame.len(), |segmentation| {
            self.frame.len().min(segmentation.payload + segmentation.size)
        })
    }

    /// Writes frame `ix` of [`segments`](Self::segments) to the start of `buffer` and returns its
    /// length; `None` when it does not fit there.
    pub(crate) fn write(&self, ix: usize, buffer: &mut [u8]) -> Option<usize> {
        let length = match self.segmentation {
            None => {
                buffer.get_mut(..self.frame.len())?.copy_from_slice(self.frame);
                self.frame.len()
            }
            Some(segmentation) => segmentation.write(self.frame, ix, buffer)?,
        };
        if let Some(partial) = self.partial {
            complete(&mut buffer[..length], partial)?;
        }
        Some(length)
    }
}

/// Completes a checksum: the sum over everything from `start`, the field's own value included.
fn complete(frame: &mut [u8], partial: PartialChecksum) -> Option<()> {
    let checksum = match Sum::default().bytes(frame.get(partial.start..)?).checksum() {
        // Zero means "no checksum" to UDP, and 0xffff is an equal number.
        0 => 0xffff,
        checksum => checksum,
    };
    frame.get_mut(partial.field..partial.field + 2)?.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

impl Segmentation {
    fn new(
        kind: u8,
        size: usize,
        frame: &[u8],
        partial: PartialChecksum,
    ) -> Result<Segmentation, Unsupported> {
        let (ip, ethertype) = network_header(frame).ok_or(Unsupported)?;
        let six = match ethertype {
            IPV4 => false,
            IPV6 => true,
            _ => return Err(Unsupported),
        };
        let protocol = match kind {
            GSO_TCP4 if !six => Protocol::Tcp,
            GSO_TCP6 if six => Protocol::Tcp,
            GSO_UDP => Protocol::Udp,
            _ => return Err(Unsupported),
        };
        let start = partial.start;
        // The IP header must reach exactly to the transport header; IPv6 may have extensions
        // between.
        let fits = match six {
            false => {
                let first = *frame.get(ip).ok_or(Unsupported)?;
                first >> 4 == 4 && first & 0x0f >= 5 && ip + usize::from(first & 0x0f) * 4 == start
            }
            true => frame.get(ip).is_some_and(|first| first >> 4 == 6) && start >= ip + 40,
        };
        let payload = match protocol {
            Protocol::Udp => start + 8,
            Protocol::Tcp => {
                let words = frame.get(start + 12).ok_or(Unsupported)? >> 4;
                if words < 5 {
                    return Err(Unsupported);
                }
                start + usize::from(words) * 4
            }
        };
        if !fits || partial.field != start + protocol.checksum() || size == 0 || payload > frame.len() {
            return Err(Unsupported);
        }
        // Lengths in headers, and in the sum over the pseudo-header, have 16 bits.
        let longest = frame.len().min(payload + size) - ip - if six { 40 } else { 0 };
        if frame.len() - start > MAX_LENGTH || longest > MAX_LENGTH {
            return Err(Unsupported);
        }
        Ok(Segmentation { protocol, size, ip, six, transport: start, payload })
    }

    fn write(&self, frame: &[u8], ix: usize, buffer: &mut [u8]) -> Option<usize> {
        let from = self.payload + ix * self.size;
        let to = frame.len().min(from + self.size);
        let length = self.payload + (to - from);
        let buffer = buffer.get_mut(..length)?;
        buffer[..self.payload].copy_from_slice(&frame[..self.payload]);
        buffer[self.payload..].copy_from_slice(&frame[from..to]);

        let transport = self.transport;
        let (before, after) = ((frame.len() - transport) as u16, (length - transport) as u16);
        if self.six {
            let payload_length = (length - self.ip - 40) as u16;
            put(buffer, self.ip + 4, payload_length);
        } else {
            put(buffer, self.ip + 2, (length - self.ip) as u16);
            let identification = get(frame, self.ip + 4).wrapping_add(ix as u16);
            put(buffer, self.ip + 4, identification);
            put(buffer, self.ip + 10, 0);
            let checksum = Sum::default().bytes(&buffer[self.ip..transport]).checksum();
            put(buffer, self.ip + 10, checksum);
        }
        // The field holds the pseudo-header's sum, in which only the length changes.
        let field = transport + self.protocol.checksum();
        let pseudo = Sum::default().word(get(frame, field)).word(!before).word(after);
        put(buffer, field, !pseudo.checksum());
        match self.protocol {
            Protocol::Udp => put(buffer, transport + 4, after),
            Protocol::Tcp => {
                let at = transport + 4;
                let sequence = u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
                let sequence = sequence.wrapping_add((from - self.payload) as u32);
                buffer[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
                let flags = &mut buffer[transport + 13];
                if to < frame.len() {
                    *flags &= !(FIN | PSH);
                }
                if ix > 0 {
                    *flags &= !CWR;
                }
            }
        }
        Some(length)
    }
}

/// Offset of the network header after Ethernet and VLAN tags, and its EtherType.
pub(super) fn network_header(frame: &[u8]) -> Option<(usize, u16)> {
    let mut at = 12;
    loop {
        let kind = u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]);
        at += 2;
        match kind {
            0x8100 | 0x88a8 | 0x9100 => at += 2,
            _ => return Some((at, kind)),
        }
    }
}

pub(super) fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
#[path = "offload_tests.rs"]
pub(super) mod tests;
