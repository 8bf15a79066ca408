//! Effects reported by switches: drops, wake-ups and findings.

use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fingerprint::Outcome;
use crate::packet_log::What;
use crate::stage::Crossing;
use tidegate_core::context::{Body, Effect, Finding, Reason};
use tidegate_core::endpoint::Notice;
use tidegate_core::packet::{BodyId, FlowIx, Packet};

impl<Q: EventQueue> World<Q> {
    /// Handles the effects reported by a switch.
    #[cold]
    #[inline(never)]
    pub(super) fn effects(&mut self, node: u32) {
        // Handling an effect produces no further effect.
        for nth in 0..self.fabric.out.len() {
            match self.fabric.out[nth] {
                Effect::Dropped { port, packet, reason, body } => {
                    let link = self.fabric.nodes[node as usize].links[usize::from(port.0)];
                    let hop = self.fabric.hop_over(self.packets.body(packet.body).hop, link);
                    if body == Body::Released {
                        self.drop_stages(hop, &packet);
                    }
                    let missed = self.fabric.destinations_behind(hop);
                    self.dropped(link, packet, reason, body, true, missed);
                }
                Effect::Wake { port, at } => {
                    // Earlier than a wake-up requested before, if there is one.
                    let link = self.fabric.nodes[node as usize].links[usize::from(port.0)];
                    assert!(at >= self.now, "a port asks at {:?} to be woken at {at:?}", self.now);
                    self.fabric.links[link as usize].wake_at = at;
                    self.events.set(Event::Timer(link), at);
                }
                Effect::Released { packet, .. } => self.left_shaper(&packet),
                Effect::Finding { port, flow, body, finding } => {
                    let link = self.fabric.nodes[node as usize].links[usize::from(port.0)];
                    self.handle_finding(link, flow, body, finding);
                }
                Effect::Marked { port, reason, .. } => {
                    let link = self.fabric.nodes[node as usize].links[usize::from(port.0)];
                    self.measures.drops_for(link, reason).marked += 1;
                }
            }
        }
        self.fabric.out.clear();
        self.settle();
    }

    /// Handles a packet released by the shaper in front of a port: from an envelope it enters the
    /// network.
    fn left_shaper(&mut self, packet: &Packet) {
        self.release_stages(packet);
        let body = self.packets.body(packet.body);
        let link = self.fabric.hops[body.hop as usize].link;
        self.measures.log(self.now, link, What::LetGo(body.id()));
        if let Some(workaheads) = &mut self.measures.workaheads
            && body.hop == self.flows[body.flow as usize].first_hop
        {
            workaheads.let_go(body.flow, self.now, packet.len);
        }
    }

    /// Handles a finding about a flow, which has the index `at_port` at the port in front of a
    /// link.
    fn handle_finding(&mut self, link: u32, at_port: FlowIx, body: BodyId, finding: Finding) {
        match finding {
            Finding::Ahead(_) => {}
            Finding::NonResponsive => {
                let flow = self.packets.body(body).flow;
                self.measures.named(self.now, link, flow, at_port);
            }
            // Only recorded for the operator; the packet may be another flow's.
            Finding::BackedOff => return self.measures.backed_off(self.now, link, at_port),
        }
        self.notify_back(body, Notice::Network(finding));
    }

    /// Drops a packet for which there is no room at the end of its link, or at its source.
    #[cold]
    pub(super) fn dropped_on_entry(&mut self, at: Crossing, packet: &Packet) {
        let Some(hop) = at.from.or(at.to) else { return self.packets.forget(packet.body) };
        let link = self.fabric.hops[hop as usize].link;
        self.packets.body_mut(packet.body).hop = hop;
        let missed = self.fabric.destinations_of(at.from, at.to);
        self.dropped(link, *packet, Reason::QueueLimit, Body::Released, at.from.is_none(), missed);
    }

    /// Records a drop. `before` is true if the packet had not left the port; `missed` is the number
    /// of destinations that do not get it.
    fn dropped(&mut self, ix: u32, packet: Packet, reason: Reason, held: Body, before: bool, missed: u32) {
        let body = *self.packets.body(packet.body);
        if before && self.ends_packet(&packet) {
            self.packet_left(body.flow);
        }
        match held {
            Body::Released => self.packets.forget(packet.body),
            Body::Kept => self.packets.release_without_body(),
        }
        let measures = &mut self.measures;
        measures.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Dropped);
        measures.log(self.now, ix, What::Dropped(body.id(), reason));
        if let Some(watch) = &mut measures.watch {
            watch.gone(ix, body.flow, body.sequence, missed);
        }
        let is_first = body.hop == self.flows[body.flow as usize].first_hop;
        let envelope = measures.envelopes.get(&body.flow).filter(|_| is_first && before);
        let discarded = envelope.is_some() && reason == Reason::Shaper;
        // A packet with an envelope leaves its source when that releases it, which keeps the order.
        let measured = measures.warm
            && match envelope {
                Some(envelope) => body.sequence >= envelope.first_measured,
                None => body.born >= measures.warm_at,
            };
        if !discarded {
            measures.drops_for(ix, reason).dropped += 1;
        }
        if measured {
            let record = &mut measures.records[body.flow as usize];
            if discarded {
                // It never left the source.
                record.discarded += 1;
                record.sent.0 -= 1;
                record.sent.1 -= u64::from(packet.len);
            } else {
                record.dropped += 1;
                measures.missed(body.flow, missed);
            }
        }
        if is_first && before && self.watches_first_queue(body.flow) {
            self.outbox.notify(body.flow, Notice::Dropped(packet.len));
        }
    }

    /// Checks conservation, work conservation and order within flows at the place of the event; in
    /// large networks only from time to time, since it visits every flow.
    pub(super) fn audit(&self, event: Event) {
        let link = match event {
            Event::Departed(link) | Event::Arrived(link) | Event::Timer(link) => link,
            Event::Source(flow) => self.fabric.hops[self.flows[flow as usize].first_hop as usize].link,
        };
        if self.flows.len() <= 32 || self.measures.packet_hops.is_multiple_of(1024) {
            let node = self.fabric.links[link as usize].node as usize;
            if let Err(what) = self.fabric.nodes[node].switch.audit(self.now) {
                panic!("node {node} at {:?}, after {event:?}: {what}", self.now);
            }
        }
    }
}
