//! Delay diagnosis: the record of a watched packet at every hop.
//!
//! The activity of a link while watched packets wait for it, and everything else that blocks their
//! flow, is noted once for all of them; a packet keeps its place in these notes. They are summed up
//! for the packets that are kept, and forgotten, as soon as they are twice as long as the waiting
//! packets need: time and memory are linear in the traffic sent and in the longest queue.
//!
//! At each instant of a wait there is one cause. Causes that would block the packet even on an idle
//! link come first: its flow has no credit, or the flow or its class is at its ceiling, or its
//! scheduler releases it later. Next comes the packet or the cell that the link is sending, then
//! the cause that keeps the whole link idle. So the causes add up to the wait.

mod journey;
mod notes;
mod route;

pub use journey::{Journey, WatchedHop};
pub(crate) use notes::State;
pub use notes::{Cause, Served, Waiting};
pub(crate) use route::{Route, RouteLink};

use notes::{Notes, WaitNotes};
use std::collections::BTreeMap;
use tidegate_core::stats::Workahead;
use tidegate_core::units::{Rate, Span, Time};

/// Traffic terms stated by a watched flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchTerms {
    /// The greatest rate that it ever reserves.
    pub reserve: Rate,
    /// Time that its reservation takes for the deepest bucket that it states: its average interval
    /// AI, or the burst of an envelope that is no faster than the reservation. `None` when it
    /// states none.
    pub bucket: Option<Span>,
}

/// A packet that has started on a link while a watched packet waited for that link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) flow: u32,
    pub(crate) sequence: u64,
    pub(crate) len: u32,
    /// Its stamp.
    pub(crate) stamp: u64,
    /// Time at which it reached the schedulers.
    pub(crate) arrived: Time,
    pub(crate) at: Time,
}

/// A watched packet on its way.
#[derive(Clone, Debug)]
struct UnderWay {
    len: u32,
    ahead: Option<Span>,
    /// Number of destinations that it has not reached yet.
    left: u32,
    /// Hops of all its copies.
    hops: Vec<WatchedHop>,
}

/// Follows the packets of one flow through the network, and keeps the slowest. For a multicast
/// packet, each copy that reaches a destination counts separately.
#[derive(Clone, Debug)]
pub struct Watch {
    flow: u32,
    keep: usize,
    route: Route,
    terms: Option<WatchTerms>,
    /// Workahead of the flow over its reservation.
    workahead: Option<Workahead>,
    /// True if an envelope decides when its packets are sent.
    enveloped: bool,
    under_way: BTreeMap<u64, UnderWay>,
    notes: BTreeMap<u32, Notes>,
    /// Slowest packets, the slowest first; among equals the earliest.
    slowest: Vec<Journey>,
}

impl Watch {
    /// Follows the packets of `flow` and keeps the `keep` slowest.
    pub fn new(flow: u32, keep: usize) -> Watch {
        Watch {
            flow,
            keep,
            route: Route::default(),
            terms: None,
            workahead: None,
            enveloped: false,
            under_way: BTreeMap::new(),
            notes: BTreeMap::new(),
            slowest: Vec::new(),
        }
    }

    /// Sets the flow's route, the terms that it states, and the presence of an envelope.
    #[must_use]
    pub(crate) fn of(self, route: Route, terms: Option<WatchTerms>, enveloped: bool) -> Watch {
        let workahead = terms.map(|terms| Workahead::new(terms.reserve));
        Watch { route, terms, workahead, enveloped, ..self }
    }

    /// Returns the index of its flow.
    pub fn flow(&self) -> usize {
        self.flow as usize
    }

    /// Returns the terms that the flow states; `None` for a datagram flow.
    pub fn terms(&self) -> Option<WatchTerms> {
        self.terms
    }

    /// Returns the slowest packets that arrived, the slowest first.
    pub fn slowest(&self) -> &[Journey] {
        &self.slowest
    }

