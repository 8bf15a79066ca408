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
            arrivals: Arrivals { first: NONE, flights: BinaryHeap::new(), alone: Q::new(links) },
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
        self.arrivals.add((at, link, flights));
        self.next_arrival_or_timer = self.next_arrival_or_timer.min(at);
    }

    /// Replaces the first of all arrivals, which is done, by the next one of these flights: its
    /// link and time.
    #[inline(always)]
    pub(super) fn landed(&mut self, flights: u32, next: Option<(u32, Time)>) {
        debug_assert_eq!(self.arrivals.first.2, flights, "other flights have the first arrival");
        self.arrivals.renew_first(next.map(|(link, at)| (at, link, flights)));
        self.update_next_arrival_or_timer();
    }

    #[inline(always)]
    fn update_next_arrival_or_timer(&mut self) {
        let (alone_at, _) = self.arrivals.alone.first();
        let (timer_at, _) = self.timers.first();
        self.next_arrival_or_timer = self.arrivals.first.0.min(alone_at).min(timer_at);
    }

    /// Returns the first arrival or timer, and the flights of an arrival in them: within an instant,
    /// arrivals come first.
    #[inline(always)]
    pub(super) fn first_arrival_or_timer(&mut self) -> (Event, Option<u32>) {
        let (at, arriving, flights) = self.arrivals.first;
        let (alone_at, alone) = self.arrivals.alone.first();
        let next = self.next_arrival_or_timer;
        if at == next && (alone_at > next || arriving < alone) {
            (Event::Arrived(arriving), Some(flights))
        } else if alone_at == next {
            (Event::Arrived(alone), None)
        } else {
            (Event::Timer(self.timers.first().1), None)
        }
    }
}

/// Time and link of the first arrival of packets with one propagation delay, and their flights.
type FlightsArrival = (Time, u32, u32);

/// No arrival.
const NONE: FlightsArrival = (Time::NEVER, 0, 0);

/// The next arrivals. Packets with one propagation delay share one event: that of the first to
/// arrive.
struct Arrivals<Q> {
    /// The first of all flights.
    first: FlightsArrival,
    /// The other flights with a packet. Where links have few different delays, there is seldom one.
    flights: BinaryHeap<Reverse<FlightsArrival>>,
    /// Arrivals on links whose lines keep their packets in flight.
    alone: Q,
}

impl<Q: EventQueue> Arrivals<Q> {
    /// Adds the first arrival of flights that were empty.
    #[inline(always)]
    fn add(&mut self, arrival: FlightsArrival) {
        let later = self.first.max(arrival);
        self.first = self.first.min(arrival);
        if later.0 != Time::NEVER {
            self.flights.push(Reverse(later));
        }
    }

    /// Replaces the first arrival of all flights, which is done, by the next one of its flights.
    #[inline(always)]
    fn renew_first(&mut self, next: Option<FlightsArrival>) {
        let next = next.unwrap_or(NONE);
        self.first = match self.flights.peek_mut() {
            Some(mut other) if other.0 < next => match next {
                NONE => PeekMut::pop(other).0,
                next => core::mem::replace(&mut other.0, next),
            },
            _ => next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_queue::BinaryHeapQueue;
    use proptest::prelude::*;
    use tidegate_core::units::Span;

    const FLIGHTS: usize = 5;

    proptest! {
        /// Flights have an arrival or none; the one that comes next is the first of all.
        #[test]
        fn the_first_arrival_is_that_of_all_flights(
            steps in prop::collection::vec((0..FLIGHTS, 0u64..20, any::<bool>()), 1..200),
        ) {
            let alone = BinaryHeapQueue::new(1);
            let mut arrivals = Arrivals { first: NONE, flights: BinaryHeap::new(), alone };
            let mut model = [NONE; FLIGHTS];
            for (link, (number, ticks, ends)) in (1..).zip(steps) {
                let at = arrivals.first.0.min(Time::from_ticks(1 << 40)) + Span::from_ticks(ticks);
                let arrival = (at, link, number as u32);
                if model[number] == NONE {
                    model[number] = arrival;
                    arrivals.add(arrival);
                } else {
                    let first = arrivals.first.2 as usize;
                    let next = (!ends).then_some((at, link, first as u32));
                    model[first] = next.unwrap_or(NONE);
                    arrivals.renew_first(next);
                }
                prop_assert_eq!(Some(&arrivals.first), model.iter().min());
            }
        }
    }
}
