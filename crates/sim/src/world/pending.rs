//! The world's pending events.

use super::Event;
use crate::event_queue::EventQueue;
use crate::network::Network;
use tidegate_core::units::Time;

/// When what is next: a queue for each kind of event, in the order of kinds at one instant.
pub(super) struct Pending<Q> {
    /// Of one instant, what relays do comes before everything else.
    pub(super) relays: Q,
    /// Before arrivals, so that an arrival at the same instant meets a free place.
    pub(super) departures: Q,
    arrivals: Q,
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
            arrivals: Q::new(links),
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
                self.arrivals.set(link, at);
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
    pub(super) fn depart(&mut self, link: u32, at: Time) {
        self.departures.insert(link, at);
    }

    /// A packet flies over a link, and arrives before all others of the links with which it shares a queue.
    #[inline(always)]
    pub(super) fn arrives(&mut self, link: u32, at: Time) {
        self.arrivals.insert(link, at);
        self.rarer_at = self.rarer_at.min(at);
    }

    /// A packet has arrived over a link; over which link and when the next one does of those with which it shares a queue.
    #[inline(always)]
    pub(super) fn landed(&mut self, link: u32, next: Option<(u32, Time)>) {
        match next {
            Some((other, at)) => self.arrivals.replace_first(other, at),
            None => self.arrivals.set(link, Time::NEVER),
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
