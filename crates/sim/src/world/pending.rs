//! The world's pending events.

use super::event::Event;
use crate::event_queue::EventQueue;
use crate::network::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use tidegate_core::units::Time;

/// The next events: a queue for each kind of event, in the order of kinds at one instant.
pub(super) struct Pending<Q> {
    /// Wake-ups of stages, which come first within an instant.
    pub(super) stages: Q,
    /// Departures, before arrivals, so that an arrival at the same instant finds a free place.
    pub(super) departures: Q,
    arrivals: Arrivals<Q>,
    timers: Q,
    pub(super) sources: Q,
    /// Time of the first arrival or timer. Links without delay have none.
    pub(super) next_arrival_or_timer: Time,
}

impl<Q: EventQueue> Pending<Q> {
    pub(super) fn new(network: &Network, stages: usize) -> Pending<Q> {
        let links = network.links.len() as u32;
        Pending {
            stages: Q::new(stages as u32),
            departures: Q::new(links),
            arrivals: Arrivals { flights: BinaryHeap::new(), alone: Q::new(links) },
            timers: Q::new(links),
            sources: Q::new(network.flows.len() as u32),
            next_arrival_or_timer: Time::NEVER,
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, event: Event, at: Time) {
        match event {
            Event::Departed(link) => self.departures.set(link, at),
            Event::Arrived(link) => {
                self.arrivals.alone.set(link, at);
                self.update_next_arrival_or_timer();
            }
            Event::Timer(link) => {
                self.timers.set(link, at);
                self.update_next_arrival_or_timer();
            }
            Event::Source(flow) => self.sources.set(flow, at),
        }
    }

    /// Schedules the departure of a packet that starts on a link that was idle.
    #[inline(always)]
    pub(super) fn depart(&mut self, link: u32, now: Time, at: Time) {
        self.departures.insert_after(link, now, at);
    }

    /// Replaces the first departure, which is done, by that of the link's next packet, if there is
    /// one.
    #[inline(always)]
    pub(super) fn departed(&mut self, now: Time, at: Time) {
        self.departures.renew_first(now, at);
    }

    /// Schedules the arrival of a packet sent over a link, the first of the links that share these
    /// flights.
    #[inline(always)]
    pub(super) fn arrives(&mut self, link: u32, flights: u32, at: Time) {
        self.arrivals.flights.push(Reverse((at, link, flights)));
        self.next_arrival_or_timer = self.next_arrival_or_timer.min(at);
    }

    /// Replaces the first of all arrivals, which is done, by the next one of these flights: its
    /// link and time.
    #[inline(always)]
    pub(super) fn landed(&mut self, flights: u32, next: Option<(u32, Time)>) {
        if let Some(mut first) = self.arrivals.flights.peek_mut() {
            debug_assert_eq!(first.0.2, flights, "other flights have the first arrival");
            match next {
                Some((link, at)) => *first = Reverse((at, link, flights)),
                None => _ = PeekMut::pop(first),
            }
        }
        self.update_next_arrival_or_timer();
    }

    #[inline(always)]
    fn update_next_arrival_or_timer(&mut self) {
        self.next_arrival_or_timer = self.arrivals.first().0.min(self.timers.first().0);
    }

    /// Returns the first arrival or timer: within an instant, arrivals come first.
    #[inline(always)]
    pub(super) fn first_arrival_or_timer(&mut self) -> Event {
        let (arrival_at, arriving) = self.arrivals.first();
        let (timer_at, waking) = self.timers.first();
        if arrival_at <= timer_at { Event::Arrived(arriving) } else { Event::Timer(waking) }
    }
}

/// The next arrivals. Packets with one propagation delay share one event: that of the first to
/// arrive.
struct Arrivals<Q> {
    /// For each propagation delay with a packet in flight: time and link of the first arrival, and
    /// its flights.
    flights: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Arrivals on links whose lines keep their packets in flight.
    alone: Q,
}

impl<Q: EventQueue> Arrivals<Q> {
    /// Returns time and link of the first arrival.
    #[inline(always)]
    fn first(&mut self) -> (Time, u32) {
        let flying = self.flights.peek().map_or((Time::NEVER, 0), |Reverse((at, link, _))| (*at, *link));
        flying.min(self.alone.first())
    }
}
