//! Round-trip times of TCP connections, from segments that pass anyway.
//!
//! A segment is noted when it leaves, and its round trip ends when its echo comes back: for a segment
//! with a time stamp (RFC 7323, section 4) the first one that echoes the stamp, for a SYN the first
//! one that acknowledges it. So the time is that behind the gate alone, on one side. It includes what
//! the receiver waits before it acknowledges, and is short by at most one tick of the sender's stamps
//! (1 ms in Linux) where an earlier segment has the same stamp.

use super::pace::Pace;
use etherparse::{Ipv4HeaderSlice, SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use tidegate_core::classifier::FiveTuple;
use tidegate_core::packet::FlowIx;
use tidegate_core::units::{Span, Time};

/// Number of connections of which a segment is noted at a time; of two that take the same place, the
/// later one has it.
const SLOTS: usize = 4096;
/// Shortest time between two segments of a flow that are noted.
const SPACING: Span = Span::from_millis(100);
/// Longest round trip.
const LONGEST: Span = Span::from_secs(4);
const TCP: u8 = 6;

/// The echo that ends a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    Stamp(u32),
    Acknowledgement(u32),
}

/// A segment that has left.
#[derive(Clone, Copy, Debug)]
struct Noted {
    /// The conversation of its echo.
    back: FiveTuple,
    echo: Echo,
    left: Time,
}

/// The segments of a direction whose echoes are awaited.
#[derive(Debug)]
pub(super) struct RoundTrips {
    slots: Vec<Option<Noted>>,
    pace: Pace,
}

impl RoundTrips {
    pub(super) fn new() -> RoundTrips {
        RoundTrips { slots: Vec::new(), pace: Pace::new(SPACING) }
    }

    /// Returns true if a frame of a flow that leaves now is noted, if it is a segment.
    #[inline]
    pub(super) fn takes(&mut self, now: Time, flow: FlowIx) -> bool {
        self.pace.takes(now, flow)
    }

    /// Notes an IP packet that leaves, if it is a segment with an echo.
    pub(super) fn note(&mut self, now: Time, conversation: FiveTuple, packet: &[u8]) {
        let Some(back) = reversed(conversation) else { return };
        let Some(echo) = with_segment(packet, |segment| {
            let stamp = stamps(segment).map(|(own, _)| Echo::Stamp(own));
            let opens = segment.syn().then(|| segment.sequence_number().wrapping_add(1));
            stamp.or(opens.map(Echo::Acknowledgement))
        }) else {
            return;
        };
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        let slot = &mut self.slots[place(back)];
        let is_again = |noted: &Noted| noted.back == back && noted.echo == echo;
        // An answer to a SYN that was sent again may be to either.
        let ambiguous = matches!(echo, Echo::Acknowledgement(_)) && slot.as_ref().is_some_and(is_again);
        let waits = slot.as_ref().is_some_and(|noted| noted.back == back && noted.left + LONGEST > now);
        if ambiguous {
            *slot = None;
        } else if !waits {
            *slot = Some(Noted { back, echo, left: now });
        }
    }

    /// Returns the round trip that ends with an IP packet of a conversation that has come at a time.
    #[inline]
    pub(super) fn end<'f>(
        &mut self,
        came: Time,
        conversation: FiveTuple,
        packet: impl FnOnce() -> &'f [u8],
    ) -> Option<Span> {
        let FiveTuple::Ip { protocol: TCP, .. } = conversation else { return None };
        let slot = self.slots.get_mut(place(conversation))?;
        let noted = slot.as_ref().filter(|noted| noted.back == conversation)?;
        let is_echo = with_segment(packet(), |segment| {
            let echoed = match noted.echo {
                Echo::Stamp(own) => stamps(segment).is_some_and(|(_, echoed)| echoed == own),
                Echo::Acknowledgement(number) => segment.acknowledgment_number() == number,
            };
            Some(segment.ack() && echoed)
        });
        if is_echo != Some(true) {
            return None;
        }
        let took = came.since(noted.left);
        *slot = None;
        (took <= LONGEST).then_some(took)
    }
}

/// Reads the TCP segment of an IP packet, if it has one.
fn with_segment<T>(packet: &[u8], read: impl FnOnce(&TcpSlice<'_>) -> Option<T>) -> Option<T> {
    // Most packets that are read do not have the echo, so IPv4 is read by the shortest way.
    if let Ok(header) = Ipv4HeaderSlice::from_slice(packet) {
        let is_first = header.protocol().0 == TCP && header.fragments_offset().value() == 0;
        let rest = packet.get(header.slice().len()..).filter(|_| is_first)?;
        return read(&TcpSlice::from_slice(rest).ok()?);
    }
    match SlicedPacket::from_ip(packet).ok()?.transport? {
        TransportSlice::Tcp(segment) => read(&segment),
        _ => None,
    }
}

/// The time stamp of a segment, and the one that it echoes.
fn stamps(segment: &TcpSlice<'_>) -> Option<(u32, u32)> {
    // The layout that RFC 7323, appendix A, recommends.
    if let [1, 1, 8, 10, a, b, c, d, e, f, g, h, ..] = *segment.options() {
        return Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
    }
    segment.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::Timestamp(own, echoed)) => Some((own, echoed)),
        _ => None,
    })
}

