//! Push-out from the tree, and its blocked backlog: packets of held or absent flows, all packets
//! beneath a held or absent class, and those behind the first packet under a ceiling.

use super::eviction_index::{EvictionIndex, SubtreeBacklog};
use super::node::spares;
use super::{Member, MemberRef, Node, Nodes, ROOT, Tree};
use crate::context::Ctx;
use crate::packet::{FlowIx, Packet};
use crate::params::Limit;
use crate::scheduler::Removal;
use crate::stats::Count;
use alloc::boxed::Box;

impl Tree {
    /// Takes the first packet to lose, of all packets or of the blocked ones.
    pub(in crate::switch) fn push_out(
        &mut self,
        cx: &mut Ctx<'_>,
        mut blocked: bool,
    ) -> Option<(MemberRef, Packet)> {
        self.index();
        let mut at = ROOT;
        loop {
            let Node { eviction, members, queues, .. } = &self.nodes[at];
            let slot = eviction.as_ref()?.first(blocked)?;
            match members[slot.ix()] {
                Member::Node(class) => {
                    at = usize::from(class);
                    // Under a ceiling, and in a class that may not send, all packets count as
                    // blocked.
                    blocked &= queues.takes_part(slot) && self.nodes[at].ceiling.is_none();
                }
                Member::Flow(flow) => {
                    let member = MemberRef { node: at, slot, flow };
                    return self.remove(cx, member, Removal::PushedOut).map(|packet| (member, packet));
                }
            }
        }
    }

    /// Sets the unit of the pool: bytes if true, packets if false.
    pub(in crate::switch) fn measure_in_bytes(&mut self, in_bytes: bool) {
        if core::mem::replace(&mut self.in_bytes, in_bytes) != in_bytes {
            self.forget_index();
        }
    }

    /// Returns the blocked backlog.
    pub(in crate::switch) fn blocked(&mut self) -> Count {
        self.index();
        self.nodes[ROOT].eviction.as_ref().map(|eviction| eviction.blocked()).unwrap_or_default()
    }

    /// Sets whether a member of a node has a ceiling.
    pub(in crate::switch) fn set_capped(&mut self, at: usize, slot: FlowIx, capped: bool) {
        self.nodes[at].split_line();
        self.nodes[at].queues.set_capped(slot, capped);
        self.nodes[at].renew_tail(slot);
        self.renew_above(at);
    }

    /// Sets the backlog of a node's member that push-out spares.
    pub(in crate::switch) fn set_spared(&mut self, at: usize, slot: FlowIx, spared: Option<Limit>) {
        if self.nodes[at].spared.get(slot) != spared {
            self.nodes[at].spared.set(slot, spared);
            self.nodes[at].renew_tail(slot);
            self.renew_above(at);
        }
    }

    /// Returns the blocked backlog as kept, and as found in the queues; `None` while it is not
    /// kept. For audits.
    pub(in crate::switch) fn blocked_kept_and_found(&self) -> Option<(Count, Count)> {
        let kept = self.nodes[ROOT].eviction.as_ref()?.blocked();
        Some((kept, self.nodes.found_blocked(ROOT)))
    }

    /// Counts a packet of `len` bytes that is queued at a class.
    pub(super) fn entered(&mut self, class: usize, len: u32) {
        let mut at = class;
        while let Some((parent, _)) = self.nodes[at].parent {
            self.nodes[at].subtree.add(len);
            at = parent;
        }
        self.renew_above(class);
    }

    /// Counts a packet of `len` bytes that has left a class.
    pub(super) fn left(&mut self, class: usize, len: u32) {
        let mut at = class;
        while let Some((parent, _)) = self.nodes[at].parent {
            self.nodes[at].subtree.take(len);
            at = parent;
        }
        self.renew_above(class);
    }

    /// Builds the index of every node with packets, if there is none.
    fn index(&mut self) {
        if self.nodes[ROOT].eviction.is_some() {
            return;
        }
        self.forget_index();
        self.indexed = true;
        // Classes come after their parents.
        for at in (0..self.nodes.len()).rev() {
            if at == ROOT || !self.nodes[at].queues.is_empty() {
                self.index_node(at);
            }
        }
    }

