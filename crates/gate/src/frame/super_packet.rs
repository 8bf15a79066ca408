//! Segmentation offload on sending: consecutive TCP segments of a connection, and consecutive
//! datagrams of a UDP flow, go to the kernel as one super-packet.
//!
//! Most of the cost of a frame is the kernel's work to send it, once for each frame or
//! super-packet. The card, or the kernel in front of it, segments a super-packet into the frames
//! that it was made of, byte for byte. Frames for which that would not hold are sent alone:
//! fragments; frames with a VLAN tag, IPv4 options, IPv6 extension headers, padding, no payload,
//! TCP flags other than ACK, ECE, PSH and FIN, or a wrong or absent checksum; and frames whose
//! headers differ in more than sequence number, length and checksum, and with IPv4 in an
//! identification that is one higher.
//!
//! Sources: the virtio specification 1.2, section 5.1.6; the kernel's `tcp_gso_segment`,
//! `__udp_gso_segment` and `inet_gso_segment`, which segment, and `tcp_gro_receive`, whose
//! conditions these are.

use super::checksum::Sum;
use super::offload::{
    ETHERNET, FIN, GSO_TCP4, GSO_TCP6, GSO_UDP, HEADER, NEEDS_CHECKSUM, PSH, Protocol, get, put,
};

/// Bytes of the longest headers: Ethernet, IPv6, and TCP with all its options.
pub(crate) const MAX_HEAD: usize = ETHERNET + 40 + 60;
/// Bytes of the longest super-packet, whose IPv4 header states its length in 16 bits.
const MAX_LENGTH: usize = ETHERNET + 0xffff;
/// A virtio-net header of a frame without offloads.
pub(crate) const NO_OFFLOADS: [u8; HEADER] = [0; HEADER];

/// The most frames of a UDP super-packet, which the kernel limits (`UDP_MAX_SEGMENTS`, 64 in Linux 6.2). It
/// counts the headers as payload.
const MOST_DATAGRAMS: usize = 64;

const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// Offsets of the parts of a TCP segment or a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    six: bool,
    protocol: Protocol,
    /// Offset of the TCP or UDP header.
    transport: usize,
    /// Offset of the payload.
    payload: usize,
}

impl Layout {
    /// The layout of a frame that can be part of a super-packet, if its checksums are right.
    fn of(frame: &[u8]) -> Option<Layout> {
        let (six, transport) = match *frame.get(12..15)? {
            [0x08, 0x00, 0x45] => (false, ETHERNET + 20),
            [0x86, 0xdd, first] if first >> 4 == 6 => (true, ETHERNET + 40),
            _ => return None,
        };
        let network = frame.get(..transport)?;
        let (number, length) = match six {
            // Not a fragment: no offset, and no more fragments follow.
            false if get(network, ETHERNET + 6) & 0x3fff == 0 => {
                (network[ETHERNET + 9], ETHERNET + usize::from(get(network, ETHERNET + 2)))
            }
            false => return None,
            true => (network[ETHERNET + 6], transport + usize::from(get(network, ETHERNET + 4))),
        };
        let protocol = Protocol::of(number)?;
        let header = match protocol {
            Protocol::Tcp => tcp_header(&frame[transport..]),
            Protocol::Udp => udp_header(&frame[transport..]),
        };
        let payload = transport + header?;
        (payload < frame.len() && length == frame.len()).then_some(Layout {
            six,
            protocol,
            transport,
            payload,
        })
    }

    /// The sum over the pseudo-header of a packet with these headers and `length` bytes from its
    /// TCP or UDP header on.
    fn pseudo_header(self, frame: &[u8], length: usize) -> Sum {
        let addresses = Sum::default().bytes(&frame[self.addresses()..self.transport]);
        addresses.word(u16::from(self.protocol.number())).word(length as u16)
    }

    /// Returns true if the checksums of a frame are those that a card would compute.
    fn is_right(self, frame: &[u8]) -> bool {
        // 0 and 0xffff both stand for zero, and a card sends only one of them. To UDP, 0 means that
        // there is no checksum.
        let one_spelling = !matches!(get(frame, self.checksum()), 0 | 0xffff)
            && (self.six || !matches!(get(frame, ETHERNET + 10), 0 | 0xffff));
        let header = || self.six || Sum::default().bytes(&frame[ETHERNET..self.transport]).checksum() == 0;
        let segment =
            || self.pseudo_header(frame, frame.len() - self.transport).bytes(&frame[self.transport..]);
        one_spelling && header() && segment().checksum() == 0
    }