/// The conversation in the other direction, of TCP.
fn reversed(conversation: FiveTuple) -> Option<FiveTuple> {
    match conversation {
        FiveTuple::Ip { source, destination, ports: Some((from, to)), protocol: TCP } => {
            Some(FiveTuple::Ip {
                source: destination,
                destination: source,
                ports: Some((to, from)),
                protocol: TCP,
            })
        }
        _ => None,
    }
}

/// The place of a conversation among the slots.
fn place(conversation: FiveTuple) -> usize {
    let FiveTuple::Ip { source, destination, ports, .. } = conversation else { return 0 };
    let bits = |address: std::net::IpAddr| match address {
        std::net::IpAddr::V4(four) => u64::from(four.to_bits()),
        std::net::IpAddr::V6(six) => (six.to_bits() >> 64) as u64 ^ six.to_bits() as u64,
    };
    let (from, to) = ports.unwrap_or_default();
    let mixed = bits(source).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ bits(destination).rotate_left(32)
        ^ u64::from(from) << 16
        ^ u64::from(to);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % SLOTS
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A segment with a time stamp and the stamp that it echoes, or a SYN (flags 2) or a SYN ACK
    /// (18) without.
    pub(crate) fn segment(
        (from, from_port): ([u8; 4], u16),
        (to, to_port): ([u8; 4], u16),
        (flags, sequence, acknowledges): (u8, u32, u32),
        stamps: Option<(u32, u32)>,
        payload: usize,
    ) -> Vec<u8> {
        let options = if stamps.is_some() { 12 } else { 0 };
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(((40 + options + payload) as u16).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, TCP, 0, 0]);
        frame.extend([from, to].concat());
        frame.extend([from_port, to_port].map(u16::to_be_bytes).concat());
        frame.extend(sequence.to_be_bytes());
        frame.extend(acknowledges.to_be_bytes());
        frame.extend([((20 + options) * 4) as u8, flags, 255, 255, 0, 0, 0, 0]);
        if let Some((own, echoed)) = stamps {
            frame.extend([1, 1, 8, 10]);
            frame.extend(own.to_be_bytes());
            frame.extend(echoed.to_be_bytes());
        }
        frame.resize(frame.len() + payload, 0);
        frame
    }

    const INSIDE: ([u8; 4], u16) = ([10, 0, 0, 1], 5000);
    const OUTSIDE: ([u8; 4], u16) = ([192, 0, 2, 1], 80);

    fn at(millis: u64) -> Time {
        Time::ORIGIN + Span::from_millis(millis)
    }

    fn conversations() -> [FiveTuple; 2] {
        ["10.0.0.1:5000>192.0.2.1:80/tcp", "192.0.2.1:80>10.0.0.1:5000/tcp"].map(|text| text.parse().unwrap())
    }

    /// The IP packet of a frame that may be cut off.
    fn packet(frame: &[u8]) -> &[u8] {
        frame.get(14..).unwrap_or_default()
    }

    fn noted(trips: &mut RoundTrips, now: Time, frame: &[u8]) {
        if trips.takes(now, FlowIx(0)) {
            trips.note(now, conversations()[0], packet(frame));
        }
    }

    #[test]
    fn a_stamp_comes_back() {
        let mut trips = RoundTrips::new();
        let data = |stamp| segment(INSIDE, OUTSIDE, (16, 1, 1), Some((stamp, 7)), 100);
        let answer = |echoed| segment(OUTSIDE, INSIDE, (16, 1, 101), Some((9, echoed)), 0);
        noted(&mut trips, at(0), &data(1));
        // Too soon after the first: it is not noted.
        noted(&mut trips, at(5), &data(2));
        let mut back = |millis, echoed| {
            let answer = answer(echoed);
            trips.end(at(millis), conversations()[1], || packet(&answer))
        };
        assert_eq!(back(20, 0), None);
        assert_eq!(back(30, 1), Some(Span::from_millis(30)));
        assert_eq!(back(31, 1), None);
        assert_eq!(back(32, 2), None);
        noted(&mut trips, at(100), &data(3));
        let late = answer(3);
        assert_eq!(trips.end(at(5000), conversations()[1], || packet(&late)), None);
    }

    #[test]
    fn a_handshake_counts_unless_it_was_repeated() {
        let syn = segment(INSIDE, OUTSIDE, (2, 41, 0), None, 0);
        let answer = segment(OUTSIDE, INSIDE, (18, 900, 42), None, 0);
        let mut trips = RoundTrips::new();
        noted(&mut trips, at(0), &syn);
        assert_eq!(trips.end(at(12), conversations()[1], || packet(&answer)), Some(Span::from_millis(12)));
        noted(&mut trips, at(1000), &syn);
        noted(&mut trips, at(2000), &syn);
        assert_eq!(trips.end(at(2012), conversations()[1], || packet(&answer)), None);
    }

    #[test]
    fn what_is_no_segment_has_no_echo() {
        let mut trips = RoundTrips::new();
        let frame = segment(INSIDE, OUTSIDE, (16, 1, 1), None, 100);
        for length in 0..frame.len() {
            noted(&mut trips, at(1000 * length as u64), &frame[..length]);
        }
        assert!(trips.slots.iter().all(Option::is_none));
    }
}
