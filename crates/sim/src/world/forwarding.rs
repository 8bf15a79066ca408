//! What the world does with packets, from source to sink.

use super::{Around, Event, HopEntry, Link, PacketBody, World};
use crate::event_queue::EventQueue;
use crate::fingerprint::Outcome;
use crate::watch::Ahead;
use tidegate_core::context::{Body, Ctx, Effect, Notice, Reason};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::stats::{tally, tally_packet};
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    #[inline(always)]
    pub(super) fn source(&mut self, ix: u32) {
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
        self.emit(ix, len);
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
            self.emit(ix, len);
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

    /// A packet leaves its source.
    #[inline(always)]
    pub(super) fn emit(&mut self, ix: u32, len: u32) {
        let flow = &mut self.flows[ix as usize];
        let hop = flow.first_hop;
        let body = PacketBody {
            born: self.now,
            queueing: Span::ZERO,
            sequence: flow.next_sequence,
            flow: ix,
            hop,
            group: flow.group,
        };
        tally(&mut flow.next_sequence, 1);
        self.records[ix as usize].count_sent(len);
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
        self.enter(hop, &mut Packet::new(BodyId(id), len));
    }

    /// The switch in front of a hop takes a packet in, whose last bit is in.
    #[inline(always)]
    fn enter(&mut self, hop: u32, packet: &mut Packet) {
        if self.attended {
            (packet.len, packet.mark) = self.attend(hop, *packet);
        }
        let HopEntry { link, node: at, leg, .. } = self.hops[hop as usize];
        let node = &mut self.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let ready = node.switch.arrive_for(&mut cx, leg, packet);
        if !self.out.is_empty() {
            self.effects(at);
        }
        if ready.should_start() {
            self.start(link);
        }
    }

    /// What is done before a packet enters a port: the length and the mark with which it does.
    #[cold]
    fn attend(&mut self, hop: u32, packet: Packet) -> (u32, Mark) {
        self.watch_arrival(hop, &packet);
        match self.hops[hop as usize].around {
            Around::Gate => self.enter_gate(hop, &packet),
            Around::Nothing | Around::Envelope => (packet.len, packet.mark),
        }
    }

    fn watch_arrival(&mut self, hop: u32, packet: &Packet) {
        let Some(watch) = &mut self.watch else { return };
        let hop = &self.hops[hop as usize];
        let body = &self.bodies[packet.body.0 as usize];
        let queue = self.nodes[hop.node as usize].switch.backlog(hop.leg.port).packets;
        watch.arrived(hop.link, body.flow, body.sequence, self.now, queue);
    }

    /// The link is free: its next packet starts, if there is one.
    #[inline(never)]
    fn start(&mut self, ix: u32) {
        if self.links[ix as usize].unusual && !self.opens(ix) {
            return;
        }
        let link = &mut self.links[ix as usize];
        let node = &mut self.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        if let Some(packet) = node.switch.start(&mut cx, link.port) {
            let mut at = link.begin(self.now, &packet);
            if link.unusual {
                at = self.through(ix, at, packet.len);
            }
            self.events.set(Event::Departed(ix), at);
            if self.probed {
                self.watch_start(ix);
            }
        }
        if !self.out.is_empty() {
            self.effects(self.links[ix as usize].node);
        }
    }

    #[cold]
    fn watch_start(&mut self, ix: u32) {
        let Link { node, port, .. } = self.links[ix as usize];
        if let Some(watch) = &mut self.watch
            && let Some(packet) = self.nodes[node as usize].switch.in_service(port)
        {
            let body = &self.bodies[packet.body.0 as usize];
            let ahead = Ahead { flow: body.flow, len: packet.len, stamp: packet.tag, started: self.now };
            watch.started(ix, body.sequence, ahead);
        }
    }

    #[inline(always)]
    pub(super) fn departed(&mut self, ix: u32) {
        let link = &mut self.links[ix as usize];
        if link.unusual {
            return self.departed_unusually(ix);
        }
        let waited = link.waiting;
        let node = &mut self.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let Some(&(mut packet)) = node.switch.in_service(link.port) else { return };
        let Some((held, next)) = node.switch.finish_and_start(&mut cx, link.port) else { return };
        debug_assert_eq!(held, Body::Released, "the simulator sends every packet to one port");
        let at = next.map_or(Time::NEVER, |next| link.begin(self.now, next));
        self.events.set(Event::Departed(ix), at);
        if self.probed && at != Time::NEVER {
            self.watch_start(ix);
        }
        if !self.out.is_empty() {
            self.effects(self.links[ix as usize].node);
        }
        self.sent(ix, &mut packet, waited);
    }

    /// The same for a link that is the first of a greedy flow (what leaves it makes room for more, before
    /// the next packet starts), and for a link with a trace.
    #[inline(never)]
    fn departed_unusually(&mut self, ix: u32) {
        let link = &mut self.links[ix as usize];
        let waited = link.waiting;
        let node = &mut self.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let finished = node.switch.finish(&mut cx, link.port);
        self.events.set(Event::Departed(ix), Time::NEVER);
        let Some((mut packet, _)) = finished else {
            // An opportunity has come.
            return self.start(ix);
        };
        let PacketBody { flow, hop, .. } = self.bodies[packet.body.0 as usize];
        if self.hops[hop as usize].tops_up {
            self.flows[flow as usize].in_first_queue -= 1;
            if !self.conducts[flow as usize].is_slowed() {
                self.top_up(flow);
            }
        }
        self.start(ix);
        self.sent(ix, &mut packet, waited);
    }

    /// The last bit of a packet that has waited so long is out of a link.
    #[inline(always)]
    fn sent(&mut self, ix: u32, packet: &mut Packet, waited: Span) {
        tally(&mut self.packet_hops, 1);
        let body = &mut self.bodies[packet.body.0 as usize];
        self.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Sent);
        body.queueing += waited;
        let hop = body.hop;
        let HopEntry { around, last, flies, .. } = self.hops[hop as usize];
        if around != Around::Nothing {
            if let Some(gate) = self.gate.as_ref().filter(|_| around == Around::Gate) {
                packet.len = gate.length(packet.body);
            } else {
                // It left its source when the envelope let it go.
                let waited = packet.arrived.since(body.born);
                body.born = packet.arrived;
                if body.born >= self.warm_at {
                    self.envelopes[body.flow as usize].add(waited);
                }
            }
        }
        if flies {
            self.fly(ix, *packet);
        } else if last {
            let body = *body;
            self.sink(packet, &body);
        } else {
            body.hop = hop + 1;
            self.enter(hop + 1, packet);
        }
    }

    /// The packet's last bit is on the way to the end of the link, which it may never reach.
    #[inline(never)]
    fn fly(&mut self, ix: u32, packet: Packet) {
        if self.is_lost(ix) {
            return self.lose(ix, &packet);
        }
        let link = &mut self.links[ix as usize];
        if link.delay == Span::ZERO {
            return self.reach(packet);
        }
        let at = self.now + link.delay;
        link.in_flight.push_back((at, packet));
        if link.in_flight.len() == 1 {
            self.events.set(Event::Arrived(ix), at);
        }
    }

    /// The first packet in flight reaches the far end of its link.
    #[inline(never)]
    pub(super) fn arrived(&mut self, ix: u32) {
        let link = &mut self.links[ix as usize];
        let Some((_, packet)) = link.in_flight.pop_front() else { return };
        let next = link.in_flight.front().map_or(Time::NEVER, |(at, _)| *at);
        self.events.set(Event::Arrived(ix), next);
        self.reach(packet);
    }

    /// The packet is at the far end of its link.
    #[inline(never)]
    fn reach(&mut self, mut packet: Packet) {
        let body = &mut self.bodies[packet.body.0 as usize];
        let hop = body.hop;
        if self.hops[hop as usize].last {
            let body = *body;
            return self.sink(&packet, &body);
        }
        body.hop = hop + 1;
        self.enter(hop + 1, &mut packet);
    }

    #[inline(always)]
    fn sink(&mut self, packet: &Packet, body: &PacketBody) {
        self.free_bodies.push(packet.body.0);
        let group = body.group as usize;
        if self.probed {
            self.probe_sink(packet, body);
        }
        if body.born < self.warm_at {
            return;
        }
        let delay = self.now.since(body.born);
        let record = &mut self.records[body.flow as usize];
        tally_packet(&mut record.received.0, &mut record.received.1, packet.len);
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
    fn probe_sink(&mut self, packet: &Packet, body: &PacketBody) {
        if let Some(series) = &mut self.series {
            series.received(body.group as usize, packet.len);
        }
        if let Some(watch) = &mut self.watch
            && body.born >= self.warm_at
        {
            watch.delivered(body.flow, body.sequence, self.now, self.now.since(body.born));
        }
    }

    #[inline(never)]
    pub(super) fn timer(&mut self, ix: u32) {
        let Link { node: at, port, .. } = self.links[ix as usize];
        self.events.set(Event::Timer(ix), Time::NEVER);
        let node = &mut self.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let ready = node.switch.timer(&mut cx, port);
        self.effects(at);
        if ready.should_start() {
            self.start(ix);
        }
    }

    /// Acts on what a switch has reported.
    #[cold]
    #[inline(never)]
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
                Effect::Notice { body, notice: Notice::Ahead(lead), .. } => self.warned(body, lead),
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
            let flow = &mut self.flows[body.flow as usize];
            flow.in_first_queue -= 1;
            if flow.in_first_queue == 0 && !self.conducts[body.flow as usize].is_slowed() {
                // Nothing of it is left whose departure would make room.
                let again = self.now + self.links[ix as usize].rate.time_for(packet.len);
                self.events.set(Event::Source(body.flow), again);
            }
        }
        let after_envelope = hop.around == Around::Envelope;
        let discarded = after_envelope && reason == Reason::Shaper;
        if !discarded {
            self.links[ix as usize].dropped += 1;
        }
        // An envelope's packet left its source when it was let go: when it reached the port's queue.
        let left_source = if after_envelope { packet.arrived } else { body.born };
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
