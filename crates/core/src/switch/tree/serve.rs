//! Enqueueing, service and push-out in the tree.

use super::{Member, Node, ROOT, Tree};
use crate::context::Ctx;
use crate::packet::{FlowIx, Packet};
use crate::queues::Participation;
use crate::scheduler::{Removal, Select};
use crate::units::Time;

/// Location of a queued packet: the node, and its flow's index there and at the port.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct MemberRef {
    pub(in crate::switch) node: usize,
    pub(in crate::switch) slot: FlowIx,
    pub(in crate::switch) flow: FlowIx,
}

/// The tree's next packet.
pub(in crate::switch) enum Next {
    /// The first packet there.
    At(MemberRef),
    /// A packet of this node, which should have been released before now.
    Late(usize),
    /// Nothing before this time; [`Time::NEVER`] when there is nothing to wait for.
    NotBefore(Time),
}

impl Tree {
    /// Pushes a packet of the member `packet.flow` of the node `at`.
    #[inline(always)]
    pub(in crate::switch) fn push(&mut self, cx: &mut Ctx<'_>, at: usize, packet: &mut Packet, order: u64) {
        let node = &mut self.nodes[at];
        node.queues.announce(order);
        node.push(cx, packet);
        if at != ROOT {
            if node.queues.len(packet.flow) == 1 {
                node.renew_first(packet.flow);
            }
            self.update_tokens(cx, at, None);
            self.entered(at, packet.len);
        }
    }

    /// Passes a packet of the member `packet.flow` through an empty plain tree without queueing it.
    /// Returns false, with nothing changed, if it has to be [pushed](Self::push).
    #[inline(always)]
    pub(in crate::switch) fn pass(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, order: u64) -> bool {
        self.nodes.root.pass(cx, packet, order)
    }

    /// Returns the time to ask for a packet again: [`Time::NEVER`] without one to wait for, `None`
    /// if one can be sent now.
    pub(in crate::switch) fn not_before(&mut self, now: Time) -> Option<Time> {
        match self.next(now) {
            Next::NotBefore(time) => Some(time),
            Next::At(_) | Next::Late(_) => None,
        }
    }

    /// Returns true without classes and without a ceiling: the root's members are then the port's
    /// flows, in their order.
    #[inline]
    pub(in crate::switch) fn is_plain(&self) -> bool {
        self.nodes.classes.is_empty() && self.nodes.root.ceiling.is_none()
    }

    /// Moves the next packet of a plain tree to `packet`; returns false if there is none. `ahead`
    /// receives the port's flows that have just come near together, if any.
    #[inline(always)]
    pub(in crate::switch) fn take_plain(
        &mut self,
        cx: &mut Ctx<'_>,
        packet: &mut Packet,
        ahead: impl FnOnce(&[FlowIx]),
    ) -> bool {
        self.nodes.root.serve(cx, packet, ahead)
    }

    /// Selects the next packet to send now.
    pub(in crate::switch) fn next(&mut self, now: Time) -> Next {
        let mut at = ROOT;
        loop {
            let node = &mut self.nodes[at];
            match node.select(now) {
                Select::Flow(slot) if at != ROOT && self.resize_token(now, at, slot) => at = ROOT,
                Select::Flow(slot) => match self.nodes[at].members[slot.ix()] {
                    Member::Flow(flow) => return Next::At(MemberRef { node: at, slot, flow }),
                    Member::Node(child) => at = usize::from(child),
                },
                Select::NotBefore(time) if at == ROOT => return Next::NotBefore(time),
                Select::Idle if at == ROOT => return Next::NotBefore(Time::NEVER),
                Select::NotBefore(_) | Select::Idle => return Next::Late(at),
            }
        }
    }

    /// Returns the first packet of a member, with its flow's index at the port.
    pub(in crate::switch) fn first(&self, member: MemberRef) -> Option<Packet> {
        let first = self.nodes[member.node].queues.first(member.slot)?;
        Some(Packet { flow: member.flow, ..first.packet })
    }

    /// Takes the first packet of a member for service, with its flow's index at the port; charges
    /// every level.
    pub(in crate::switch) fn take(&mut self, cx: &mut Ctx<'_>, member: MemberRef) -> Option<Packet> {
        let node = &mut self.nodes[member.node];
        let mut packet = node.pop_first(cx, member.slot)?;
        packet.flow = member.flow;
        if let Some(ceiling) = &mut node.ceiling {
            ceiling.take(cx.now, packet.arrived, packet.len);
        }
        self.charge(cx, member.node, &packet);
        if member.node != ROOT {
            self.left(member.node, packet.len);
        }
        Some(packet)
    }

    /// Takes a packet that will not be sent, with its flow's index at the port; charges nothing.
    #[inline(always)]
    pub(in crate::switch) fn remove(
        &mut self,
        cx: &mut Ctx<'_>,
        member: MemberRef,
        why: Removal,
    ) -> Option<Packet> {
        let packet = self.nodes[member.node].remove(cx, member.slot, why)?;
        if member.node != ROOT {
            self.update_tokens(cx, member.node, Some(why));
            self.left(member.node, packet.len);
        }
        Some(Packet { flow: member.flow, ..packet })
    }

    /// Returns when a node that holds packets back may send: the time of its ceiling or of its
    /// scheduler.
    pub(in crate::switch) fn held_until(&mut self, now: Time, at: usize) -> Option<Time> {
        let (parent, slot) = self.nodes[at].parent?;
        let active = self.nodes[parent].queues.participation(slot) == Participation::Active;
        let node: &mut Node = &mut self.nodes[at];
        if active || node.queues.is_empty() {
            return None;
        }
        match node.select(now) {
            Select::NotBefore(time) => Some(time),
            _ => None,
        }
    }
}
