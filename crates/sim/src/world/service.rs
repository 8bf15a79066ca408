//! What links do: packets enter their ports, are served, and fly to their far ends.

use super::{Event, World};
use crate::control::ControlCell;
use crate::event_queue::EventQueue;
use crate::fabric::{After, Hop, Link};
use crate::fingerprint::Outcome;
use crate::packet_log::What;
use crate::packets::PacketBody;
use crate::relay::Crossing;
use crate::watch::Started;
use tidegate_core::context::{Body, Ctx};
use tidegate_core::endpoint::Notice;
use tidegate_core::link::Flight;
use tidegate_core::packet::{Leg, Packet};
use tidegate_core::stats::tally;
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    /// The switch in front of a hop takes a packet in, whose last bit is in; it came over the hop `from`.
    #[inline(always)]
    pub(super) fn enter(&mut self, hop: u32, packet: &mut Packet, from: Option<u32>) {
        if self.fabric.hops[hop as usize].attended {
            return self.enter_attended(hop, packet, from);
        }
        self.enter_port(hop, packet);
    }

    /// The packet enters the port of a hop.
    #[inline(always)]
    fn enter_port(&mut self, hop: u32, packet: &mut Packet) {
        let Hop { link, node: at, leg, .. } = self.fabric.hops[hop as usize];
        let node = &mut self.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let ready = node.switch.arrive_for(&mut cx, leg, packet);
        if !self.fabric.out.is_empty() {
            self.effects(at);
        }
        if ready.should_start() {
            self.start(link);
        }
    }

    /// The same where something sees the packet first, or where the route forks.
    #[inline(never)]
    fn enter_attended(&mut self, hop: u32, packet: &mut Packet, from: Option<u32>) {
        let flow = self.packets.body(packet.body).flow;
        let Hop { relays: set, credit, followed, .. } = self.fabric.hops[hop as usize];
        if followed {
            self.watch_arrival(hop, packet);
            self.measure_workahead(flow, from, hop, packet);
        }
        let at = Crossing { flow, from, to: Some(hop) };
        if credit && !self.enter_credit(at, packet) {
            return self.settle();
        }
        let set = usize::from(set);
        let goes_on = match *self.fabric.relay_sets[set] {
            [] => true,
            [relay] => self.pass_relays(&[relay], at, packet),
            _ => {
                // What relays do waits in the outbox: no other packet passes them meanwhile.
                let relays = core::mem::take(&mut self.fabric.relay_sets[set]);
                let goes_on = self.pass_relays(&relays, at, packet);
                self.fabric.relay_sets[set] = relays;
                goes_on
            }
        };
        if !goes_on {
            return self.settle();
        }
        if followed {
            self.enter_followed(hop, packet);
        } else {
            self.enter_port(hop, packet);
        }
        self.settle();
    }

    /// A packet that is followed enters the port of its hop, or those onto which its route forks.
    #[inline(never)]
    fn enter_followed(&mut self, hop: u32, packet: &mut Packet) {
        match self.fabric.fork(hop) {
            [] => {
                self.log_arrivals(&[hop], packet);
                self.enter_port(hop, packet);
            }
            onto => {
                let onto = onto.to_vec();
                self.enter_fork(&onto, packet);
            }
        }
    }

    /// A packet that is followed enters the ports onto which its route forks.
    fn enter_fork(&mut self, onto: &[u32], packet: &Packet) {
        self.log_arrivals(onto, packet);
        let legs: Vec<Leg> = onto.iter().map(|hop| self.fabric.hops[*hop as usize].leg).collect();
        let at = self.fabric.hops[onto[0] as usize].node;
        let node = &mut self.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        // Every port is asked to start below.
        _ = node.switch.arrive(&mut cx, &legs, *packet);
        if !self.fabric.out.is_empty() {
            self.effects(at);
        }
        for hop in onto {
            self.start(self.fabric.hops[*hop as usize].link);
        }
    }

    fn log_arrivals(&mut self, onto: &[u32], packet: &Packet) {
        let what = What::Arrived { packet: self.packets.body(packet.body).id(), len: packet.len };
        for hop in onto {
            self.measures.log(self.now, self.fabric.hops[*hop as usize].link, what);
        }
    }

    /// For the exact W of a flow: the packet has come over the hop `from`, or from its source.
    fn measure_workahead(&mut self, flow: u32, from: Option<u32>, hop: u32, packet: &Packet) {
        match (from, &mut self.measures.workaheads) {
            (Some(from), _) => self.came_over(flow, from, packet),
            (None, Some(workaheads)) if hop == self.flows[flow as usize].first_hop => {
                workaheads.sent(flow, self.now, packet.len);
            }
            // A relay on the way made it.
            (None, _) => {}
        }
    }

    /// For the exact W of a flow: the packet has come over a hop.
    pub(super) fn came_over(&mut self, flow: u32, hop: u32, packet: &Packet) {
        let Some(workaheads) = &mut self.measures.workaheads else { return };
        let link = hop - self.flows[flow as usize].first_hop;
        let born = self.packets.body(packet.body).born;
        workaheads.came_over(flow, link as usize, born, self.now, packet.len);
    }

    fn watch_arrival(&mut self, hop: u32, packet: &Packet) {
        let Some(watch) = &mut self.measures.watch else { return };
        let hop = &self.fabric.hops[hop as usize];
        let body = self.packets.body(packet.body);
        let queue = self.fabric.nodes[hop.node as usize].switch.backlog(hop.leg.port).packets;
        watch.arrived(hop.link, body.flow, body.sequence, packet.len, self.now, queue);
    }

    /// The link is free: its next packet starts, if there is one.
    #[inline(never)]
    pub(super) fn start(&mut self, ix: u32) {
        let stepwise = self.fabric.links[ix as usize].stepwise;
        if stepwise && !self.opens(ix) {
            return;
        }
        let link = &mut self.fabric.links[ix as usize];
        let node = &mut self.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        if let Some(packet) = node.switch.start(&mut cx, link.port) {
            let at = link.begin(self.now, &packet);
            if stepwise {
                // The departure that has just come, or an opportunity of the link's trace, may still be pending.
                self.events.set(Event::Departed(ix), at);
                if self.measures.follows_packets() {
                    self.watch_start(ix);
                }
            } else {
                self.events.depart(ix, at);
            }
        }
        if !self.fabric.out.is_empty() {
            self.effects(self.fabric.links[ix as usize].node);
        }
    }

    /// Whether a packet may start now on a link that is free. If not, and something waits for it, the next
    /// opportunity of its trace is noted.
    fn opens(&mut self, ix: u32) -> bool {
        let has_cells = self.fabric.links[ix as usize].control.as_ref().is_some_and(|control| control.due);
        if has_cells && !self.is_free_of_control(ix) {
            return false;
        }
        let link = &mut self.fabric.links[ix as usize];
        let switch = &self.fabric.nodes[link.node as usize].switch;
        if !link.line.is_traced() || !switch.is_idle(link.port) || switch.backlog(link.port).packets == 0 {
            // It has no trace, or nothing will start.
            return true;
        }
        let at = link.line.opens(self.now);
        if at > self.now {
            self.events.set(Event::Departed(ix), at);
        }
        at == self.now
    }

    #[cold]
    fn watch_start(&mut self, ix: u32) {
        let Link { node, port, .. } = self.fabric.links[ix as usize];
        let Some(packet) = self.fabric.nodes[node as usize].switch.in_service(port) else { return };
        let body = self.packets.body(packet.body);
        let started = What::Started { packet: body.id(), queued: packet.arrived };
        self.measures.log(self.now, ix, started);
        if let Some(watch) = &mut self.measures.watch {
            let (stamp, arrived) = (packet.tag, packet.arrived);
            let &PacketBody { flow, sequence, .. } = body;
            watch.started(ix, Started { flow, sequence, len: packet.len, stamp, arrived, at: self.now });
        }
    }

    /// The last bit of the packet in service is out, and the next packet starts.
    #[inline(always)]
    pub(super) fn departed(&mut self, ix: u32) {
        let link = &mut self.fabric.links[ix as usize];
        if link.stepwise {
            return self.departed_stepwise(ix);
        }
        let waited = link.waiting;
        let node = &mut self.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let Some(&(mut packet)) = node.switch.in_service(link.port) else { return };
        let Some((held, next)) = node.switch.finish_and_start(&mut cx, link.port) else { return };
        debug_assert_eq!(held, Body::Released, "a link that multicast packets pass goes step by step");
        let at = next.map_or(Time::NEVER, |next| link.begin(self.now, next));
        self.events.set(Event::Departed(ix), at);
        if !self.fabric.out.is_empty() {
            self.effects(self.fabric.links[ix as usize].node);
        }
        self.sent(ix, &mut packet, waited);
    }

    /// The same where something is done before the next packet starts.
    #[inline(never)]
    fn departed_stepwise(&mut self, ix: u32) {
        if self.fabric.links[ix as usize].control.is_some() && self.control_departed(ix) {
            return;
        }
        let link = &mut self.fabric.links[ix as usize];
        let waited = link.waiting;
        let node = &mut self.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let finished = node.switch.finish(&mut cx, link.port);
        if link.line.is_traced() {
            // What is noted from here on is the next opportunity of its trace.
            self.events.set(Event::Departed(ix), Time::NEVER);
        }
        let Some((mut packet, held)) = finished else {
            // An opportunity of the link's trace has come.
            return self.start_next(ix);
        };
        let hop = self.fabric.hop_over(self.packets.body(packet.body).hop, ix);
        if held == Body::Kept {
            packet.body = self.packets.copy(packet.body);
        }
        self.packets.body_mut(packet.body).hop = hop;
        self.measures.log(self.now, ix, What::Departed(self.packets.body(packet.body).id()));
        self.leave_relays(hop, &mut packet);
        let flow = self.packets.body(packet.body).flow;
        if hop == self.flows[flow as usize].first_hop && self.watches_first_queue(flow) {
            self.outbox.notices.push_back((flow, Notice::Left));
        }
        if self.ends_packet(&packet) {
            self.packet_left(flow);
        }
        self.settle();
        self.start_next(ix);
        self.sent(ix, &mut packet, waited);
    }

    /// The next packet starts on a link whose departure has just come, or a cell of the link's own: the departure of what
    /// starts takes the place of the one before.
    #[inline(always)]
    pub(super) fn start_next(&mut self, ix: u32) {
        self.start(ix);
        let link = &self.fabric.links[ix as usize];
        let sends_cell = link.control.as_ref().is_some_and(|control| control.is_sending());
        if !link.line.is_traced()
            && !sends_cell
            && self.fabric.nodes[link.node as usize].switch.is_idle(link.port)
        {
            self.events.set(Event::Departed(ix), Time::NEVER);
        }
    }

    /// The last bit of a packet that has waited so long is out of a link.
    #[inline(always)]
    fn sent(&mut self, ix: u32, packet: &mut Packet, waited: Span) {
        tally(&mut self.measures.packet_hops, 1);
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

    /// The packet's last bit is on the way to the end of the link, which it may never reach.
    #[inline(never)]
    fn fly(&mut self, ix: u32, packet: &mut Packet) {
        let link = &mut self.fabric.links[ix as usize];
        match link.line.fly(self.now, self.now, *packet, &mut link.rng) {
            Flight::Lost => self.lose(ix, packet),
            Flight::Arrived => self.reach(packet),
            Flight::InFlight { first: true } => {
                self.events.set(Event::Arrived(ix), link.line.next_arrival());
            }
            Flight::InFlight { first: false } => {}
        }
    }

    /// The first packet in flight reaches the far end of its link.
    #[inline(never)]
    pub(super) fn arrived(&mut self, ix: u32) {
        let line = &mut self.fabric.links[ix as usize].line;
        let Some(mut packet) = line.land(self.now) else { return };
        self.events.set(Event::Arrived(ix), line.next_arrival());
        match ControlCell::of(&packet) {
            Some(id) => self.control_arrived(id),
            None => self.reach(&mut packet),
        }
    }

    /// A port asked to be woken now, or something may have made it ready.
    #[inline(never)]
    pub(super) fn timer(&mut self, ix: u32) {
        let Link { node: at, port, .. } = self.fabric.links[ix as usize];
        self.measures.log(self.now, ix, What::Woken);
        let node = &mut self.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        let ready = node.switch.timer(&mut cx, port);
        if !self.fabric.out.is_empty() {
            self.effects(at);
        }
        if ready.should_start() {
            self.start(ix);
        }
    }
}
