//! Starts: an idle port sends the first bit of its next packet.

use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fabric::Path;
use crate::stage::LinkEvent;
use tidegate_core::context::Ctx;
use tidegate_core::switch::StartOutcome;

impl<Q: EventQueue> World<Q> {
    /// Starts a packet at the port of a link that was idle, now or when all packets of this instant
    /// have arrived.
    #[inline(never)]
    pub(super) fn start_of_instant(&mut self, ix: u32) {
        let link = &mut self.cx.fabric.links[ix as usize];
        if !link.waits_for_ties {
            return self.start(ix);
        }
        if !core::mem::replace(&mut link.start_is_due, true) {
            self.starts.push(ix);
        }
    }

    /// Starts the ports that are due, once all packets of this instant have arrived.
    #[inline(never)]
    pub(super) fn start_all(&mut self) {
        let mut starts = core::mem::take(&mut self.starts);
        starts.sort_unstable();
        for ix in starts.drain(..) {
            self.cx.fabric.links[ix as usize].start_is_due = false;
            self.start(ix);
        }
        starts.append(&mut self.starts);
        self.starts = starts;
    }

    /// Starts the next packet of a free link, if there is one.
    #[inline(never)]
    pub(super) fn start(&mut self, ix: u32) {
        if self.cx.fabric.links[ix as usize].path == Path::Fast {
            return self.start_next(ix);
        }
        if self.opens(ix) {
            self.start_next(ix);
        }
        self.link_changed(ix);
    }

    /// Like [`start`](Self::start), on a link where nothing else blocks the start of a packet.
    #[inline(always)]
    fn start_next(&mut self, ix: u32) {
        let link = &mut self.cx.fabric.links[ix as usize];
        let node = &mut self.cx.fabric.nodes[link.node as usize];
        let mut cx = Ctx { now: self.cx.now, rng: &mut node.rng, out: &mut self.cx.fabric.out };
        if let Some(packet) = node.switch.start(&mut cx, link.port) {
            let at = link.begin(self.cx.now, &packet);
            if link.path == Path::SeenStarts {
                // An opportunity of the link's trace may still be pending.
                self.events.set(Event::Departed(ix), at);
                self.show_start(ix, &packet);
            } else {
                self.events.depart(ix, self.cx.now, at);
            }
        }
        if !self.cx.fabric.out.is_empty() {
            self.effects(self.cx.fabric.links[ix as usize].node);
        }
    }

    /// Returns true if a packet may start now on a link that is free. If not, and a packet waits
    /// for it, schedules the next opportunity of its trace, or the end of an outage.
    fn opens(&mut self, ix: u32) -> bool {
        if !self.cx.fabric.links[ix as usize].line.has_idle_lane() && !self.is_free_of_cells(ix) {
            return false;
        }
        let link = &mut self.cx.fabric.links[ix as usize];
        let switch = &self.cx.fabric.nodes[link.node as usize].switch;
        if link.line.is_steady() || !switch.is_idle(link.port) || switch.backlog(link.port).packets == 0 {
            // It is steady, or no packet will start.
            return true;
        }
        let at = link.line.opens(self.cx.now);
        if at > self.cx.now {
            self.events.set(Event::Departed(ix), at);
        }
        at == self.cx.now
    }

    /// Wakes a port that asked for it, or that may have become ready.
    #[inline(never)]
    pub(super) fn timer(&mut self, ix: u32) {
        if !self.cx.fabric.observers.is_empty() {
            self.observe(ix, LinkEvent::Woken);
        }
        let link = &mut self.cx.fabric.links[ix as usize];
        let at = link.node;
        let node = &mut self.cx.fabric.nodes[at as usize];
        let mut cx = Ctx { now: self.cx.now, rng: &mut node.rng, out: &mut self.cx.fabric.out };
        let outcome = node.switch.timer_and_start(&mut cx, link.port, || link.is_free());
        if outcome == StartOutcome::Started
            && let Some(packet) = node.switch.in_service(link.port)
        {
            self.events.depart(ix, self.cx.now, link.begin_at_once(self.cx.now, packet.len));
        }
        if !self.cx.fabric.out.is_empty() {
            self.effects(at);
        }
        if let StartOutcome::Waits(ready) = outcome
            && ready.should_start()
        {
            return self.start_of_instant(ix);
        }
        self.link_changed(ix);
    }
}
