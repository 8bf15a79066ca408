//! Packets in flight on links with the same propagation delay.
//!
//! Last bits leave links one after the other, and those with equal delay arrive in the same order.
//! So all links with one delay share a queue of packets in flight, and only its first arrival is an
//! event.

use tidegate_core::packet::Packet;
use tidegate_core::ranking::ring::Ring;
use tidegate_core::units::{Span, Time};

/// Packets in flight on the links with one propagation delay.
#[derive(Debug)]
pub(crate) struct Flights {
    delay: Span,
    in_flight: Ring<Flight>,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    arrives: Time,
    link: u32,
    /// The hop over which the packet flies, so that nothing else has to be read when it lands;
    /// meaningless for a link's own cell.
    hop: u32,
    packet: Packet,
}

impl Flights {
    pub(crate) fn new(delay: Span) -> Flights {
        Flights { delay, in_flight: Ring::default() }
    }

    /// Sends off a packet whose last bit has left a link; returns its arrival time. Links with the
    /// same time come in the order of their indexes.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, link: u32, hop: u32, packet: &Packet) -> Time {
        let arrives = now + self.delay;
        debug_assert!(self.in_flight.last().is_none_or(|last| (last.arrives, last.link) < (arrives, link)));
        self.in_flight.push_with(|| Flight { arrives, link, hop, packet: *packet });
        arrives
    }

    /// Returns true if no packet is in flight.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Removes the packet that arrives first; returns it and its hop.
    #[inline(always)]
    pub(crate) fn land(&mut self) -> Option<(Packet, u32)> {
        self.in_flight.pop().map(|flight| (flight.packet, flight.hop))
    }

    /// Returns link and time of the next arrival.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<(u32, Time)> {
        self.in_flight.first().map(|flight| (flight.link, flight.arrives))
    }
}
