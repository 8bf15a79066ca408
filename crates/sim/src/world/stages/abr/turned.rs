//! RM cells that are turned round where a VC has data in the other direction: they leave in the order
//! of its cells, at its ACR.

use crate::stage::StageCx;
use tidegate_core::abr::cell::RmCell;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Mark;

/// An RM cell that was turned round, and the way that it takes.
#[derive(Clone, Copy)]
pub(super) struct Turned {
    pub(super) cell: RmCell,
    pub(super) len: u32,
    /// The flow of its answers, and that flow's hop from here.
    pub(super) back: (u32, u32),
}

impl Turned {
    /// Sends it at once.
    pub(super) fn send(self, cx: &mut StageCx) {
        cx.send(self.back.0, self.back.1, self.len, Mark::NONE, Payload::Rm(self.cell));
    }
}

/// The RM cell that waits for its turn among the cells of a source.
#[derive(Default)]
pub(super) struct InOrder {
    waiting: Option<Turned>,
    /// True if one has been sent since the latest FRM cell of the source.
    sent: bool,
}

impl InOrder {
    /// Takes an RM cell, which replaces one that waits. It is sent now if nothing waits in the queue
    /// of the source at `hop`.
    pub(super) fn take(&mut self, cx: &mut StageCx, hop: u32, turned: Turned) {
        self.waiting = Some(turned);
        if cx.shaped_at(hop).packets == 0 {
            self.send(cx, hop);
        }
    }

    /// Called when a cell of the source has left its queue at `hop`.
    pub(super) fn released(&mut self, cx: &mut StageCx, hop: u32, is_frm: bool) {
        self.sent &= !is_frm;
        //= kalyanaraman1998 2.4
        if !self.sent || cx.shaped_at(hop).packets == 0 {
            self.send(cx, hop);
        }
    }

    /// Sends the RM cell that waits, in the time of one of the source's cells.
    fn send(&mut self, cx: &mut StageCx, hop: u32) {
        let Some(turned) = self.waiting.take() else { return };
        cx.charge_pace(hop, turned.len);
        turned.send(cx);
        self.sent = true;
    }
}
