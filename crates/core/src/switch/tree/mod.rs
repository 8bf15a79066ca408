//! The tree of schedulers behind a port.
//!
//! A node orders its members: flows, or other nodes. Towards its parent a backlogged node looks
//! like a flow with one packet: a *token* with the length, the time and the order of arrival of its
//! next packet. The parent stamps tokens as it stamps packets, so every scheduler can stand at
//! every level. When a node has another next packet than the one that its token announced (a more
//! urgent packet came), the token gets the length of that packet, and a stamp to match, before the
//! parent's scheduler decides. Under a scheduler that cannot change a stamp, the difference goes
//! into the next token: in the long run a parent charges exactly what was sent.

mod eviction_index;
mod node;
mod push_out;
mod serve;
mod tokens;

pub(super) use node::{Member, Node};
pub(super) use serve::{MemberRef, Next};

use super::plan::{ClassPlan, PortPlan};
use crate::contract::{Contract, Refused};
use crate::packet::FlowIx;
use crate::queues::Participation;
use crate::scheduler::Scheduler;
use crate::shaper::Ceiling;
use crate::units::{Rate, Span, Time};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

#[repr(C)]
pub(super) struct Tree {
    pub(super) nodes: Nodes,
    /// True if some node has a push-out index.
    indexed: bool,
    /// True if push-out measures queues in bytes.
    in_bytes: bool,
}

/// Nodes by index. The root, which every packet passes, is found without a lookup.
#[repr(C)]
pub(super) struct Nodes {
    root: Node,
    classes: Vec<Node>,
}

impl Nodes {
    pub(super) fn len(&self) -> usize {
        self.classes.len() + 1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        core::iter::once(&self.root).chain(&self.classes)
    }
}

impl Index<usize> for Nodes {
    type Output = Node;

    #[inline]
    fn index(&self, at: usize) -> &Node {
        if at == ROOT { &self.root } else { &self.classes[at - 1] }
    }
}

impl IndexMut<usize> for Nodes {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Node {
        if at == ROOT { &mut self.root } else { &mut self.classes[at - 1] }
    }
}

/// The node without a parent.
pub(super) const ROOT: usize = 0;

/// Rate of a server that is limited by its ceiling and by the rate above it.
fn least(above: Option<Rate>, ceiling: Option<Rate>) -> Option<Rate> {
    [above, ceiling].into_iter().flatten().min()
}

impl Tree {
    pub(super) fn new(now: Time, plan: &PortPlan) -> Result<Tree, Refused> {
        let root = Node::new(now, &plan.scheduler, plan.ceiling, least(plan.rate, plan.ceiling))?;
        let mut tree = Tree {
            nodes: Nodes { root, classes: Vec::with_capacity(plan.classes.len()) },
            indexed: false,
            in_bytes: false,
        };
        plan.classes.iter().try_for_each(|class| tree.add_class(now, class))?;
        Ok(tree)
    }

    /// Adds a class behind all others.
    pub(super) fn add_class(&mut self, now: Time, class: &ClassPlan) -> Result<(), Refused> {
        let parent = node_of(class.parent);
        let rate = least(self.nodes[parent].rate, class.ceiling);
        let mut child = Node::of_class(now, class, rate)?;
        let slot = self.add(now, parent, Member::Node(self.nodes.len() as u16), &class.contract)?;
        child.parent = Some((parent, slot));
        self.nodes[parent].spared.set(slot, class.spared);
        self.nodes.classes.push(child);
        Ok(())
    }

    /// Returns when a class becomes indistinguishable from a new one; `None` while it has backlog.
    pub(super) fn class_forgettable_at(&self, now: Time, class: u16) -> Option<Time> {
        let node = self.nodes.classes.get(usize::from(class))?;
        let (parent, slot) = node.parent.filter(|_| node.queues.is_empty())?;
        let above = &self.nodes[parent];
        let at = above.scheduler.forgettable_at(now, slot, &above.queues);
        Some(node.ceiling.as_ref().map_or(at, |ceiling| at.max(ceiling.clear_at())))
    }

    /// Returns the lead of a class's clock at the scheduler above it.
    pub(super) fn class_lead(&self, now: Time, class: u16) -> Option<Span> {
        let (parent, slot) = self.nodes.classes.get(usize::from(class))?.parent?;
        Some(self.nodes[parent].scheduler.lead(now, slot))
    }

    /// Notifies the schedulers whose server's rate has changed; parents come before their children.
    pub(super) fn set_rates(&mut self, now: Time, link: Option<Rate>) {
        for at in 0..self.nodes.len() {
            let above = self.nodes[at].parent.map_or(link, |(parent, _)| self.nodes[parent].rate);
            let node = &mut self.nodes[at];
            let rate = least(above, node.ceiling.as_ref().map(|ceiling| ceiling.rate()));
            node.set_rate(now, rate);
        }
    }

    /// Adds a member to a node.
    pub(super) fn add(
        &mut self,
        now: Time,
        node: usize,
        member: Member,
        contract: &Contract,
    ) -> Result<FlowIx, Refused> {
        let node = &mut self.nodes[node];
        let slot = FlowIx(node.members.len() as u32);
        node.grow_to(slot.0 + 1);
        node.scheduler.set_flow(now, slot, contract, &node.queues)?;
        node.members.push(member);
        Ok(slot)
    }

    /// Changes the contract, the spared backlog and the ceiling of a class.
    pub(super) fn change_class(&mut self, now: Time, class: usize, plan: &ClassPlan) -> Result<(), Refused> {
        if let Some((parent, slot)) = self.nodes[class + 1].parent {
            let above = &mut self.nodes[parent];
            above.scheduler.set_flow(now, slot, &plan.contract, &above.queues)?;
            above.renew_tail(slot);
            above.spared.set(slot, plan.spared);
            let rate = least(above.rate, plan.ceiling);
            self.nodes[class + 1].set_rate(now, rate);
        }
        self.set_ceiling(class + 1, plan.ceiling, plan.ceiling_burst);
        Ok(())
    }

    /// Releases the share of a class.
    pub(super) fn release_class(&mut self, class: usize) {
        if let Some((parent, slot)) = self.nodes[class + 1].parent {
            self.nodes[parent].scheduler.release(slot);
        }
    }

    pub(super) fn set_ceiling(&mut self, node: usize, rate: Option<Rate>, burst: Option<u32>) {
        let ceiling = &mut self.nodes[node].ceiling;
        match (ceiling.as_mut(), rate) {
            (Some(ceiling), Some(rate)) => ceiling.change(rate, burst),
            _ => *ceiling = rate.map(|rate| Box::new(Ceiling::new(rate).with_burst(burst))),
        }
        self.renew_above(node);
    }

    /// Sets the participation of a node's member.
    pub(super) fn take_part(&mut self, now: Time, at: usize, slot: FlowIx, how: Participation) {
        let node = &mut self.nodes[at];
        if how != node.queues.participation(slot) {
            node.split_line();
        }
        let before = node.queues.set_participation(slot, how);
        if how != before {
            node.scheduler.take_part(now, slot, before, &node.queues);
            node.renew_tail(slot);
            match node.members[slot.ix()] {
                Member::Flow(_) => self.renew_above(at),
                Member::Node(class) => self.renew_above(usize::from(class)),
            }
        }
    }

    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        self.nodes[at].parent.map(|(parent, _)| parent)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.nodes.iter().map(Node::memory).sum()
    }
}

/// Index of the node of a class; the root for `None`.
pub(super) fn node_of(class: Option<u16>) -> usize {
    class.map_or(0, |class| usize::from(class) + 1)
}
