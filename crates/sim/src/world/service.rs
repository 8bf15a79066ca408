//! Link service: packets enter ports, are served, and propagate to the far ends.

use super::{Event, World};
use crate::control::ControlCell;
use crate::event_queue::EventQueue;
use crate::fabric::{After, Hop};
use crate::fingerprint::Outcome;
use crate::packet_log::What;
use crate::stage::Crossing;
use tidegate_core::context::{Body, Ctx};
use tidegate_core::endpoint::Notice;
use tidegate_core::link::Flight;
use tidegate_core::packet::Packet;
use tidegate_core::stats::wrapping_count;
use tidegate_core::switch::StartOutcome;
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    /// Lets a packet, whose last bit is in, enter the switch in front of a hop; it came over the
    /// hop `from`.
    #[inline(always)]
    pub(super) fn enter(&mut self, hop: u32, packet: &mut Packet, from: Option<u32>) {
        if self.fabric.hops[hop as usize].attended {
            return self.enter_attended(hop, packet, from);
        }
        self.enter_port(hop, packet);
    }

    /// Lets the packet enter the port of a hop.
    #[inline(always)]
    pub(super) fn enter_port(&mut self, hop: u32, packet: &mut Packet) {
        let Hop { link: ix, node: at, leg, .. } = self.fabric.hops[hop as usize];
        let node = &mut self.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let links = &mut self.fabric.links;
        match node.switch.arrive_and_start(&mut cx, leg, packet, || links[ix as usize].is_free()) {
            StartOutcome::Started => {
                let at = links[ix as usize].begin_at_once(self.now, packet.len);
                self.events.depart(ix, self.now, at);
            }
            StartOutcome::Waits(ready) if ready.should_start() => {
                if !self.fabric.out.is_empty() {
                    self.effects(at);
                }
                return self.start_of_instant(ix);
            }
            StartOutcome::Waits(_) => {}
        }
        if !self.fabric.out.is_empty() {
            self.effects(at);
        }
    }

    /// Like [`enter`](Self::enter), where a packet is processed before the port, or where the route
    /// forks.
    #[inline(never)]
    fn enter_attended(&mut self, hop: u32, packet: &mut Packet, from: Option<u32>) {
        let flow = self.packets.body(packet.body).flow;
        let Hop { stages, followed, .. } = self.fabric.hops[hop as usize];
        if followed {
            self.measure_workahead(flow, from, hop, packet);
        }
        if stages != 0 && !self.enter_stages(stages, Crossing { flow, from, to: Some(hop) }, packet) {
            return self.settle();
        }
        if followed {
            self.enter_followed(hop, packet);
        } else {
            self.enter_port(hop, packet);
        }
        self.settle();
    }

    /// Starts a packet at the port of a link that was idle, now or when all packets of this instant
    /// have arrived.
    #[inline(never)]
    fn start_of_instant(&mut self, ix: u32) {
        let link = &mut self.fabric.links[ix as usize];
        if !link.waits_for_ties {
            return self.start(ix);
        }
        if !core::mem::replace(&mut link.start_is_due, true) {
            self.starts.push(ix);
        }
    }

    /// Starts the ports that are due, once all packets of this instant have arrived.
    #[inline(never)]
    pub(super) fn start_all(&mut self) {
        let mut starts = core::mem::take(&mut self.starts);
        starts.sort_unstable();
        for ix in starts.drain(..) {
            self.fabric.links[ix as usize].start_is_due = false;
            self.start(ix);
        }
        starts.append(&mut self.starts);
        self.starts = starts;
    }

    /// Starts the next packet of a free link, if there is one.
    #[inline(never)]
    pub(super) fn start(&mut self, ix: u32) {
        if !self.fabric.links[ix as usize].stepwise {
            return self.start_next(ix);
        }
        if self.opens(ix) {
            self.start_next(ix);
        }
        self.watch_link(ix);
    }

    /// Like [`start`](Self::start), on a link where nothing else blocks the start of a packet.
    #[inline(always)]
    fn start_next(&mut self, ix: u32) {
        let link = &mut self.fabric.links[ix as usize];
        let node = &mut self.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        if let Some(packet) = node.switch.start(&mut cx, link.port) {
            let at = link.begin(self.now, &packet);
            if link.starts_are_seen {
                // An opportunity of the link's trace may still be pending.
                self.events.set(Event::Departed(ix), at);
                if self.measures.follows_packets() {
                    self.watch_start(ix);
                }
            } else {
                self.events.depart(ix, self.now, at);
            }
        }
        if !self.fabric.out.is_empty() {
            self.effects(self.fabric.links[ix as usize].node);
        }
    }

    /// Returns true if a packet may start now on a link that is free. If not, and a packet waits
    /// for it, schedules the next opportunity of its trace.
    fn opens(&mut self, ix: u32) -> bool {
        let has_cells =
            self.fabric.links[ix as usize].control.as_ref().is_some_and(|control| !control.is_idle());
        if has_cells && !self.is_free_of_control(ix) {
            return false;
        }
        let link = &mut self.fabric.links[ix as usize];
        let switch = &self.fabric.nodes[link.node as usize].switch;
        if !link.line.is_traced() || !switch.is_idle(link.port) || switch.backlog(link.port).packets == 0 {
            // It has no trace, or no packet will start.
            return true;
        }
        let at = link.line.opens(self.now);
        if at > self.now {
            self.events.set(Event::Departed(ix), at);
        }
        at == self.now
    }

    /// Completes the packet in service, whose last bit is out, and starts the next packet.
    #[inline(always)]
    pub(super) fn departed(&mut self, ix: u32) {
        let link = &mut self.fabric.links[ix as usize];
        if link.stepwise {
            return self.departed_stepwise(ix);
        }
        let waited = link.waiting;
        let node = &mut self.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let Some(departing) = node.switch.departing(link.port) else { return };
        let mut packet = departing.packet();
        let (held, next) = departing.leave(&mut cx);
        debug_assert_eq!(held, Body::Released, "a link that multicast packets pass goes step by step");
        let at = next.map_or(Time::NEVER, |next| link.begin(self.now, next));
        self.events.departed(self.now, at);
        if !self.fabric.out.is_empty() {
            self.effects(self.fabric.links[ix as usize].node);
        }
        self.sent(ix, &mut packet, waited);
    }

    /// Like [`departed`](Self::departed), where work is done before the next packet starts. That
    /// starts as on an idle link: no departure is pending meanwhile, and the next opportunity of a
    /// trace is scheduled instead.
    #[inline(never)]
    fn departed_stepwise(&mut self, ix: u32) {
        self.events.set(Event::Departed(ix), Time::NEVER);
        if self.fabric.links[ix as usize].control.is_some() && self.control_departed(ix) {
            return;
        }
        let link = &mut self.fabric.links[ix as usize];
        let waited = link.waiting;
        let node = &mut self.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let Some((mut packet, held)) = node.switch.finish(&mut cx, link.port) else {
            // An opportunity of the link's trace has come.
            return self.start(ix);
        };
        let hop = self.fabric.hop_over(self.packets.body(packet.body).hop, ix);
        if held == Body::Kept {
            packet.body = self.packets.copy(packet.body);
            self.packets.release_without_body();
        }
        self.packets.body_mut(packet.body).hop = hop;
        self.follow_departure(ix, &packet);
        self.leave_stages(hop, &mut packet);
        let flow = self.packets.body(packet.body).flow;
        if hop == self.flows[flow as usize].first_hop && self.watches_first_queue(flow) {
            self.outbox.notify(flow, Notice::Left);
        }
        if self.ends_packet(&packet) {
            self.packet_left(flow);
        }
        self.settle();
        if self.may_have_next(ix) {
            self.start(ix);
        }
        self.sent(ix, &mut packet, waited);
    }

    /// Returns true if a link has a packet at its port or a cell of its own to send.
    #[inline(always)]
    fn may_have_next(&self, ix: u32) -> bool {
        let link = &self.fabric.links[ix as usize];
        let has_cell = link.control.as_ref().is_some_and(|control| control.due);
        has_cell || !self.fabric.nodes[link.node as usize].switch.is_empty(link.port)
    }

    /// Handles a packet whose last bit is out of a link, after having waited for `waited`.
    #[inline(always)]
    fn sent(&mut self, ix: u32, packet: &mut Packet, waited: Span) {
        wrapping_count(&mut self.measures.packet_hops, 1);
        let body = self.packets.body_mut(packet.body);
        self.measures.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Sent);
        body.queueing += waited;
        let hop = body.hop;
        match self.fabric.hops[hop as usize].after {
            After::Next => {
                body.hop = hop + 1;
                self.enter(hop + 1, packet, Some(hop));
            }
            After::Sink => {
                let body = *body;
                self.packets.forget_plain(packet.body);
                self.sink(packet, &body, body.born);
            }
            After::Travel { .. } => self.fly(ix, packet),
        }
    }

    /// Sends the packet's last bit to the end of the link, which it may never reach.
    #[inline(never)]
    fn fly(&mut self, ix: u32, packet: &mut Packet) {
        match self.send_off(ix, packet) {
            Flight::Lost => self.lose(ix, packet),
            Flight::Arrived => self.reach(packet),
            Flight::InFlight { .. } => {}
        }
    }

    /// Sends off the last bit of a packet, or of a link's own cell, that has left a link.
    #[inline(always)]
    pub(super) fn send_off(&mut self, ix: u32, packet: &Packet) -> Flight {
        let link = &mut self.fabric.links[ix as usize];
        let Some(number) = link.flights else { return self.send_off_alone(ix, packet) };
        if link.line.loses(&mut link.rng) {
            return Flight::Lost;
        }
        let flights = &mut self.fabric.flights[number as usize];
        let first = flights.is_empty();
        let at = flights.send(self.now, ix, packet);
        if first {
            self.events.arrives(ix, number, at);
        }
        Flight::InFlight { first }
    }

    /// Like [`send_off`](Self::send_off), where the line itself keeps packets in flight.
    #[inline(never)]
    fn send_off_alone(&mut self, ix: u32, packet: &Packet) -> Flight {
        let link = &mut self.fabric.links[ix as usize];
        let flight = link.line.fly(self.now, self.now, *packet, &mut link.rng);
        if flight == (Flight::InFlight { first: true }) {
            self.events.set(Event::Arrived(ix), link.line.next_arrival());
        }
        flight
    }

    /// Handles the first packet in flight, which reaches the far end of its link.
    #[inline(always)]
    pub(super) fn arrived(&mut self, ix: u32) {
        let link = &mut self.fabric.links[ix as usize];
        let landed = match link.flights {
            Some(number) => {
                let flights = &mut self.fabric.flights[number as usize];
                let landed = flights.land();
                self.events.landed(number, flights.next());
                landed
            }
            None => {
                let landed = link.line.land(self.now);
                self.events.set(Event::Arrived(ix), link.line.next_arrival());
                landed
            }
        };
        let Some(mut packet) = landed else { return };
        match ControlCell::of(&packet) {
            Some(id) => self.control_arrived(id),
            None => self.reach(&mut packet),
        }
    }

    /// Wakes a port that asked for it, or that may have become ready.
    #[inline(never)]
    pub(super) fn timer(&mut self, ix: u32) {
        self.measures.log(self.now, ix, What::Woken);
        let link = &mut self.fabric.links[ix as usize];
        let at = link.node;
        let node = &mut self.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let outcome = node.switch.timer_and_start(&mut cx, link.port, || link.is_free());
        if outcome == StartOutcome::Started
            && let Some(packet) = node.switch.in_service(link.port)
        {
            self.events.depart(ix, self.now, link.begin_at_once(self.now, packet.len));
        }
        if !self.fabric.out.is_empty() {
            self.effects(at);
        }
        if let StartOutcome::Waits(ready) = outcome
            && ready.should_start()
        {
            return self.start_of_instant(ix);
        }
        if self.fabric.links[ix as usize].starts_are_seen {
            self.watch_link(ix);
        }
    }
}
