//! Segmentation offload on sending: consecutive TCP segments of a connection go to the kernel as
//! one super-packet.
//!
//! Most of the cost of a frame is the kernel's work to send it, once for each frame or
//! super-packet. The card, or the kernel in front of it, segments a super-packet into the frames
//! that it was made of, byte for byte. Frames for which that would not hold are sent alone:
//! fragments; frames with a VLAN tag, IPv4 options, IPv6 extension headers, padding, no payload,
//! TCP flags other than ACK, ECE, PSH and FIN, or a wrong checksum; and frames whose headers differ
//! in more than sequence number, length and checksum, and with IPv4 in an identification that is
//! one higher.
//!
//! Sources: the virtio specification 1.2, section 5.1.6; the kernel's `tcp_gso_segment` and
//! `inet_gso_segment`, which segment, and `tcp_gro_receive`, whose conditions these are.

use super::checksum::Sum;
use super::offload::{
    ETHERNET, FIN, GSO_TCP4, GSO_TCP6, HEADER, NEEDS_CHECKSUM, PSH, TCP_CHECKSUM, get, put,
};

/// Bytes of the longest headers: Ethernet, IPv6, and TCP with all its options.
pub(crate) const MAX_HEAD: usize = ETHERNET + 40 + 60;
/// Bytes of the longest super-packet, whose IPv4 header states its length in 16 bits.
const MAX_LENGTH: usize = ETHERNET + 0xffff;
/// A virtio-net header of a frame without offloads.
pub(crate) const NO_OFFLOADS: [u8; HEADER] = [0; HEADER];

const TCP: u8 = 6;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// Offsets of the parts of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    six: bool,
    /// Offset of the TCP header.
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
        let headers = frame.get(..transport + 20)?;
        let (protocol, length) = match six {
            // Not a fragment: no offset, and no more fragments follow.
            false if get(headers, ETHERNET + 6) & 0x3fff == 0 => {
                (headers[ETHERNET + 9], ETHERNET + usize::from(get(headers, ETHERNET + 2)))
            }
            false => return None,
            true => (headers[ETHERNET + 6], transport + usize::from(get(headers, ETHERNET + 4))),
        };
        // The low half of the byte with the data offset is reserved, or Accurate ECN's.
        let offset = headers[transport + 12];
        let payload = transport + usize::from(offset >> 4) * 4;
        let flags = headers[transport + 13];
        let plain = flags & ACK != 0 && flags & !(ACK | ECE | PSH | FIN) == 0 && offset & 0x0f == 0;
        let fits = payload >= transport + 20 && payload < frame.len() && length == frame.len();
        (protocol == TCP && plain && fits).then_some(Layout { six, transport, payload })
    }

    /// The sum over the pseudo-header of a segment with these headers and `length` bytes from its
    /// TCP header on.
    fn pseudo_header(self, frame: &[u8], length: usize) -> Sum {
        let addresses = if self.six { ETHERNET + 8 } else { ETHERNET + 12 };
        Sum::default().bytes(&frame[addresses..self.transport]).word(u16::from(TCP)).word(length as u16)
    }

    /// Returns true if the checksums of a frame are those that a card would compute.
    fn is_right(self, frame: &[u8]) -> bool {
        // 0 and 0xffff both stand for zero, and a card sends only one of them.
        let one_spelling = !matches!(get(frame, self.transport + TCP_CHECKSUM), 0 | 0xffff)
            && (self.six || !matches!(get(frame, ETHERNET + 10), 0 | 0xffff));
        let header = || self.six || Sum::default().bytes(&frame[ETHERNET..self.transport]).checksum() == 0;
        let segment =
            || self.pseudo_header(frame, frame.len() - self.transport).bytes(&frame[self.transport..]);
        one_spelling && header() && segment().checksum() == 0
    }

    fn flags(self, frame: &[u8]) -> u8 {
        frame[self.transport + 13]
    }

    fn sequence(self, frame: &[u8]) -> u32 {
        let at = self.transport + 4;
        u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
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
        // All but the sequence number, PSH and FIN, and the checksum.
        let without_end = |flags: u8| flags & !(PSH | FIN);
        network
            && same(transport, transport + 4)
            && same(transport + 8, transport + 13)
            && without_end(self.flags(one)) == without_end(self.flags(other))
            && same(transport + 14, transport + TCP_CHECKSUM)
            && same(transport + 18, self.payload)
    }
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
        let continues = Layout::of(frame) == Some(layout)
            && layout.flags(last) & (PSH | FIN) == 0
            && payload(last) == payload(first)
            && payload(frame) <= payload(first)
            && self.length + payload(frame) <= MAX_LENGTH
            && layout.sequence(frame) == layout.sequence(last).wrapping_add(payload(last) as u32)
            && (layout.six || get(frame, ETHERNET + 4) == get(last, ETHERNET + 4).wrapping_add(1))
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
        // Only the last frame can have PSH and FIN.
        head[transport + 13] = layout.flags(last);
        let pseudo = !layout.pseudo_header(first, length - transport).checksum();
        put(head, transport + TCP_CHECKSUM, pseudo);

        let mut header = NO_OFFLOADS;
        header[0] = NEEDS_CHECKSUM;
        header[1] = if layout.six { GSO_TCP6 } else { GSO_TCP4 };
        let words = [layout.payload, first.len() - layout.payload, transport, TCP_CHECKSUM];
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

