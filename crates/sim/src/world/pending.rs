//! The world's pending events.

use super::Event;
use crate::event_queue::EventQueue;
use crate::network::Network;
use tidegate_core::units::Time;

/// When what is next. Links, sources and relays have a queue each: links are fewer than sources, and busier.
pub(super) struct Pending<Q> {
    /// Departures first, so that an arrival at the same instant meets a free place; then the
    /// arrivals, then the timers of all links.
    pub(super) links: Q,
    pub(super) sources: Q,
    /// Of one instant, what relays do comes before everything else.
    pub(super) relays: Q,
    /// How many links there are.
    pub(super) count: u32,
}

impl<Q: EventQueue> Pending<Q> {
    pub(super) fn new(network: &Network, relays: usize) -> Pending<Q> {
        let count = network.links.len() as u32;
        Pending {
            links: Q::new(3 * count),
            sources: Q::new(network.flows.len() as u32),
            relays: Q::new(relays as u32),
            count,
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, event: Event, at: Time) {
        match event {
            Event::Departed(link) => self.links.set(link, at),
            Event::Arrived(link) => self.links.set(self.count.wrapping_add(link), at),
            Event::Timer(link) => self.links.set((2 * self.count).wrapping_add(link), at),
            Event::Source(flow) => self.sources.set(flow, at),
        }
    }

    /// What a component of the queue of links stands for.
    pub(super) fn of_link(&self, component: u32) -> Event {
        match (component / self.count, component % self.count) {
            (0, link) => Event::Departed(link),
            (1, link) => Event::Arrived(link),
            (_, link) => Event::Timer(link),
        }
    }
}
