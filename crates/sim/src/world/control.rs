//! Delivery of a link's own cells: credit cells and credit_check cells.

use super::stages::Credit;
use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::stage::{Stage, StageCx};
use core::any::Any;
use tidegate_core::link::Flight;

impl<Q: EventQueue> World<Q> {
    /// Returns true if a link with cells of its own is free for a packet of its port. A cell that
    /// is due starts first.
    #[inline(never)]
    pub(super) fn is_free_of_control(&mut self, ix: u32) -> bool {
        let link = &self.cx.fabric.links[ix as usize];
        if link.control.as_ref().is_none_or(|control| control.is_sending()) {
            return false;
        }
        if !self.cx.fabric.nodes[link.node as usize].switch.is_idle(link.port) {
            // No cell will start.
            return true;
        }
        let next = self.call_credit(|credit, cx| (credit.next_cell(cx, ix), credit.has_cells(ix)));
        let link = &mut self.cx.fabric.links[ix as usize];
        let (Some((cell, others_wait)), Some(control)) = (next, &mut link.control) else { return true };
        control.due = others_wait;
        let Some(cell) = cell else { return true };
        let at = link.line.begin(self.cx.now, cell.len);
        control.start(self.cx.now, cell.packet());
        // An opportunity of the link's trace may still be pending.
        self.events.set(Event::Departed(ix), at);
        false
    }

    /// Completes a link's own cell whose last bit is out; returns false if none was being sent.
    #[inline(never)]
    pub(super) fn control_departed(&mut self, ix: u32) -> bool {
        let now = self.cx.now;
        let control = self.cx.fabric.links[ix as usize].control.as_mut();
        let Some(packet) = control.and_then(|control| control.finish(now)) else { return false };
        self.start(ix);
        match self.send_off(ix, &packet) {
            Flight::Lost => {
                self.call_credit(|credit, _| credit.cell_lost(packet.tag));
            }
            Flight::Arrived => self.control_arrived(packet.tag),
            Flight::InFlight { .. } => {}
        }
        true
    }

    /// Calls the stage of credit; `None` where no link has credit.
    fn call_credit<T>(&mut self, call: impl FnOnce(&mut Credit, &mut StageCx) -> T) -> Option<T> {
        let is_credit = |stage: &dyn Stage| (stage as &dyn Any).is::<Credit>();
        let ix = self.stages.iter().position(|placed| is_credit(placed.stage.as_ref()))?;
        self.call_stage(ix as u32, |stage, cx| {
            let stage: &mut dyn Any = stage;
            stage.downcast_mut().map(|credit| call(credit, cx))
        })
    }

    /// Handles a link's own cell at its end.
    pub(super) fn control_arrived(&mut self, id: u64) {
        self.call_credit(|credit, cx| credit.cell_arrived(cx, id));
        self.settle();
    }
}
