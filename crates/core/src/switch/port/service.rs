//! A packet's way out of the port: selection, droppers, charging, transmission.

use super::Port;
use crate::context::{Ctx, Reason};
use crate::dropper::Left;
use crate::packet::Packet;
use crate::scheduler::Removal;
use crate::switch::plan::Sharing;
use crate::switch::pool::Pool;
use crate::switch::tree::{MemberRef, Next, ROOT};

impl Port {
    /// Starts the service of the next packet on a free link: its first bit leaves. Returns false
    /// without a packet, or when the link is not free.
    #[inline(always)]
    pub(in crate::switch) fn start(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        !self.busy && self.start_idle(cx, pool)
    }

    /// Like [`start`](Self::start), at a port that is idle.
    #[inline(always)]
    pub(in crate::switch) fn start_idle(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        let taken = match self.is_plain_out {
            // No flow has a ceiling, so none is held.
            true => self.backlog.packets > 0 && self.take_plain(cx),
            false => self.take(cx, pool),
        };
        if !taken {
            // An empty port needs no wake-up.
            if !self.is_empty() {
                self.ask(cx);
            }
            return false;
        }
        self.stats.service_begins(cx.now);
        self.busy = true;
        true
    }

    /// Moves the next packet to `serving`, without classes and ceilings. Returns false if there is
    /// none.
    #[inline(always)]
    fn take_plain(&mut self, cx: &mut Ctx<'_>) -> bool {
        self.tree.take_plain(cx, &mut self.serving, |near| self.table.read_ahead(near))
    }

    /// Moves the next packet to `serving`, under ceilings. Returns false if there is none.
    #[inline(never)]
    fn take(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        // While the link is busy no wake-up for a ceiling is requested.
        if !self.held.is_empty() {
            self.release_due(cx.now);
        }
        let node = match self.has_plain_tree() {
            true => self.take_plain(cx).then_some(ROOT),
            false => self.take_selected(cx, pool),
        };
        let Some(node) = node else { return false };
        if self.table.has_ceilings() {
            self.charge_ceiling(cx.now, self.serving);
        }
        self.schedule_release(cx.now, node);
        true
    }

    /// Moves the next packet to `serving`, with classes, a ceiling or droppers; returns the node at
    /// which it was queued.
    fn take_selected(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> Option<usize> {
        loop {
            match self.tree.next(cx.now) {
                Next::At(member) => {
                    let verdict =
                        if self.droppers.is_empty() { Ok(None) } else { self.head(cx, pool, member) };
                    match verdict {
                        Ok(marked) => {
                            self.serving = self.tree.take(cx, member)?;
                            if let Some(reason) = marked {
                                let mut packet = self.serving;
                                self.mark(cx, &mut packet, reason);
                                self.serving = packet;
                            }
                            return Some(member.node);
                        }
                        Err(reason) => self.drop_at_head(cx, pool, member, reason),
                    }
                }
                Next::Late(node) => {
                    self.update_eligibility(cx.now, node);
                }
                Next::NotBefore(_) => return None,
            }
        }
    }

    /// Asks the droppers whether the first packet of a member may leave; returns the reason for
    /// marking it, if any.
    fn head(&mut self, cx: &mut Ctx<'_>, pool: &Pool, member: MemberRef) -> Result<Option<Reason>, Reason> {
        let Some(packet) = self.tree.first(member) else { return Ok(None) };
        let mut at = self.occupancy(pool, &packet);
        at.flow.take(packet.len);
        at.port.take(packet.len);
        if pool.sharing == Sharing::Partitioned {
            at.pool.take(packet.len);
        }
        self.droppers.head(cx, member.node, &packet, &mut at)
    }

    /// Drops the first packet of a member, which was selected for service.
    fn drop_at_head(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, member: MemberRef, reason: Reason) {
        let Some(packet) = self.tree.remove(cx, member, Removal::DroppedAtHead) else { return };
        self.leave_unsent(cx, pool, member.node, &packet, reason, Left::DroppedAtHead);
    }

    /// Handles the loss of a packet that was queued at a node.
    pub(super) fn leave_unsent(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        node: usize,
        packet: &Packet,
        reason: Reason,
        how: Left,
    ) {
        // The remaining packets may have to wait.
        self.schedule_release(cx.now, node);
        match how {
            Left::DroppedAtHead => self.stats.reached(self.backlog.packets),
            _ => self.stats.pushed_out(cx.now, self.backlog.packets),
        }
        self.stats.left(cx.now);
        self.backlog.take(packet.len);
        if !self.droppers.is_empty() {
            let mut at = self.occupancy(pool, packet);
            self.droppers.left(cx, node, packet, &mut at, how);
        }
        self.drop(cx, pool, packet, reason);
        self.retire_if_drained(cx.now, packet.flow);
    }

    /// Ends the service of the packet that is in service: its last bit is out.
    #[inline(always)]
    pub(in crate::switch) fn end_service(&mut self, cx: &mut Ctx<'_>, pool: &Pool) {
        let Packet { flow, len, .. } = self.serving;
        self.busy = false;
        self.stats.service_ends(cx.now);
        self.stats.reached(self.backlog.packets);
        self.backlog.take(len);
        self.sent.add(len);
        if !self.is_plain_in && !self.droppers.is_empty() {
            self.report_sent(cx, pool);
        }
        if self.is_closing {
            self.retire_if_drained(cx.now, flow);
        }
    }

    /// Reports to the droppers that the packet in service was sent.
    #[inline(never)]
    fn report_sent(&mut self, cx: &mut Ctx<'_>, pool: &Pool) {
        let packet = self.serving;
        let mut at = self.occupancy(pool, &packet);
        let node = usize::from(self.table.flows[packet.flow.ix()].node);
        self.droppers.left(cx, node, &packet, &mut at, Left::Sent);
    }
}
