//! The world's pending events.

use super::Event;
use crate::event_queue::EventQueue;
use crate::network::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use tidegate_core::units::Time;

/// When what is next: a queue for each kind of event, in the order of kinds at one instant.
pub(super) struct Pending<Q> {
    /// Of one instant, what relays do comes before everything else.
    pub(super) relays: Q,
    /// Before arrivals, so that an arrival at the same instant meets a free place.
    pub(super) departures: Q,
    arrivals: Arrivals<Q>,
    timers: Q,
    pub(super) sources: Q,
    /// When the first arrival or timer is due. Links without delay have none.
    pub(super) rarer_at: Time,
}

impl<Q: EventQueue> Pending<Q> {
    pub(super) fn new(network: &Network, relays: usize) -> Pending<Q> {
        let links = network.links.len() as u32;
        Pending {
            relays: Q::new(relays as u32),
            departures: Q::new(links),
            arrivals: Arrivals { flights: BinaryHeap::new(), alone: Q::new(links) },
            timers: Q::new(links),
            sources: Q::new(network.flows.len() as u32),
            rarer_at: Time::NEVER,
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, event: Event, at: Time) {
        match event {
            Event::Departed(link) => self.departures.set(link, at),
            Event::Arrived(link) => {
                self.arrivals.alone.set(link, at);
                self.see_rarer();
            }
            Event::Timer(link) => {
                self.timers.set(link, at);
                self.see_rarer();
            }
            Event::Source(flow) => self.sources.set(flow, at),
        }
    }

    /// The first packet starts on a link that was idle.
    #[inline(always)]
    pub(super) fn depart(&mut self, link: u32, now: Time, at: Time) {
        self.departures.insert_after(link, now, at);
    }

    /// The first departure is done, and the link's next packet starts, if there is one.
    #[inline(always)]
    pub(super) fn departed(&mut self, now: Time, at: Time) {
        self.departures.renew_first(now, at);
    }

    /// A packet flies over a link, and arrives before all others of the links with which it shares these flights.
    #[inline(always)]
    pub(super) fn arrives(&mut self, link: u32, flights: u32, at: Time) {
        self.arrivals.flights.push(Reverse((at, link, flights)));
        self.rarer_at = self.rarer_at.min(at);
    }

    /// The first packet of these flights, the first of all arrivals, has arrived; over which link and when the next one does.
    #[inline(always)]
    pub(super) fn landed(&mut self, flights: u32, next: Option<(u32, Time)>) {
        if let Some(mut first) = self.arrivals.flights.peek_mut() {
            debug_assert_eq!(first.0.2, flights, "other flights have the first arrival");
            match next {
                Some((link, at)) => *first = Reverse((at, link, flights)),
                None => _ = PeekMut::pop(first),
            }
        }
        self.see_rarer();
    }

    #[inline(always)]
    fn see_rarer(&mut self) {
        self.rarer_at = self.arrivals.first().0.min(self.timers.first().0);
    }

    /// The first arrival or timer: of one instant, arrivals come first.
    #[inline(always)]
    pub(super) fn rarer(&mut self) -> Event {
        let (arrival_at, arriving) = self.arrivals.first();
        let (timer_at, waking) = self.timers.first();
        if arrival_at <= timer_at { Event::Arrived(arriving) } else { Event::Timer(waking) }
    }
}

/// The next arrivals. One packet in flight is an event of those that fly equally long.
struct Arrivals<Q> {
    /// Of each propagation delay with a packet in flight: when the first arrives, over which link, and its flights.
    flights: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Of links whose lines keep what is in flight.
    alone: Q,
}

impl<Q: EventQueue> Arrivals<Q> {
    /// Time and link of the first arrival.
    #[inline(always)]
    fn first(&mut self) -> (Time, u32) {
        let flying = self.flights.peek().map_or((Time::NEVER, 0), |Reverse((at, link, _))| (*at, *link));
        flying.min(self.alone.first())
    }
}