    /// Offset of the addresses.
    fn addresses(self) -> usize {
        if self.six { ETHERNET + 8 } else { ETHERNET + 12 }
    }

    /// Offset of the TCP or UDP checksum.
    fn checksum(self) -> usize {
        self.transport + self.protocol.checksum()
    }

    /// Returns true if only a last frame looks like this one.
    fn ends(self, frame: &[u8]) -> bool {
        self.protocol == Protocol::Tcp && frame[self.transport + 13] & (PSH | FIN) != 0
    }

    fn sequence(self, frame: &[u8]) -> u32 {
        let at = self.transport + 4;
        u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
    }

    /// Returns true if `next` has the numbers that segmentation gives to the frame behind `frame`.
    fn counts_on(self, frame: &[u8], next: &[u8]) -> bool {
        let bytes = (frame.len() - self.payload) as u32;
        (self.protocol == Protocol::Udp || self.sequence(next) == self.sequence(frame).wrapping_add(bytes))
            && (self.six || get(next, ETHERNET + 4) == get(frame, ETHERNET + 4).wrapping_add(1))
    }

    /// Returns true if the headers of two frames of this layout are equal in every field that
    /// segmentation repeats.
    fn repeats(self, one: &[u8], other: &[u8]) -> bool {
        let same = |from: usize, to: usize| one[from..to] == other[from..to];
        let transport = self.transport;
        let network = match self.six {
            // All but the payload's length.
            true => same(0, ETHERNET + 4) && same(ETHERNET + 6, transport),
            // All but the length, the identification and the header's checksum.
            false => {
                same(0, ETHERNET + 2) && same(ETHERNET + 6, ETHERNET + 10) && same(ETHERNET + 12, transport)
            }
        };
        let without_end = |frame: &[u8]| frame[transport + 13] & !(PSH | FIN);
        let rest = || match self.protocol {
            // All but the sequence number, PSH and FIN, and the checksum.
            Protocol::Tcp => {
                same(transport + 8, transport + 13)
                    && without_end(one) == without_end(other)
                    && same(transport + 14, transport + 16)
                    && same(transport + 18, self.payload)
            }
            // The rest is the length and the checksum.
            Protocol::Udp => true,
        };
        network && same(transport, transport + 4) && rest()
    }
}

/// Bytes of the TCP header at the start of these, if it is one that segmentation repeats.
fn tcp_header(segment: &[u8]) -> Option<usize> {
    let header = segment.get(..20)?;
    // The low half of the byte with the data offset is reserved, or Accurate ECN's.
    let (offset, flags) = (header[12], header[13]);
    let plain = flags & ACK != 0 && flags & !(ACK | ECE | PSH | FIN) == 0 && offset & 0x0f == 0;
    (plain && offset >= 5 << 4).then_some(usize::from(offset >> 4) * 4)
}

/// Bytes of the UDP header at the start of these, if it states their number.
fn udp_header(datagram: &[u8]) -> Option<usize> {
    let header = datagram.get(..8)?;
    (usize::from(get(header, 4)) == datagram.len()).then_some(8)
}

/// Consecutive frames that can be sent as one super-packet.
#[derive(Clone, Copy)]
pub(crate) struct SuperPacket<'f> {
    layout: Layout,
    first: &'f [u8],
    last: &'f [u8],
    frames: usize,
    length: usize,
}

