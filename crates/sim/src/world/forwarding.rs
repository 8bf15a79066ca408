//! What the world does with packets, from source to sink.

use super::{Entering, Event, HopEntry, Link, PacketBody, World};
use crate::event_queue::EventQueue;
use crate::fingerprint::Outcome;
use tidegate_core::context::{Body, Ctx, Effect, Reason};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::stats::tally;
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    #[inline(always)]
    pub(super) fn source(&mut self, ix: u32) -> Option<Entering> {
        let flow = &mut self.flows[ix as usize];
        if !flow.plain {
            return self.unusual_source(ix);
        }
        let len = flow.pending;
        let mut next = Time::NEVER;
        if let Some((gap, len)) = flow.emission.next_packet() {
            let at = self.now + gap;
            if at < flow.stop {
                flow.pending = len;
                next = at;
            }
        }
        self.events.set(Event::Source(ix), next);
        if next == Time::NEVER {
            self.source_ended(ix);
        }
        Some(self.emit(ix, len))
    }

    /// A greedy source fills its window. What is dropped at once is not tried again before
    /// the link has sent something, or, with nothing in the queue, a packet's time later.
    #[inline(never)]
    pub(super) fn top_up(&mut self, ix: u32) {
        self.events.set(Event::Source(ix), Time::NEVER);
        loop {
            let now = self.now;
            let flow = &mut self.flows[ix as usize];
            if flow.in_first_queue >= flow.emission.window() || now >= flow.stop {
                return;
            }
            let before = flow.in_first_queue;
            let len = flow.emission.size();
            flow.in_first_queue += 1;
            let first = flow.first_hop;
            let entering = self.emit(ix, len);
            self.enter(entering);
            let in_queue = self.flows[ix as usize].in_first_queue;
            if in_queue <= before {
                if in_queue == 0 {
                    let link = &self.links[self.hops[first as usize].link as usize];
                    self.events.set(Event::Source(ix), now + link.rate.time_for(len));
                }
                return;
            }
        }
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, ix: u32, len: u32) -> Entering {
        let flow = &mut self.flows[ix as usize];
        let body = PacketBody {
            born: self.now,
            queueing: Span::ZERO,
            sequence: flow.next_sequence,
            flow: ix,
            hop: flow.first_hop,
        };
        tally(&mut flow.next_sequence, 1);
        if self.warm {
            self.records[ix as usize].count_sent(len);
        }
        let hop = body.hop;
        let id = match self.free_bodies.pop() {
            Some(id) => {
                self.bodies[id as usize] = body;
                id
            }
            None => {
                self.bodies.push(body);
                (self.bodies.len() - 1) as u32
            }
        };
        Entering { hop, packet: Packet::new(BodyId(id), len) }
    }

    /// The switch in front of the packet's hop takes it in.
    #[inline(always)]
    pub(super) fn enter(&mut self, Entering { hop, packet }: Entering) {
        let hop = self.hops[hop as usize];
        if self.watch.is_some() {
            self.watch_arrival(hop, packet);
        }
        let node = &mut self.nodes[hop.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let idle = node.switch.arrive(&mut cx, &[hop.leg], packet);
        if !self.out.is_empty() {
            self.effects(hop.node);
        }
        if idle {
            self.start(hop.link);
        }
    }

    #[cold]
    fn watch_arrival(&mut self, hop: HopEntry, packet: Packet) {
        let Some(watch) = &mut self.watch else { return };
        let body = &self.bodies[packet.body.0 as usize];
        let queue = self.nodes[hop.node as usize].switch.backlog(hop.leg.port).packets;
        watch.arrived(hop.link, body.flow, body.sequence, self.now, queue);
    }

    /// The link is free: its next packet starts, if there is one.
    #[inline(never)]
    fn start(&mut self, ix: u32) {
        let link = &mut self.links[ix as usize];
        let at = link.node;
        let node = &mut self.nodes[at as usize];
        if let Some(at) = link.start(node, self.now, &mut self.bodies, &mut self.watch, &mut self.out) {
            self.events.set(Event::Departed(ix), at);
        }
        if !self.out.is_empty() {
            self.effects(at);
        }
    }

    #[inline(always)]
    pub(super) fn departed(&mut self, ix: u32) -> Option<Entering> {
        let link = &mut self.links[ix as usize];
        let node = &mut self.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let (packet, held) = node.switch.finish(&mut cx, link.port)?;
        debug_assert_eq!(held, Body::Released, "the simulator sends every packet to one port");
        tally(&mut self.packet_hops, 1);
        tally(&mut link.sent.0, 1);
        tally(&mut link.sent.1, u64::from(packet.len));
        let delay = link.delay;
        let body = &mut self.bodies[packet.body.0 as usize];
        self.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Sent);
        let hop = &self.hops[body.hop as usize];
        if hop.after_envelope {
            // It left its source when the envelope let it go.
            body.born = packet.arrived;
        }
        if hop.tops_up {
            let flow = body.flow;
            self.events.set(Event::Departed(ix), Time::NEVER);
            self.room_for(flow);
            self.start(ix);
        } else {
            let at = link.node;
            let next = link.start(node, self.now, &mut self.bodies, &mut self.watch, &mut self.out);
            self.events.set(Event::Departed(ix), next.unwrap_or(Time::NEVER));
            if !self.out.is_empty() {
                self.effects(at);
            }
        }
        if delay == Span::ZERO {
            return self.hand_over(packet);
        }
        self.fly(ix, packet);
        None
    }

    /// A packet of a greedy flow has left its first queue.
    #[inline(never)]
    fn room_for(&mut self, flow: u32) {
        self.flows[flow as usize].in_first_queue -= 1;
        if !self.conducts[flow as usize].is_slowed() {
            self.top_up(flow);
        }
    }

    /// The packet's last bit is on the way to the end of a link with a delay.
    fn fly(&mut self, ix: u32, packet: Packet) {
        let link = &mut self.links[ix as usize];
        let at = self.now + link.delay;
        link.in_flight.push_back((at, packet));
        if link.in_flight.len() == 1 {
            self.events.set(Event::Arrived(ix), at);
        }
    }

    pub(super) fn arrived(&mut self, ix: u32) -> Option<Entering> {
        let link = &mut self.links[ix as usize];
        let (_, packet) = link.in_flight.pop_front()?;
        let next = link.in_flight.front().map_or(Time::NEVER, |(at, _)| *at);
        self.events.set(Event::Arrived(ix), next);
        self.hand_over(packet)
    }

    /// The packet's last bit reaches the far end of a link.
    #[inline(always)]
    fn hand_over(&mut self, packet: Packet) -> Option<Entering> {
        let body = &mut self.bodies[packet.body.0 as usize];
        let hop = body.hop;
        if self.hops[hop as usize].last {
            self.sink(packet);
            return None;
        }
        body.hop = hop + 1;
        Some(Entering { hop: hop + 1, packet })
    }

    #[inline(always)]
    fn sink(&mut self, packet: Packet) {
        let body = self.bodies[packet.body.0 as usize];
        self.free_bodies.push(packet.body.0);
        let group = self.flows[body.flow as usize].group as usize;
        if let Some(series) = &mut self.series {
            series.received(group, packet.len);
        }
        if body.born < self.warm_at {
            return;
        }
        let delay = self.now.since(body.born);
        if let Some(watch) = &mut self.watch {
            watch.delivered(body.flow, body.sequence, self.now, delay);
        }
        let record = &mut self.records[body.flow as usize];
        tally(&mut record.received.0, 1);
        tally(&mut record.received.1, u64::from(packet.len));
        record.delay.add(delay);
        record.queueing.add(body.queueing);
        if let Some(delays) = self.group_counts.get_mut(group) {
            delays.add(delay, body.queueing);
        }
        if let Some(delays) = self.flow_counts.get_mut(body.flow as usize) {
            delays.add(delay, body.queueing);
        }
    }

    #[inline(never)]
    pub(super) fn timer(&mut self, ix: u32) -> Option<Entering> {
        let Link { node: at, port, .. } = self.links[ix as usize];
        self.events.set(Event::Timer(ix), Time::NEVER);
        let node = &mut self.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        node.switch.timer(&mut cx, port);
        self.effects(at);
        self.start(ix);
        None
    }

    /// Acts on what a switch has reported.
    #[cold]
    fn effects(&mut self, node: u32) {
        let mut out = core::mem::take(&mut self.out);
        for effect in out.drain(..) {
            match effect {
                Effect::Dropped { port, packet, reason, .. } => {
                    let link = self.nodes[node as usize].links[usize::from(port.0)];
                    self.dropped(link, packet, reason);
                }
                Effect::Wake { port, at } => {
                    // Earlier than a wake-up that was asked for before, if there is one.
                    let link = self.nodes[node as usize].links[usize::from(port.0)];
                    self.events.set(Event::Timer(link), at);
                }
                Effect::Warned { body, lead, .. } => self.warned(body, lead),
                Effect::Marked { .. } => {}
            }
        }
        self.out = out;
    }

    fn dropped(&mut self, ix: u32, packet: Packet, reason: Reason) {
        let body = self.bodies[packet.body.0 as usize];
        self.free_bodies.push(packet.body.0);
        self.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Dropped);
        if let Some(watch) = &mut self.watch {
            watch.dropped(ix, body.flow, body.sequence);
        }
        let hop = &self.hops[body.hop as usize];
        if hop.tops_up {
            self.flows[body.flow as usize].in_first_queue -= 1;
        }
        let discarded = hop.after_envelope && reason == Reason::Shaper;
        if !discarded {
            self.links[ix as usize].dropped += 1;
        }
        // An envelope's packet left its source when it was let go: when it reached the port's queue.
        let left_source = if hop.after_envelope { packet.arrived } else { body.born };
        if left_source < self.warm_at {
            return;
        }
        let record = &mut self.records[body.flow as usize];
        if discarded {
            // It never left the source.
            record.discarded += 1;
            record.sent.0 -= 1;
            record.sent.1 -= u64::from(packet.len);
        } else {
            record.dropped += 1;
        }
    }

    /// Checks conservation, work conservation and order within flows where the event was; in
    /// large networks now and then, since it looks at every flow.
    #[cfg(debug_assertions)]
    pub(super) fn audit(&self, event: Event) {
        let link = match event {
            Event::Departed(link) | Event::Arrived(link) | Event::Timer(link) => link,
            Event::Source(flow) => self.hops[self.flows[flow as usize].first_hop as usize].link,
        };
        if self.flows.len() <= 32 || self.packet_hops.is_multiple_of(1024) {
            let node = self.links[link as usize].node as usize;
            if let Err(what) = self.nodes[node].switch.audit(self.now) {
                panic!("node {node} at {:?}, after {event:?}: {what}", self.now);
            }
        }
    }
}
