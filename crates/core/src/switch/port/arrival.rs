//! A packet's way into the port: shaper, meters, droppers, queue.

use super::Port;
use crate::context::{Ctx, Effect, Reason};
use crate::meter::Check;
use crate::packet::{Colour, FlowIx, Packet};
use crate::scheduler::Scheduler;
use crate::switch::flows::State;
use crate::switch::pool::Pool;
use crate::switch::shaping::Shaped;
use crate::units::Time;

impl Port {
    /// Receives a packet whose last bit is in. Returns true if its first bit leaves at once:
    /// nothing else waits, the link is free, and the order of service alone decides at this port.
    #[inline(always)]
    pub(in crate::switch) fn arrive(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        packet: &mut Packet,
        order: u64,
        is_free: impl FnOnce() -> bool,
    ) -> bool {
        let entry = match self.table.flows.get_mut(packet.flow.ix()) {
            Some(entry) if entry.state == State::Open => entry,
            _ => {
                self.drop_unclaimed(cx, pool, packet);
                return false;
            }
        };
        entry.arrived.add(packet.len);
        let (shaped, place) = (entry.shaped, (usize::from(entry.node), entry.slot));
        let plain = !shaped && self.shaping.is_empty();
        if !plain && !self.conforms(cx, pool, packet, order, shaped) {
            return false;
        }
        self.admit(cx, pool, packet, order, place, is_free)
    }

    /// Passes a packet through the empty queue of a port without classes. Returns true if its first
    /// bit leaves now.
    #[inline(always)]
    fn pass(&mut self, cx: &mut Ctx<'_>, pool: &Pool, packet: &mut Packet, order: u64) -> bool {
        // With an exhausted pool the packet may have to be dropped.
        if pool.exhausted() || !self.tree.pass(cx, packet, order) {
            return false;
        }
        self.stats.entered_alone(cx.now);
        self.stats.service_begins(cx.now);
        self.backlog.add(packet.len);
        self.latest = order;
        self.serving = *packet;
        self.busy = true;
        true
    }

    /// Shapes the packet. Returns true if it goes on now.
    #[inline(never)]
    fn conforms(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        packet: &mut Packet,
        order: u64,
        shaped: bool,
    ) -> bool {
        if shaped || self.shaping.waiting(packet.flow) > 0 {
            match self.shaping.arrive(cx.now, packet, order) {
                Shaped::Conforms => {}
                Shaped::Marked => packet.mark = packet.mark.coloured(Colour::Red),
                Shaped::Waits => {
                    // The time for which the tree waits is unchanged.
                    self.ask_at(cx, Time::NEVER);
                    return false;
                }
                Shaped::Full => {
                    self.drop(cx, pool, packet, Reason::Shaper);
                    return false;
                }
            }
            self.report_released(cx, packet);
        }
        true
    }

    /// Reports that the packet's shaper has released it.
    pub(super) fn report_released(&self, cx: &mut Ctx<'_>, packet: &Packet) {
        if self.reports_released {
            cx.out.push(Effect::Released { port: self.ix, packet: *packet });
        }
    }

    /// Passes the packet to the meters, the droppers and the schedulers; `slot` is its flow's index
    /// at `node`. Returns true if its first bit leaves at once.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        packet: &mut Packet,
        order: u64,
        (node, slot): (usize, FlowIx),
        is_free: impl FnOnce() -> bool,
    ) -> bool {
        if !self.is_plain_in && !self.passes(cx, pool, packet, node) {
            return false;
        }
        if self.backlog.packets == 0 && self.is_plain_out && is_free() && self.pass(cx, pool, packet, order) {
            return true;
        }
        self.count_entered(cx.now);
        self.backlog.add(packet.len);
        self.latest = order;
        packet.flow = slot;
        self.tree.push(cx, node, packet, order);
        self.schedule_release(cx.now, node);
        false
    }

    /// Returns true if the meters and the droppers admit the packet to the queue.
    #[inline(always)]
    fn passes(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &mut Packet, node: usize) -> bool {
        let metered = if self.metering.is_empty() { Ok(None) } else { self.meter(cx, node, packet) };
        if let Some(green) = self.green.as_mut().filter(|_| packet.mark.colour() == Colour::Green)
            && metered.is_ok()
        {
            green.add(packet.len);
        }
        let verdict = match metered {
            Ok(marked) if !self.droppers.is_empty() => {
                self.ask_droppers(cx, pool, packet, node).map(|by_dropper| marked.or(by_dropper))
            }
            metered => metered,
        };
        match verdict {
            Ok(Some(reason)) => self.mark(cx, packet, reason),
            Ok(None) => {}
            Err(reason) => {
                self.drop(cx, pool, packet, reason);
                return false;
            }
        }
        true
    }

    /// Asks the droppers about the packet; returns the reason for marking it, if any.
    #[inline(never)]
    fn ask_droppers(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &Pool,
        packet: &Packet,
        node: usize,
    ) -> Result<Option<Reason>, Reason> {
        let mut at = self.occupancy(pool, packet);
        self.droppers.arrive(cx, node, packet, &mut at)
    }

    /// Asks the meters about the packet, one after the other; returns the reason for marking it, if
    /// any.
    #[inline(never)]
    fn meter(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        packet: &mut Packet,
    ) -> Result<Option<Reason>, Reason> {
        let mut marked = None;
        for nth in 0.. {
            let Some(reading) = self.metering.see(cx, node, nth, packet) else { break };
            if let Some(finding) = reading.finding {
                cx.out.push(Effect::Finding { port: self.ix, flow: packet.flow, body: packet.body, finding });
            }
            if let Some(check) = reading.check {
                self.synchronise(packet.flow, check);
            }
            marked = marked.or(reading.verdict.on(packet.mark)?);
        }
        Ok(marked)
    }

    /// Synchronises the flow's clock after its meter has checked it.
    fn synchronise(&mut self, flow: FlowIx, check: Check) {
        let entry = &self.table.flows[flow.ix()];
        let in_service = self.in_service().and_then(|packet| {
            let serving = &self.table.flows[packet.flow.ix()];
            // Tags of different nodes cannot be compared.
            (serving.node == entry.node).then_some((serving.slot, packet.tag))
        });
        let node = &mut self.tree.nodes[usize::from(entry.node)];
        node.scheduler.synchronise(entry.slot, check.virtual_clock, in_service, &node.queues);
    }

    /// Drops a packet whose flow is not open.
    #[cold]
    fn drop_unclaimed(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &Packet) {
        self.losses_mut().drops.count(Reason::NoFlow);
        let body = pool.release(packet);
        cx.out.push(Effect::Dropped { port: self.ix, packet: *packet, reason: Reason::NoFlow, body });
    }
}
