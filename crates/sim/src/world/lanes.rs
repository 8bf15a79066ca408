//! The priority lanes of links: cells that stages send ahead of the packets of ports.
//!
//! A cell is a packet with a body and a payload that belongs to no flow.

use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::packets::PacketBody;
use crate::stage::{Cell, Stage, StageCx};
use tidegate_core::link::Flight;
use tidegate_core::packet::{FlowIx, Packet};

/// Returns true for a cell of a link: a new packet has no flow, and gets one at its first port.
#[inline(always)]
pub(super) fn is_cell(packet: &Packet) -> bool {
    packet.flow == FlowIx(u32::MAX)
}

impl<Q: EventQueue> World<Q> {
    /// Returns true if a link whose lane has cells is free for a packet of its port. A cell that
    /// waits starts first.
    #[inline(never)]
    pub(super) fn is_free_of_cells(&mut self, ix: u32) -> bool {
        let link = &mut self.cx.fabric.links[ix as usize];
        let Some(lane) = link.line.lane_mut() else { return true };
        if lane.is_sending() {
            return false;
        }
        if !self.cx.fabric.nodes[link.node as usize].switch.is_idle(link.port) {
            // No cell will start.
            return true;
        }
        let Some(cell) = lane.pop().or_else(|| self.make_cell(ix)) else { return true };
        let line = &mut self.cx.fabric.links[ix as usize].line;
        let at = line.begin_cell(self.cx.now, cell, cell.len);
        match line.is_steady() {
            true => self.events.depart(ix, self.cx.now, at),
            // An opportunity of the link's trace may still be pending.
            false => self.events.set(Event::Departed(ix), at),
        }
        false
    }

    /// Has the next cell for a link made, if there is one.
    fn make_cell(&mut self, ix: u32) -> Option<Packet> {
        let stage = self.cx.fabric.links[ix as usize].cell_stage;
        let call = |stage: &mut dyn Stage, cx: &mut StageCx| (stage.next_cell(cx, ix), stage.has_cells(ix));
        let (made, more) = self.call_stage(stage, call);
        self.cx.fabric.links[ix as usize].line.open_lane().request(more);
        let Cell { len, payload } = made?;
        let body = self.cx.packets.store_content(PacketBody::of_cell(self.cx.now), payload, None);
        Some(Packet::new(body, len))
    }

    /// Completes a link's cell whose last bit is out; returns false if none was being sent.
    #[inline(never)]
    pub(super) fn cell_departed(&mut self, ix: u32) -> bool {
        let now = self.cx.now;
        let lane = self.cx.fabric.links[ix as usize].line.lane_mut();
        let Some(cell) = lane.and_then(|lane| lane.finish(now)) else { return false };
        self.start(ix);
        match self.send_off(ix, &cell) {
            Flight::Lost => {
                let stage = self.cx.fabric.links[ix as usize].cell_stage;
                let payload = self.cx.packets.payload(cell.body);
                self.call_stage(stage, |stage, cx| stage.cell_lost(cx, ix, &payload));
                self.cx.packets.forget(cell.body);
            }
            Flight::Arrived => self.cell_arrived(ix, &cell),
            Flight::InFlight { .. } => {}
        }
        true
    }

    /// Handles a cell at the end of its link.
    #[inline(never)]
    pub(super) fn cell_arrived(&mut self, ix: u32, cell: &Packet) {
        let stage = self.cx.fabric.links[ix as usize].cell_stage;
        let payload = self.cx.packets.payload(cell.body);
        match self.call_stage(stage, |stage, cx| stage.cell_arrived(cx, ix, &payload)) {
            Some(next) => {
                self.cx.fabric.links[next as usize].line.open_lane().push(*cell);
                self.cx.start_lane(next);
            }
            None => self.cx.packets.forget(cell.body),
        }
        self.drain_outbox();
    }
}