    /// Returns the packets sent before a packet of [`slowest`](Watch::slowest) while it waited at a
    /// hop, and the causes of its wait.
    pub fn waiting(&self, hop: &WatchedHop) -> Waiting {
        let started = hop.started.unwrap_or(hop.arrived);
        let sum = |notes: &Notes| notes.sum(&hop.before, hop.arrived, started);
        self.notes.get(&hop.link).map_or_else(Waiting::default, sum)
    }

    /// Returns true if a hop's time in the shaper is part of the packet's delay: that of an
    /// envelope at the source is not.
    pub fn counts_held(&self, journey: &Journey, hop: usize) -> bool {
        hop > 0 || !self.is_enveloped_at(journey.hops[hop].link)
    }

    fn is_enveloped_at(&self, link: u32) -> bool {
        self.enveloped && self.route.starts_with(link)
    }

    /// Returns true if packets of the watched flow wait for a link.
    #[inline]
    pub(crate) fn waits_at(&self, link: u32) -> bool {
        self.notes.get(&link).is_some_and(|notes| notes.waiting > 0)
    }

    /// Returns the hop of the watched flow over a link.
    pub(crate) fn hop_over(&self, link: u32) -> Option<u32> {
        self.route.hop_over(link)
    }

    /// Notes a new state of a link for the watched flow.
    pub(crate) fn is(&mut self, link: u32, at: Time, state: State) {
        if let Some(notes) = self.notes.get_mut(&link).filter(|notes| notes.waiting > 0) {
            notes.is(at, state);
        }
    }

    /// Records that the last bit of a packet is in at the port of a link.
    pub(crate) fn arrived(&mut self, link: u32, flow: u32, sequence: u64, len: u32, at: Time, queue: u64) {
        if flow != self.flow {
            return;
        }
        let (left, before) = (self.route.destinations(), self.route.before(link));
        let notes = self.notes.entry(link).or_default();
        notes.waiting += 1;
        let noted = WaitNotes::Noted { from: notes.end(), until: notes.end() };
        let hop = WatchedHop {
            link,
            arrived: at,
            held: Span::ZERO,
            queue: Some(queue),
            started: None,
            departed: None,
            landed: None,
            stamp: 0,
            before: noted,
        };
        let packet =
            self.under_way.entry(sequence).or_insert(UnderWay { len, ahead: None, left, hops: Vec::new() });
        let is_spread = self.route.is_spread();
        if let Some(last) = packet.hops.iter_mut().rfind(|hop| is_spread || Some(hop.link) == before) {
            last.landed = Some(at);
        }
        packet.hops.push(hop);
        // Packets held by an envelope have not been sent yet.
        if !self.enveloped
            && self.route.starts_with(link)
            && let Some(workahead) = &mut self.workahead
        {
            packet.ahead = Some(workahead.see(at, len));
        }
    }

    pub(crate) fn started(&mut self, link: u32, packet: Started) {
        let enveloped = self.is_enveloped_at(link);
        let Some(notes) = self.notes.get_mut(&link).filter(|notes| notes.waiting > 0) else { return };
        if packet.flow == self.flow
            && let Some(watched) = self.under_way.get_mut(&packet.sequence)
            && let Some(hop) = watched.hops.iter_mut().rfind(|hop| hop.waits_at(link))
        {
            notes.waiting -= 1;
            let mut from = match hop.before {
                WaitNotes::Noted { from, .. } => from,
                WaitNotes::Summed(_) => notes.end(),
            };
            if packet.arrived > hop.arrived {
                hop.held = packet.arrived.since(hop.arrived);
                (hop.arrived, hop.queue) = (packet.arrived, None);
                from = notes.first_at(from, packet.arrived);
            }
            (hop.started, hop.stamp) = (Some(packet.at), packet.stamp);
            hop.before = WaitNotes::Noted { from, until: notes.end() };
            // Packets dropped here after the envelope are not seen, so that this is at most the
            // workahead.
            if enveloped && let Some(workahead) = &mut self.workahead {
                watched.ahead = Some(workahead.see(packet.arrived, packet.len));
            }
        }
        if notes.waiting > 0 && notes.started(packet.at, packet.flow, packet.len) {
            self.forget(link);
        }
    }

