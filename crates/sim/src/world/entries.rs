//! Entry: packets, whose last bits are in, enter the stages and the port of a hop.

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::Hop;
use crate::stage::Crossing;
use tidegate_core::context::Ctx;
use tidegate_core::packet::{Leg, Packet};
use tidegate_core::switch::StartOutcome;

impl<Q: EventQueue> World<Q> {
    /// Lets a packet, whose last bit is in, enter a hop; it came over the hop `from`.
    #[inline(always)]
    pub(super) fn enter(&mut self, hop: u32, packet: &mut Packet, from: Option<u32>) {
        let at = self.cx.fabric.hops[hop as usize];
        if at.stages != 0 {
            return self.enter_with_stages(hop, packet, from);
        }
        self.enter_port(at, packet);
    }

    #[inline(never)]
    fn enter_with_stages(&mut self, hop: u32, packet: &mut Packet, from: Option<u32>) {
        let flow = self.cx.packets.body(packet.body).flow;
        let Hop { stages, link, .. } = self.cx.fabric.hops[hop as usize];
        if self.enter_stages(stages, &Crossing { flow, from, to: Some(hop) }, packet) {
            // Stages may have changed it.
            self.enter_port(self.cx.fabric.hops[hop as usize], packet);
            self.link_changed(link);
        }
        self.drain_outbox();
    }

    /// Lets the packet enter the port of a hop.
    #[inline(always)]
    fn enter_port(&mut self, hop: Hop, packet: &mut Packet) {
        let Hop { link: ix, node: at, leg, after, .. } = hop;
        packet.note = after as u8;
        let node = &mut self.cx.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.cx.now, rng: &mut node.rng, out: &mut self.cx.fabric.out };
        let link = &mut self.cx.fabric.links[ix as usize];
        match node.switch.arrive_and_start(&mut cx, leg, packet, || link.is_free()) {
            StartOutcome::Started => {
                let at = link.begin_at_once(self.cx.now, packet.len);
                self.events.depart(ix, self.cx.now, at);
            }
            StartOutcome::Waits(ready) if ready.should_start() => {
                if !self.cx.fabric.out.is_empty() {
                    self.effects(at);
                }
                return self.start_of_instant(ix);
            }
            StartOutcome::Waits(_) => {}
        }
        if !self.cx.fabric.out.is_empty() {
            self.effects(at);
        }
    }

    /// Lets copies of a packet enter the ports of all hops onto which its route forks at a hop.
    #[inline(never)]
    pub(super) fn enter_fork(&mut self, hop: u32, packet: &Packet) {
        if self.is_over_full() {
            return;
        }
        let onto = self.cx.fabric.copies_at(hop);
        self.cx.packets.hold_without_body(onto.len() - 1);
        let legs: Vec<Leg> = onto.iter().map(|hop| self.cx.fabric.hops[*hop as usize].leg).collect();
        let at = self.cx.fabric.hops[hop as usize].node;
        let node = &mut self.cx.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.cx.now, rng: &mut node.rng, out: &mut self.cx.fabric.out };
        // All ports are started below.
        _ = node.switch.arrive(&mut cx, &legs, *packet);
        if !self.cx.fabric.out.is_empty() {
            self.effects(at);
        }
        for hop in onto {
            let link = self.cx.fabric.hops[hop as usize].link;
            self.start(link);
            self.link_changed(link);
        }
    }
}
