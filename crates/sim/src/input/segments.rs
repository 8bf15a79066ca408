//! Packets longer than a link carries, cut into segments as on a link.
//!
//! A host's segmentation offload (TSO, UDP GSO) cuts packets of up to 64 kB only after a capture
//! has seen them, and its receive offload (GRO) joins them before. Each segment has the headers of
//! the whole, and they follow each other without a gap. The payload length of a segment is the
//! first of these that applies:
//!
//! 1. the size announced in the SYN packets of a TCP connection (the smaller of the two, less the
//!    options of its packets);
//! 2. a payload of at most 1,500 B with headers, of which most of the flow's super-packets are
//!    whole multiples;
//! 3. the payload of an IP packet of 1,500 B.
//!
//! A flow has jumbo frames instead, which are not cut, when its SYN packets announce that, or when
//! its commonest packet above 1,500 B is also its longest and has 8,900 to 9,216 B.

use std::collections::BTreeMap;

/// Bytes of the longest IP packet on an ordinary link.
const MTU: u32 = 1500;
/// Bytes of IP packets of a link with jumbo frames.
const JUMBO: std::ops::RangeInclusive<u32> = 8900..=9216;
/// Smallest payload of a segment that is tried.
const MIN_PAYLOAD: u32 = 500;
/// The most different payloads of super-packets that are examined.
const MAX_PAYLOADS: usize = 64;
/// Fewest different payloads that share a segment length not by chance.
const MIN_PAYLOADS: u32 = 3;

/// A packet that may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// Bytes of the packet, of its link header, and of all headers that each segment repeats.
    pub(super) bytes: u32,
    pub(super) link: u32,
    pub(super) head: u32,
}

impl Whole {
    /// Returns the bytes of the IP packet.
    fn network(self) -> u32 {
        self.bytes.saturating_sub(self.link)
    }

    fn payload(self) -> u32 {
        self.bytes.saturating_sub(self.head)
    }

    /// Returns true if no ordinary link carries it.
    pub(super) fn is_long(self) -> bool {
        self.network() > MTU && self.payload() > 0
    }
}

/// Way of cutting the packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The longest IP packet that is left whole.
    longest: u32,
    /// Payload of a segment; `None` for segments that fill `longest`.
    payload: Option<u32>,
}

impl Cut {
    /// Returns the way to cut the packets of a flow; `announced` is the maximum segment size, `six`
    /// true for IPv6 addresses. `None` when nothing is to be cut.
    pub(super) fn of(
        packets: impl Iterator<Item = Whole> + Clone,
        announced: Option<u16>,
        six: bool,
    ) -> Option<Cut> {
        let all = packets.clone();
        let long = || packets.clone().filter(|packet| packet.is_long());
        let longest = long().map(Whole::network).max()?;
        let fixed = if six { 60 } else { 40 };
        let announced = announced.map(u32::from).filter(|most| most + fixed <= *JUMBO.end());
        if let Some(most) = announced {
            let longest_whole = (most + fixed).max(MTU);
            return (longest > longest_whole).then_some(Cut { longest: longest_whole, payload: Some(most) });
        }
        let mut lengths = BTreeMap::<u32, u64>::new();
        long().for_each(|packet| *lengths.entry(packet.network()).or_default() += 1);
        let commonest = lengths.iter().max_by_key(|(_, count)| **count).map(|(length, _)| *length);
        if JUMBO.contains(&longest) && commonest == Some(longest) {
            return None;
        }
        Some(Cut { longest: MTU, payload: common_payload(all, long()) })
    }

    /// Returns the bytes of each segment of a packet.
    pub(super) fn segments(self, packet: Whole, announced: bool) -> impl Iterator<Item = u32> {
        let full = self.longest.saturating_sub(packet.head - packet.link).max(1);
        let each = match self.payload {
            // The announced size is for segments without options.
            Some(most) if announced => most.min(full),
            Some(payload) => payload.min(full),
            None => full,
        };
        let (whole, each) = if packet.network() > self.longest && packet.payload() > 0 {
            (packet.payload(), each)
        } else {
            (packet.payload(), packet.payload().max(1))
        };
        let head = packet.bytes - whole;
        (0..whole.div_ceil(each).max(1)).map(move |nth| head + each.min(whole - nth * each))
    }
}

/// Returns the payload of which most super-packets are whole multiples: that of a full segment,
/// that of the longest ordinary packet, or else the longest that enough different ones have in
/// common.
fn common_payload(
    all: impl Iterator<Item = Whole>,
    long: impl Iterator<Item = Whole> + Clone,
) -> Option<u32> {
    let room = long.clone().map(|packet| MTU.saturating_sub(packet.head - packet.link)).min()?;
    let mut payloads = BTreeMap::<u32, u32>::new();
    for packet in long {
        if payloads.len() < MAX_PAYLOADS || payloads.contains_key(&packet.payload()) {
            *payloads.entry(packet.payload()).or_default() += 1;
        }
    }
    let total: u32 = payloads.values().sum();
    let multiples = |of: u32| -> (u32, u32) {
        let hit = payloads.iter().filter(|(payload, _)| *payload % of == 0);
        hit.fold((0, 0), |(different, count), (_, many)| (different + 1, count + many))
    };
    let ordinary = all.filter(|packet| !packet.is_long()).map(Whole::payload).max();
    let likely = ordinary.filter(|payload| (MIN_PAYLOAD..=room).contains(payload));
    for payload in [Some(room), likely].into_iter().flatten() {
        if multiples(payload).1 * 2 >= total {
            return Some(payload);
        }
    }
    // No segment is shorter than a packet that was whole. A divisor of a full segment's payload
    // divides all its multiples, too.
    let full = multiples(room).1;
    (likely.unwrap_or(MIN_PAYLOAD)..=room)
        .rev()
        .map(|payload| (payload, multiples(payload)))
        .find(|(_, (different, count))| {
            *different >= MIN_PAYLOADS && count * 2 >= total && *count >= full * 2
        })
        .map(|(payload, _)| payload)
}