/// The connection that a frame belongs to, for the order of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// The TCP connection with this hash of addresses and ports.
    Tcp(u64),
    /// Not TCP.
    Other,
    /// Unknown: a frame with tags, a fragment, or one with more headers.
    Unknown,
}

impl Connection {
    fn of(frame: &[u8]) -> Connection {
        let (addresses, transport) = match frame.get(12..15) {
            Some([0x08, 0x00, 0x45]) if frame.len() >= ETHERNET + 24 => {
                match (frame[ETHERNET + 9], get(frame, ETHERNET + 6) & 0x3fff) {
                    (TCP, 0) => (ETHERNET + 12, ETHERNET + 20),
                    (TCP, _) => return Connection::Unknown,
                    _ => return Connection::Other,
                }
            }
            Some([0x86, 0xdd, _]) if frame.len() >= ETHERNET + 44 => match frame[ETHERNET + 6] {
                TCP => (ETHERNET + 8, ETHERNET + 40),
                // UDP and ICMPv6; extension headers are not followed.
                17 | 58 => return Connection::Other,
                _ => return Connection::Unknown,
            },
            Some([0x08, 0x06, _]) => return Connection::Other,
            _ => return Connection::Unknown,
        };
        let words = frame[addresses..transport + 4].chunks_exact(4);
        let hash = words.fold(0_u64, |hash, word| {
            let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        Connection::Tcp(hash)
    }
}

/// Maximum number of frames that [`group`] examines.
pub(crate) const MOST: usize = 64;

/// Puts the frames of each TCP connection next to each other among the first [`MOST`] frames, at
/// the place of the last one.
///
/// The frames of a connection stay in order. No frame that was behind a frame of another protocol,
/// or behind the last frame of a connection, moves in front of it: a call's packet waits for
/// nothing more.
pub(crate) fn group<'f, T: Copy>(items: &mut [T], frame: impl Fn(T) -> &'f [u8]) {
    let count = items.len().min(MOST);
    let items = &mut items[..count];
    if count < 3 {
        return;
    }
    let mut connections = [Connection::Other; MOST];
    for (connection, item) in connections.iter_mut().zip(&*items) {
        *connection = Connection::of(frame(*item));
    }
    // For each frame, the place of the last one of its connection; no frame passes a frame of an
    // unknown connection.
    let (mut order, mut end, mut moved) = ([(0_u8, 0_u8); MOST], count, false);
    for ix in (0..count).rev() {
        let connection = connections[ix];
        let mut last = ix;
        match connection {
            Connection::Unknown => end = ix,
            Connection::Other => {}
            Connection::Tcp(_) => {
                if let Some(next) = (ix + 1..end).find(|next| connections[*next] == connection) {
                    last = usize::from(order[next].0);
                    moved |= next > ix + 1;
                }
            }
        }
        order[ix] = (last as u8, ix as u8);
    }
    if !moved {
        return;
    }
    order[..count].sort_unstable();
    let mut grouped = [items[0]; MOST];
    for (place, (_, from)) in grouped.iter_mut().zip(&order[..count]) {
        *place = items[usize::from(*from)];
    }
    items.copy_from_slice(&grouped[..count]);
}

#[cfg(test)]
#[path = "super_packet_tests.rs"]
pub(crate) mod tests;
