//! Delivery at the end of a link: packets are lost, forwarded or received.

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::{After, Hop};
use crate::fingerprint::Outcome;
use crate::packets::{Content, HostCell, PacketBody};
use crate::stage::{Crossing, Fate};
use tidegate_core::packet::Packet;
use tidegate_core::stats::wrapping_count_packet;
use tidegate_core::units::Time;

impl<Q: EventQueue> World<Q> {
    /// Handles a packet that has flown over a hop, at the far end of its link.
    #[inline(always)]
    pub(super) fn deliver(&mut self, hop: u32, packet: &mut Packet) {
        if After::Flight.is_of(packet) {
            self.enter(hop.wrapping_add(1), packet, Some(hop));
        } else if After::FlightToSink.is_of(packet) {
            self.sink(packet);
        } else {
            self.receive(hop, packet);
        }
    }

    /// Counts a packet at its destination, where only counters see it.
    #[inline(always)]
    pub(super) fn sink(&mut self, packet: &Packet) {
        let body = *self.cx.packets.body(packet.body);
        self.cx.packets.forget(packet.body);
        self.count_received(packet, &body, body.born);
    }

    /// Delivers a packet at its destination: stages there see it, it is counted, and the endpoint
    /// that receives its flow is notified.
    #[inline(never)]
    fn receive(&mut self, hop: u32, packet: &mut Packet) {
        let flow = self.cx.packets.body(packet.body).flow;
        let Hop { link, stages, .. } = self.cx.fabric.hops[hop as usize];
        let at = Crossing { flow, from: Some(hop), to: None };
        if stages != 0 && !self.receive_stages(stages, &at, packet) {
            return self.drain_outbox();
        }
        if !self.cx.fabric.observers.is_empty() {
            let fate = Fate::Received(self.cx.packets.first_sent(packet.body));
            self.end(link, packet, fate, self.cx.fabric.destinations_behind(hop));
        }
        let (body, content) = self.cx.packets.take(packet.body);
        let Content { payload, first_sent, cell } = content.unwrap_or(Content::NONE);
        let first_sent = first_sent.unwrap_or(body.born);
        if let Some(series) = &mut self.cx.measures.series {
            series.received(body.group as usize, packet.len);
        }
        if let Some(assurance) = &mut self.cx.measures.assurance {
            assurance.received(flow, self.cx.fabric.links[link as usize].to as usize, packet.len);
        }
        self.count_received(packet, &body, first_sent);
        let peer = self.cx.flows[flow as usize].peer;
        // Cells without a peer are joined by the adapter of their own flow.
        if let Some(receiver) = peer.or(cell.map(|_| flow)) {
            let warm_at = self.cx.measures.warm_at;
            // A packet that is sent as cells counts from the time at which it was cut.
            let is_old = cell.map_or(first_sent < warm_at, |cell| !cell.is_counted);
            let before = (is_old && self.cx.measures.warm).then(|| self.delivered_at(receiver));
            self.ask_endpoint(receiver, |endpoint, cx| match cell {
                None => endpoint.receive(cx, packet, &payload),
                Some(HostCell { cell, is_counted }) => {
                    endpoint.receive_cell(cx, packet, &payload, cell, is_counted)
                }
            });
            if let Some(before) = before {
                self.delivered_before(flow, before, self.delivered_at(receiver));
            }
            if self.cx.flows[receiver as usize].tells_round_trip {
                self.tell_round_trip(receiver);
            }
            self.act(receiver);
        }
        self.drain_outbox();
    }

    /// Counts a received packet with data first sent at `first_sent`.
    #[inline(always)]
    fn count_received(&mut self, packet: &Packet, body: &PacketBody, first_sent: Time) {
        let measures = &mut self.cx.measures;
        if body.born < measures.warm_at {
            return;
        }
        let delay = self.cx.now.since(first_sent);
        let record = &mut measures.records[body.flow as usize];
        wrapping_count_packet(&mut record.received.0, &mut record.received.1, packet.len);
        record.delay.add(delay);
        record.queueing.add(body.queueing);
        if let Some(delays) = measures.group_counts.get_mut(body.group as usize) {
            delays.add(delay, body.queueing);
        }
        if let Some(delays) = measures.flow_counts.get_mut(body.flow as usize) {
            delays.add(delay, body.queueing);
            measures.variations[body.flow as usize].add(delay);
        }
        if packet.mark.is_congested() {
            measures.received_marked(body.flow);
        }
    }

    /// Counts a packet lost on the line behind a port.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(&mut self, ix: u32, packet: &Packet) {
        let body = *self.cx.packets.body(packet.body);
        let missed = self.cx.fabric.destinations_behind(body.hop);
        self.end(ix, packet, Fate::Lost, missed);
        self.cx.packets.forget(packet.body);
        let measures = &mut self.cx.measures;
        measures.fingerprint.add(self.cx.now, ix, body.flow, body.sequence, Outcome::Lost);
        if body.born >= measures.warm_at {
            *measures.losses.entry(body.flow).or_default() += 1;
            measures.missed(body.flow, missed);
        }
    }
}
