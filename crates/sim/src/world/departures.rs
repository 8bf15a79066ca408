//! Departures: the last bit of a packet leaves its port, whose next packet starts.

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::{After, Path};
use crate::fingerprint::Outcome;
use tidegate_core::context::{Body, Ctx};
use tidegate_core::link::Lane;
use tidegate_core::packet::Packet;
use tidegate_core::stats::wrapping_count;
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    /// Completes the packet in service, whose last bit is out, and starts the next packet.
    #[inline(always)]
    pub(super) fn departed(&mut self, ix: u32) {
        let link = &mut self.cx.fabric.links[ix as usize];
        if link.path != Path::Fast {
            return self.departed_stepwise(ix);
        }
        let waited = link.waiting;
        let node = &mut self.cx.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.cx.now, rng: &mut node.rng, out: &mut self.cx.fabric.out };
        let Some(departing) = node.switch.departing(link.port) else { return };
        let mut packet = departing.packet();
        let (held, next) = departing.leave(&mut cx);
        debug_assert_eq!(held, Body::Released, "a link that multicast packets pass goes step by step");
        let at = next.map_or(Time::NEVER, |next| link.begin(self.cx.now, next));
        self.events.departed(self.cx.now, at);
        if !self.cx.fabric.out.is_empty() {
            self.effects(self.cx.fabric.links[ix as usize].node);
        }
        self.sent(ix, &mut packet, waited);
    }

    /// Like [`departed`](Self::departed), where work is done before the next packet starts. That
    /// starts as on an idle link: no departure is pending meanwhile, and the next opportunity of a
    /// trace is scheduled instead.
    #[inline(never)]
    fn departed_stepwise(&mut self, ix: u32) {
        self.events.departed(self.cx.now, Time::NEVER);
        let is_cell = self.cx.fabric.links[ix as usize].line.lane().is_some_and(Lane::is_sending);
        if is_cell && self.cell_departed(ix) {
            return;
        }
        let link = &mut self.cx.fabric.links[ix as usize];
        let waited = link.waiting;
        let node = &mut self.cx.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.cx.now, rng: &mut node.rng, out: &mut self.cx.fabric.out };
        let Some(departing) = node.switch.departing(link.port) else {
            // An opportunity of the link's trace has come.
            return self.start(ix);
        };
        let (mut packet, held) = departing.finish(&mut cx);
        if !self.cx.fabric.forks.is_empty() {
            self.leave_fork(ix, &mut packet, held);
        }
        let hop = self.cx.packets.body(packet.body).hop;
        self.leave_stages(hop, &mut packet);
        self.drain_outbox();
        if self.may_have_next(ix) {
            self.start(ix);
        }
        self.sent(ix, &mut packet, waited);
    }

    /// Gives a packet that may be a copy of a multicast packet a body of its own, and the hop and the
    /// note with which it leaves over a link.
    #[inline(never)]
    fn leave_fork(&mut self, ix: u32, packet: &mut Packet, held: Body) {
        let hop = self.cx.fabric.hop_over(self.cx.packets.body(packet.body).hop, ix);
        if held == Body::Kept {
            packet.body = self.cx.packets.copy(packet.body);
            self.cx.packets.release_without_body();
        }
        self.cx.packets.body_mut(packet.body).hop = hop;
        packet.note = self.cx.fabric.hops[hop as usize].after as u8;
    }

    /// Returns true if a link has a packet at its port or a cell in its lane to send.
    #[inline(always)]
    fn may_have_next(&self, ix: u32) -> bool {
        let link = &self.cx.fabric.links[ix as usize];
        let has_cell = link.line.lane().is_some_and(Lane::has_cells);
        has_cell || !self.cx.fabric.nodes[link.node as usize].switch.is_empty(link.port)
    }

    /// Handles a packet whose last bit is out of a link, after having waited for `waited`.
    #[inline(always)]
    fn sent(&mut self, ix: u32, packet: &mut Packet, waited: Span) {
        wrapping_count(&mut self.cx.measures.packet_hops, 1);
        let body = self.cx.packets.body_mut(packet.body);
        self.cx.measures.fingerprint.add(self.cx.now, ix, body.flow, body.sequence, Outcome::Sent);
        body.queueing += waited;
        let hop = body.hop;
        if After::Next.is_of(packet) {
            body.hop = hop.wrapping_add(1);
            self.enter(hop.wrapping_add(1), packet, Some(hop));
        } else if After::Sink.is_of(packet) {
            self.sink(packet);
        } else {
            self.fly(ix, hop, packet);
        }
    }
}