impl<'f> SuperPacket<'f> {
    /// A super-packet of one frame; `None` when the frame has to be sent alone.
    pub(crate) fn start(frame: &'f [u8]) -> Option<SuperPacket<'f>> {
        let layout = Layout::of(frame)?;
        Some(SuperPacket { layout, first: frame, last: frame, frames: 1, length: frame.len() })
    }

    /// Adds the frame that follows, if it continues the super-packet. Returns true if it does.
    pub(crate) fn add(&mut self, frame: &'f [u8]) -> bool {
        let SuperPacket { layout, first, last, .. } = *self;
        let payload = |frame: &[u8]| frame.len() - layout.payload;
        // Most frames are of another flow: the addresses and ports tell.
        let ends = layout.addresses()..layout.transport + 4;
        let continues = frame.get(ends.clone()) == first.get(ends)
            && Layout::of(frame) == Some(layout)
            && !layout.ends(last)
            && payload(last) == payload(first)
            && payload(frame) <= payload(first)
            && self.length + payload(frame) <= self.longest()
            && layout.counts_on(last, frame)
            && layout.repeats(first, frame)
            && (self.frames > 1 || layout.is_right(first))
            && layout.is_right(frame);
        if continues {
            self.last = frame;
            self.frames += 1;
            self.length += payload(frame);
        }
        continues
    }

    /// The most bytes that it may have.
    fn longest(&self) -> usize {
        match self.layout.protocol {
            Protocol::Tcp => MAX_LENGTH,
            Protocol::Udp => MAX_LENGTH.min(MOST_DATAGRAMS * (self.first.len() - self.layout.payload)),
        }
    }

    /// Its protocol is UDP, for whose super-packets the kernel has a support of its own.
    pub(crate) fn is_udp(&self) -> bool {
        self.layout.protocol == Protocol::Udp
    }

    /// Number of frames that it has.
    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    /// Offset of the payload in each of its frames.
    pub(crate) fn payload(&self) -> usize {
        self.layout.payload
    }

    /// Writes its headers to the start of `head`, and returns its virtio-net header.
    pub(crate) fn write_head(&self, head: &mut [u8; MAX_HEAD]) -> [u8; HEADER] {
        let SuperPacket { layout, first, last, length, .. } = *self;
        let transport = layout.transport;
        head[..layout.payload].copy_from_slice(&first[..layout.payload]);
        if layout.six {
            put(head, ETHERNET + 4, (length - transport) as u16);
        } else {
            put(head, ETHERNET + 2, (length - ETHERNET) as u16);
            put(head, ETHERNET + 10, 0);
            let checksum = Sum::default().bytes(&head[ETHERNET..transport]).checksum();
            put(head, ETHERNET + 10, checksum);
        }
        match layout.protocol {
            // Only the last frame can have PSH and FIN.
            Protocol::Tcp => head[transport + 13] = last[transport + 13],
            Protocol::Udp => put(head, transport + 4, (length - transport) as u16),
        }
        let pseudo = !layout.pseudo_header(first, length - transport).checksum();
        put(head, layout.checksum(), pseudo);

        let mut header = NO_OFFLOADS;
        header[0] = NEEDS_CHECKSUM;
        header[1] = match (layout.protocol, layout.six) {
            (Protocol::Tcp, false) => GSO_TCP4,
            (Protocol::Tcp, true) => GSO_TCP6,
            (Protocol::Udp, _) => GSO_UDP,
        };
        let words = [layout.payload, first.len() - layout.payload, transport, layout.protocol.checksum()];
        for (field, word) in header[2..].chunks_exact_mut(2).zip(words) {
            field.copy_from_slice(&(word as u16).to_ne_bytes());
        }
        header
    }
}

/// The messages that frames are sent as: the virtio-net header of each, its bytes, and its number
/// of frames.
#[cfg(any(test, fuzzing))]
pub(crate) fn joined(frames: &[Vec<u8>]) -> Vec<([u8; HEADER], Vec<u8>, usize)> {
    let mut sent = Vec::new();
    let mut rest = frames;
    while let Some(first) = rest.first() {
        let mut whole = SuperPacket::start(first);
        let more = rest[1..].iter().take_while(|frame| whole.as_mut().is_some_and(|whole| whole.add(frame)));
        let more = more.count();
        match whole {
            Some(whole) if more > 0 => {
                let mut head = [0; MAX_HEAD];
                let header = whole.write_head(&mut head);
                let payloads = rest[..=more].iter().flat_map(|frame| &frame[whole.payload()..]);
                let bytes = head[..whole.payload()].iter().chain(payloads).copied().collect();
                sent.push((header, bytes, whole.frames()));
            }
            _ => sent.push((NO_OFFLOADS, first.clone(), 1)),
        }
        rest = &rest[1 + more..];
    }
    sent
}

#[cfg(test)]
#[path = "super_packet_tests.rs"]
pub(crate) mod tests;
