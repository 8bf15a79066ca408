//! Tokens, which represent a backlogged node to its parent.

use super::{Node, Tree};
use crate::context::Ctx;
use crate::packet::{BodyId, FlowIx, Packet};
use crate::queues::Participation;
use crate::scheduler::{Removal, Scheduler, Select};
use crate::units::Time;

impl Node {
    /// Returns the token for the node's next packet, and that packet's order of arrival.
    fn token(&mut self, now: Time) -> Option<(Packet, u64)> {
        if self.queues.is_empty() {
            return None;
        }
        let head = match self.select_without_ceiling(now) {
            Select::Flow(slot) => self.queues.first(slot)?,
            // Nothing may be sent yet: the earliest arrival stands in, and the difference is
            // charged later.
            _ => self.oldest()?,
        };
        let (head, order) = (head.packet, head.order);
        let len = charge_for(head.len, self.uncharged);
        self.uncharged -= i64::from(len);
        self.announced = head.len;
        // The stamp is as of the packet's arrival: a class loses nothing by waiting.
        Some((Packet { arrived: head.arrived, ..Packet::new(BodyId::TOKEN, len) }, order))
    }

    fn push_token(&mut self, cx: &mut Ctx<'_>, slot: FlowIx, token: Packet, order: u64) {
        self.queues.announce_late(order);
        self.push(cx, &mut Packet { flow: slot, ..token });
        self.renew_first(slot);
    }
}

/// Length of a token for a packet of `len` bytes, with what is not charged yet.
fn charge_for(len: u32, uncharged: i64) -> u32 {
    (i64::from(len) + uncharged).clamp(1, i64::from(u32::MAX)) as u32
}

impl Tree {
    /// Resizes the token of the node `at`, whose next packet is the first of its member `slot`.
    /// Returns true if the token has another stamp now: the nodes above may send another packet.
    #[inline]
    pub(super) fn resize_token(&mut self, now: Time, at: usize, slot: FlowIx) -> bool {
        let node = &self.nodes[at];
        let next = node.queues.first(slot).map_or(node.announced, |first| first.packet.len);
        next != node.announced && self.announce_instead(now, at, next)
    }

    /// Announces a packet of `next` bytes in place of the one that the token announced.
    #[inline(never)]
    fn announce_instead(&mut self, now: Time, at: usize, next: u32) -> bool {
        let node = &mut self.nodes[at];
        node.announced = next;
        let (uncharged, Some((parent, slot))) = (node.uncharged, node.parent) else { return false };
        let above = &mut self.nodes[parent];
        let Some(before) = above.queues.first(slot).map(|token| token.packet.len) else { return false };
        let uncharged = uncharged + i64::from(before);
        let len = charge_for(next, uncharged);
        if len == before || !above.scheduler.resize(now, slot, len, &above.queues) {
            return false;
        }
        above.queues.resize_first(slot, len);
        self.nodes[at].uncharged = uncharged - i64::from(len);
        self.renew_above(at);
        true
    }

    /// Renews the tokens above the node `at` after it has sent a packet, and charges the ceilings.
    #[inline(never)]
    pub(super) fn charge(&mut self, cx: &mut Ctx<'_>, mut at: usize, packet: &Packet) {
        let &Packet { len, arrived, .. } = packet;
        while let Some((parent, slot)) = self.nodes[at].parent {
            self.nodes[at].uncharged += i64::from(len);
            // The next token joins before the spent one leaves: the member stays backlogged.
            match self.nodes[at].token(cx.now) {
                Some((token, order)) => self.nodes[parent].push_token(cx, slot, token, order),
                // The excess charge was for packets that were not sent.
                None => self.nodes[at].uncharged = 0,
            }
            let above = &mut self.nodes[parent];
            above.pop_first(cx, slot);
            if let Some(ceiling) = &mut above.ceiling {
                ceiling.take(cx.now, arrived, len);
            }
            self.set_participation_of(cx.now, at);
            at = parent;
        }
    }

    /// Updates the tokens and the participation of a node and its ancestors after its queues have
    /// changed. `why` is set if they lost a packet.
    #[inline(never)]
    pub(super) fn update_tokens(&mut self, cx: &mut Ctx<'_>, mut at: usize, why: Option<Removal>) {
        while let Some((parent, slot)) = self.nodes[at].parent {
            if self.nodes[parent].queues.len(slot) == 0 && !self.nodes[at].queues.is_empty() {
                // A held class joins as a held flow does.
                self.set_participation_of(cx.now, at);
                if let Some((token, order)) = self.nodes[at].token(cx.now) {
                    self.nodes[parent].push_token(cx, slot, token, order);
                }
            }
            if let Some(why) = why
                && self.nodes[at].queues.is_empty()
                && self.nodes[parent].remove(cx, slot, why).is_some()
            {
                self.nodes[at].uncharged = 0;
            }
            self.set_participation_of(cx.now, at);
            at = parent;
        }
    }

    /// Updates the participation of a node and its ancestors after time has passed or a member's
    /// participation has changed.
    pub(in crate::switch) fn update_participation(&mut self, now: Time, mut at: usize) {
        while let Some((parent, _)) = self.nodes[at].parent {
            self.set_participation_of(now, at);
            at = parent;
        }
    }

    fn set_participation_of(&mut self, now: Time, at: usize) {
        let node = &mut self.nodes[at];
        let Some((parent, slot)) = node.parent else { return };
        let how = match node.select(now) {
            _ if node.queues.is_empty() => Participation::Active,
            Select::Flow(_) => Participation::Active,
            Select::NotBefore(_) => Participation::Held,
            // Its members do not take part; neither does the node, and it gains no credit from
            // that.
            Select::Idle if !node.queues.any_held() => Participation::Absent,
            Select::Idle => Participation::Held,
        };
        self.take_part(now, parent, slot, how);
    }
}
