//! Packets followed one by one: for a log, a watch, the exact W of flows, and forks of multicast
//! routes.

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::{Hop, Link};
use crate::packet_log::What;
use crate::packets::PacketBody;
use crate::watch::Started;
use tidegate_core::context::Ctx;
use tidegate_core::packet::{Leg, Packet};

impl<Q: EventQueue> World<Q> {
    /// Lets a followed packet enter the port of its hop, or the ports onto which its route forks.
    #[inline(never)]
    pub(super) fn enter_followed(&mut self, hop: u32, packet: &mut Packet) {
        match self.fabric.fork(hop) {
            [] => {
                self.follow_arrivals(&[hop], packet);
                self.enter_port(hop, packet);
                self.watch_link(self.fabric.hops[hop as usize].link);
            }
            onto => {
                let onto = onto.to_vec();
                self.enter_fork(&onto, packet);
            }
        }
    }

    /// Lets a followed packet enter the ports onto which its route forks.
    fn enter_fork(&mut self, onto: &[u32], packet: &Packet) {
        if self.is_over_full() {
            return;
        }
        self.packets.hold_without_body(onto.len() - 1);
        self.follow_arrivals(onto, packet);
        let legs: Vec<Leg> = onto.iter().map(|hop| self.fabric.hops[*hop as usize].leg).collect();
        let at = self.fabric.hops[onto[0] as usize].node;
        let node = &mut self.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.fabric.out };
        // All ports are started below.
        _ = node.switch.arrive(&mut cx, &legs, *packet);
        if !self.fabric.out.is_empty() {
            self.effects(at);
        }
        for hop in onto {
            let link = self.fabric.hops[*hop as usize].link;
            self.start(link);
            self.watch_link(link);
        }
    }

    /// Records that the last bit of a packet is in at the ports of these hops.
    fn follow_arrivals(&mut self, onto: &[u32], packet: &Packet) {
        let body = *self.packets.body(packet.body);
        for hop in onto {
            let Hop { link, node, leg, .. } = self.fabric.hops[*hop as usize];
            let what = What::Arrived { packet: body.id(), len: packet.len };
            self.measures.log(self.now, link, what);
            if let Some(watch) = &mut self.measures.watch {
                let queue = self.fabric.nodes[node as usize].switch.backlog(leg.port).packets;
                watch.arrived(link, body.flow, body.sequence, packet.len, self.now, queue);
            }
        }
    }

    /// Records that the last bit of a packet has left a link.
    pub(super) fn follow_departure(&mut self, ix: u32, packet: &Packet) {
        let body = self.packets.body(packet.body);
        self.measures.log(self.now, ix, What::Departed(body.id()));
        if let Some(watch) = &mut self.measures.watch {
            watch.departed(ix, body.flow, body.sequence, self.now);
        }
    }

    /// Notes the state of a link for the watched flow, which may have changed.
    #[inline]
    pub(super) fn watch_link(&mut self, ix: u32) {
        if self.measures.watch.is_some() {
            self.measures.watch_link(self.now, ix, &mut self.fabric, &self.packets);
        }
    }

    /// Measures the exact W of a flow: the packet has come over the hop `from`, or from its source.
    pub(super) fn measure_workahead(&mut self, flow: u32, from: Option<u32>, hop: u32, packet: &Packet) {
        match (from, &mut self.measures.workaheads) {
            (Some(from), _) => self.came_over(flow, from, packet),
            (None, Some(workaheads)) if hop == self.flows[flow as usize].first_hop => {
                workaheads.sent(flow, self.now, packet.len);
            }
            // A stage on the way made it.
            (None, _) => {}
        }
    }

    /// Measures the exact W of a flow: the packet has come over a hop.
    pub(super) fn came_over(&mut self, flow: u32, hop: u32, packet: &Packet) {
        let Some(workaheads) = &mut self.measures.workaheads else { return };
        let link = hop - self.flows[flow as usize].first_hop;
        let born = self.packets.body(packet.body).born;
        workaheads.came_over(flow, link as usize, born, self.now, packet.len);
    }

    #[cold]
    pub(super) fn watch_start(&mut self, ix: u32) {
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
}
