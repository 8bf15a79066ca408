//! Order of frames that are sent together: those that may become one super-packet are put next to
//! each other.

use super::offload::{ETHERNET, Protocol, get};

/// The flow that a frame belongs to, for the order of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// The connection or flow of a protocol with this hash of addresses and ports.
    Of(Protocol, u64),
    /// Neither TCP nor UDP.
    Other,
    /// Unknown: a frame with tags, a fragment, or one with more headers.
    Unknown,
}

impl Flow {
    fn of(frame: &[u8]) -> Flow {
        let (protocol, addresses, transport) = match frame.get(12..15) {
            Some([0x08, 0x00, 0x45]) if frame.len() >= ETHERNET + 28 => {
                match (Protocol::of(frame[ETHERNET + 9]), get(frame, ETHERNET + 6) & 0x3fff) {
                    (Some(protocol), 0) => (protocol, ETHERNET + 12, ETHERNET + 20),
                    (Some(_), _) => return Flow::Unknown,
                    (None, _) => return Flow::Other,
                }
            }
            Some([0x86, 0xdd, _]) if frame.len() >= ETHERNET + 48 => {
                match (Protocol::of(frame[ETHERNET + 6]), frame[ETHERNET + 6]) {
                    (Some(protocol), _) => (protocol, ETHERNET + 8, ETHERNET + 40),
                    // ICMPv6; extension headers are not followed.
                    (None, 58) => return Flow::Other,
                    (None, _) => return Flow::Unknown,
                }
            }
            Some([0x08, 0x06, _]) => return Flow::Other,
            _ => return Flow::Unknown,
        };
        let words = frame[addresses..transport + 4].chunks_exact(4);
        let hash = words.fold(0_u64, |hash, word| {
            let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        Flow::Of(protocol, hash)
    }
}

/// Returns true if two frames of a flow, one behind the other, may become one super-packet. Many
/// datagrams never do: their lengths differ, they have no checksum, or an identification of zero.
fn may_be_joined(protocol: Protocol, one: &[u8], next: &[u8]) -> bool {
    let datagrams = || {
        let four = one[12] == 0x08;
        let checksum = ETHERNET + if four { 20 } else { 40 } + Protocol::Udp.checksum();
        next.len() <= one.len()
            && (!four || get(next, ETHERNET + 4) == get(one, ETHERNET + 4).wrapping_add(1))
            && get(one, checksum) != 0
            && get(next, checksum) != 0
    };
    protocol == Protocol::Tcp || datagrams()
}

/// Maximum number of frames that [`group`] examines.
pub(crate) const MOST: usize = 64;

/// Bits of a flow's hash by which its frames are looked for.
const HASHED: u32 = 7;

/// Puts the frames of each TCP connection next to each other among the first [`MOST`] frames, at
/// the place of the last one, and those datagrams of a UDP flow that may be joined.
///
/// The frames of a flow stay in order. No frame moves in front of one that it was behind, unless
/// another frame of that one's flow follows, which it may be joined with: a call's packet waits for
/// nothing more.
pub(crate) fn group<'f, T: Copy>(items: &mut [T], frame: impl Fn(T) -> &'f [u8]) {
    let count = items.len().min(MOST);
    let items = &mut items[..count];
    if count < 3 {
        return;
    }
    let mut flows = [Flow::Other; MOST];
    for (flow, item) in flows.iter_mut().zip(&*items) {
        *flow = Flow::of(frame(*item));
    }
    // For each frame, the place of the last one that it is put next to; no frame passes a frame of
    // an unknown flow.
    let (mut order, mut end, mut moved) = ([(0_u8, 0_u8); MOST], count, false);
    // By the first bits of a flow's hash, the number of the nearest of the later frames with them, from 1.
    let mut nearest = [0_u8; 1 << HASHED];
    for ix in (0..count).rev() {
        let flow = flows[ix];
        let mut last = ix;
        match flow {
            Flow::Unknown => end = ix,
            Flow::Other => {}
            Flow::Of(protocol, hash) => {
                let nearest = &mut nearest[(hash >> (u64::BITS - HASHED)) as usize];
                let first = std::mem::replace(nearest, ix as u8 + 1).checked_sub(1).map_or(end, usize::from);
                let next = (first..end).find(|next| flows[*next] == flow);
                let joins = |next: &usize| may_be_joined(protocol, frame(items[ix]), frame(items[*next]));
                if let Some(next) = next.filter(joins) {
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
#[path = "grouping_tests.rs"]
mod tests;
