//! Effects reported by switches: drops, wake-ups and findings.

use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fingerprint::Outcome;
use crate::stage::{Crossing, Fate};
use tidegate_core::context::{Body, Effect, Finding, Reason};
use tidegate_core::endpoint::Notice;
use tidegate_core::packet::{BodyId, FlowIx, Packet};

impl<Q: EventQueue> World<Q> {
    /// Handles the effects reported by a switch.
    #[cold]
    #[inline(never)]
    pub(super) fn effects(&mut self, node: u32) {
        // Handling an effect produces no further effect.
        for nth in 0..self.cx.fabric.out.len() {
            match self.cx.fabric.out[nth] {
                Effect::Dropped { port, mut packet, reason, body } => {
                    let link = self.cx.fabric.nodes[node as usize].links[usize::from(port.0)];
                    let hop = self.cx.fabric.hop_over(self.cx.packets.body(packet.body).hop, link);
                    if body == Body::Released {
                        self.drop_stages(hop, &mut packet);
                    }
                    let missed = self.cx.fabric.destinations_behind(hop);
                    self.dropped(link, packet, reason, body, true, missed);
                }
                Effect::Wake { port, at } => {
                    // Earlier than a wake-up requested before, if there is one.
                    let link = self.cx.fabric.nodes[node as usize].links[usize::from(port.0)];
                    assert!(at >= self.cx.now, "a port asks at {:?} to be woken at {at:?}", self.cx.now);
                    self.cx.fabric.links[link as usize].wake_at = at;
                    self.events.set(Event::Timer(link), at);
                }
                Effect::Released { packet, .. } => self.release_stages(&packet),
                Effect::Finding { port, flow, body, finding } => {
                    let link = self.cx.fabric.nodes[node as usize].links[usize::from(port.0)];
                    self.handle_finding(link, flow, body, finding);
                }
                Effect::Marked { port, reason, .. } => {
                    let link = self.cx.fabric.nodes[node as usize].links[usize::from(port.0)];
                    self.cx.measures.drops_for(link, reason).marked += 1;
                }
            }
        }
        self.cx.fabric.out.clear();
        self.drain_outbox();
    }

    /// Handles a finding about a flow, which has the index `at_port` at the port in front of a
    /// link.
    fn handle_finding(&mut self, link: u32, at_port: FlowIx, body: BodyId, finding: Finding) {
        match finding {
            Finding::Ahead(_) => {}
            Finding::NonResponsive => {
                let flow = self.cx.packets.body(body).flow;
                self.cx.measures.named(self.cx.now, link, flow, at_port);
            }
            // Only recorded for the operator; the packet may be another flow's.
            Finding::BackedOff => return self.cx.measures.backed_off(self.cx.now, link, at_port),
        }
        self.notify_back(body, Notice::Network(finding));
    }

    /// Drops a packet for which there is no room at the end of its link, or at its source.
    #[cold]
    pub(super) fn dropped_on_entry(&mut self, at: &Crossing, packet: &Packet) {
        let Some(hop) = at.from.or(at.to) else { return self.cx.packets.forget(packet.body) };
        let link = self.cx.fabric.hops[hop as usize].link;
        self.cx.packets.body_mut(packet.body).hop = hop;
        let missed = self.cx.fabric.destinations_of(at.from, at.to);
        self.dropped(link, *packet, Reason::QueueLimit, Body::Released, at.from.is_none(), missed);
    }

    /// Records a drop. `before` is true if the packet had not left the port; `missed` is the number
    /// of destinations that do not get it.
    fn dropped(&mut self, ix: u32, packet: Packet, reason: Reason, held: Body, before: bool, missed: u32) {
        let body = *self.cx.packets.body(packet.body);
        self.end(ix, &packet, Fate::Dropped(reason), missed);
        match held {
            Body::Released => self.cx.packets.forget(packet.body),
            Body::Kept => self.cx.packets.release_without_body(),
        }
        let measures = &mut self.cx.measures;
        measures.fingerprint.add(self.cx.now, ix, body.flow, body.sequence, Outcome::Dropped);
        let is_first = body.hop == self.cx.flows[body.flow as usize].first_hop;
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
    }

    /// Checks conservation, work conservation and order within flows at the place of the event; in
    /// large networks only from time to time, since it visits every flow.
    pub(super) fn audit(&self, event: Event) {
        let link = match event {
            Event::Departed(link) | Event::Arrived(link) | Event::Timer(link) => link,
            Event::Source(flow) => self.cx.fabric.hops[self.cx.flows[flow as usize].first_hop as usize].link,
        };
        if self.cx.flows.len() <= 32 || self.cx.measures.packet_hops.is_multiple_of(1024) {
            let node = self.cx.fabric.links[link as usize].node as usize;
            if let Err(what) = self.cx.fabric.nodes[node].switch.audit(self.cx.now) {
                panic!("node {node} at {:?}, after {event:?}: {what}", self.cx.now);
            }
        }
    }
}