    /// Builds the index of a node's members with packets.
    fn index_node(&mut self, at: usize) {
        self.nodes[at].split_line();
        let Node { queues, scheduler, members, spared, .. } = &self.nodes[at];
        let mut eviction = EvictionIndex::new(queues.flows(), self.in_bytes);
        for (slot, member) in members.iter().enumerate() {
            let slot = FlowIx(slot as u32);
            if queues.len(slot) == 0 {
                continue;
            }
            match member {
                Member::Flow(_) => {
                    eviction.renew_flow(queues, scheduler, slot, spares(queues, spared, slot));
                }
                Member::Node(class) => {
                    let backlog = self.nodes.subtree_backlog(usize::from(*class));
                    eviction.renew_class(queues, scheduler, slot, backlog);
                }
            }
        }
        self.nodes[at].eviction = Some(Box::new(eviction));
    }

    fn forget_index(&mut self) {
        if core::mem::take(&mut self.indexed) {
            (0..self.nodes.len()).for_each(|at| self.nodes[at].eviction = None);
        }
    }

    /// Updates the blocked backlog of the class `at` in its ancestors, if it is kept.
    pub(super) fn renew_above(&mut self, mut at: usize) {
        if !self.indexed {
            return;
        }
        if self.nodes[ROOT].eviction.is_none() {
            return self.forget_index();
        }
        while let Some((parent, slot)) = self.nodes[at].parent {
            if self.nodes[at].eviction.is_none() {
                self.index_node(at);
            }
            let subtree = self.nodes.subtree_backlog(at);
            let Node { eviction, queues, scheduler, .. } = &mut self.nodes[parent];
            if let Some(eviction) = eviction {
                eviction.renew_class(queues, scheduler, slot, subtree);
            }
            at = parent;
        }
    }
}

impl Nodes {
    /// Returns the state of a class for its parent's index.
    fn subtree_backlog(&self, class: usize) -> SubtreeBacklog {
        let Node { parent, subtree: queued, eviction, .. } = &self[class];
        let limit = parent.and_then(|(parent, slot)| self[parent].spared.get(slot));
        let spared = limit.is_some_and(|limit| limit.admits(queued.packets, queued.bytes))
            || eviction.as_ref().is_some_and(|eviction| eviction.is_spared());
        SubtreeBacklog { blocked: self.blocked_in(class), queued: *queued, spared }
    }

    /// Returns the blocked backlog of a class.
    fn blocked_in(&self, class: usize) -> Count {
        let node = &self[class];
        let within = node.eviction.as_ref().map(|eviction| eviction.blocked()).unwrap_or_default();
        self.blocked_with(class, within)
    }

    /// Like [`blocked_in`](Self::blocked_in), given the backlog that is blocked at its own members.
    fn blocked_with(&self, class: usize, within: Count) -> Count {
        let Node { parent, subtree, ceiling, .. } = &self[class];
        let Some((parent, slot)) = *parent else { return within };
        let queues = &self[parent].queues;
        if !queues.takes_part(slot) {
            return *subtree;
        }
        match queues.first(slot) {
            Some(first) if ceiling.is_some() && within.packets + 1 < subtree.packets => Count {
                packets: subtree.packets - 1,
                bytes: subtree.bytes.saturating_sub(u64::from(first.packet.len)),
            },
            _ => within,
        }
    }

    /// Computes the blocked backlog beneath a node, member by member.
    fn found_blocked(&self, at: usize) -> Count {
        let mut found = Count::default();
        for (slot, member) in self[at].members.iter().enumerate() {
            found.merge(match member {
                Member::Flow(_) => self[at].queues.blocked(FlowIx(slot as u32)),
                Member::Node(class) => {
                    let class = usize::from(*class);
                    self.blocked_with(class, self.found_blocked(class))
                }
            });
        }
        found
    }
}