    /// Records that the last bit of a packet is out of a link.
    pub(crate) fn departed(&mut self, link: u32, flow: u32, sequence: u64, at: Time) {
        if flow == self.flow
            && let Some(packet) = self.under_way.get_mut(&sequence)
            && let Some(hop) = packet.hops.iter_mut().rfind(|hop| hop.link == link)
        {
            hop.departed = Some(at);
        }
    }

    /// Removes a packet that was dropped, lost or absorbed at a link, or behind it, with the number
    /// of destinations that wait for it.
    pub(crate) fn gone(&mut self, link: u32, flow: u32, sequence: u64, destinations: u32) {
        if flow != self.flow {
            return;
        }
        let Some(packet) = self.under_way.get_mut(&sequence) else { return };
        if packet.hops.iter().any(|hop| hop.waits_at(link))
            && let Some(notes) = self.notes.get_mut(&link)
        {
            notes.waiting -= 1;
            packet.hops.retain(|hop| !hop.waits_at(link));
        }
        self.take_off(sequence, destinations);
    }

    /// Reduces the number of destinations that wait for a packet.
    fn take_off(&mut self, sequence: u64, destinations: u32) {
        if let Some(packet) = self.under_way.get_mut(&sequence) {
            packet.left = packet.left.saturating_sub(destinations);
            if packet.left == 0 {
                self.under_way.remove(&sequence);
            }
        }
    }

    /// Records that a packet has reached a destination over a link, with this delay; `measured` is
    /// true if it counts.
    pub(crate) fn delivered(
        &mut self,
        link: u32,
        flow: u32,
        sequence: u64,
        arrived: Time,
        delay: Span,
        measured: bool,
    ) {
        if flow != self.flow {
            return;
        }
        let place = self.slowest.partition_point(|journey| journey.delay >= delay);
        if measured
            && place < self.keep
            && let Some(journey) = self.journey(link, sequence, arrived, delay)
        {
            self.slowest.insert(place, journey);
            self.slowest.truncate(self.keep);
        }
        self.take_off(sequence, self.route.destinations_behind(link));
    }

    /// Returns the journey of the copy of a packet that has come over a link.
    fn journey(&self, link: u32, sequence: u64, arrived: Time, delay: Span) -> Option<Journey> {
        let packet = self.under_way.get(&sequence)?;
        let hop_over = |link| packet.hops.iter().rfind(|hop| hop.link == link).cloned();
        let mut hops: Vec<WatchedHop> = match self.route.is_spread() {
            true => packet.hops.clone(),
            false => {
                let back: Vec<WatchedHop> = self.route.back_from(link).filter_map(hop_over).collect();
                back.into_iter().rev().collect()
            }
        };
        hops.last_mut()?.landed = Some(arrived);
        let first = hops.first()?;
        let held = if self.is_enveloped_at(first.link) { Span::ZERO } else { first.held };
        let took = arrived.since(first.arrived) + held;
        let earlier = Span::from_ticks(delay.ticks().saturating_sub(took.ticks()));
        let UnderWay { len, ahead, .. } = *packet;
        Some(Journey { delay, earlier, sequence, len, ahead, arrived, hops })
    }

    /// Sums up the notes of a link for the packets that are kept, and forgets those that no other
    /// packet needs.
    #[cold]
    fn forget(&mut self, link: u32) {
        let Some(notes) = self.notes.get_mut(&link) else { return };
        for hop in self.slowest.iter_mut().flat_map(|journey| &mut journey.hops) {
            if hop.link == link && matches!(hop.before, WaitNotes::Noted { .. }) {
                let started = hop.started.unwrap_or(hop.arrived);
                hop.before = WaitNotes::Summed(notes.sum(&hop.before, hop.arrived, started));
            }
        }
        let needed = self.under_way.values().flat_map(|packet| &packet.hops).filter(|hop| hop.link == link);
        let first = needed.map(|hop| match hop.before {
            WaitNotes::Noted { from, .. } => from,
            WaitNotes::Summed(_) => u64::MAX,
        });
        let first = first.min().unwrap_or(u64::MAX);
        notes.forget(first, self.under_way.len());
    }
}
