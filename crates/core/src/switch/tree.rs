//! The tree of schedulers behind a port.
//!
//! A node orders its members: flows, or other nodes. Towards its parent a backlogged node
//! looks like a flow with one packet: a *token* with the length of what it would send
//! first, its time and order of arrival. The parent stamps tokens as it stamps packets, so
//! every scheduler can stand at every level. When a node sends something else than its token
//! announced (a more urgent packet came), the difference goes into its next token: in the
//! long run a parent charges exactly what was sent.

use super::plan::{ClassPlan, PortPlan};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::flow_heap::FlowHeap;
use crate::packet::{BodyId, FlowIx, Packet};
use crate::queues::{Queued, Queues};
use crate::scheduler::{AnyScheduler, Gate, Scheduler, SchedulerKind, Select, Served};
use crate::shaper::Ceiling;
use crate::units::Time;
use core::ops::{Index, IndexMut};

/// What stands behind a node's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    /// A flow of the port.
    Flow(FlowIx),
    /// Another node.
    Node(usize),
}

pub(super) struct Node {
    pub(super) scheduler: AnyScheduler,
    pub(super) queues: Queues,
    pub(super) members: Vec<Member>,
    pub(super) ceiling: Option<Ceiling>,
    /// The parent node, and this node's index there; `None` for the root.
    parent: Option<(usize, FlowIx)>,
    /// Whether the parent may select this node.
    gate: Gate,
    /// How many members are held: as long as there is one, a node that may not send is held too.
    held_members: u32,
    /// When the port will let it go, if it is held; [`Time::NEVER`] for not at all.
    pub(super) watched: Time,
    /// Bytes sent less bytes charged by the parent so far.
    uncharged: i64,
    /// Members with packets, by the order of arrival of the first. Kept only once it was asked for: few nodes
    /// ever have nothing but packets that may not be sent yet.
    oldest: Option<FlowHeap>,
}

pub(super) struct Tree {
    pub(super) nodes: Nodes,
}

/// The nodes by index. The root, which every packet passes, is found without looking.
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

/// The body of a token: no packet has it.
const TOKEN: BodyId = BodyId(u32::MAX);

impl Node {
    /// What the node would send now, under its ceiling.
    #[inline]
    fn select(&self, now: Time) -> Select {
        match &self.ceiling {
            // Without packets there is nothing to wait for.
            Some(ceiling) if ceiling.clear_at() > now && self.queues.is_empty() => Select::Idle,
            Some(ceiling) if ceiling.clear_at() > now => Select::NotBefore(ceiling.clear_at()),
            _ => self.scheduler.select(now, &self.queues),
        }
    }

    /// The first packet that a member sends may be another one.
    #[inline]
    fn renew(&mut self, slot: FlowIx) {
        if let Some(oldest) = &mut self.oldest {
            match self.queues.first(slot) {
                Some(first) => oldest.set(slot, (first.order, 0)),
                None => oldest.remove(slot),
            }
        }
    }

    /// Of all packets that members send first, the one that arrived first.
    fn oldest(&mut self) -> Option<&Queued> {
        let queues = &self.queues;
        let oldest = self.oldest.get_or_insert_with(|| {
            let mut oldest = FlowHeap::default();
            oldest.reach(queues.flows());
            for slot in (0..queues.flows()).map(FlowIx) {
                if let Some(first) = queues.first(slot) {
                    oldest.set(slot, (first.order, 0));
                }
            }
            oldest
        });
        queues.first(oldest.top()?.1)
    }
}

impl Tree {
    pub(super) fn new(now: Time, plan: &PortPlan) -> Result<Tree, Refused> {
        let node = |scheduler: &SchedulerKind, ceiling: Option<crate::units::Rate>| {
            Ok(Node {
                scheduler: scheduler.build()?,
                queues: Queues::default(),
                members: Vec::new(),
                ceiling: ceiling.map(Ceiling::new),
                parent: None,
                gate: Gate::Open,
                held_members: 0,
                watched: Time::NEVER,
                uncharged: 0,
                oldest: None,
            })
        };
        let root = node(&plan.scheduler, plan.ceiling)?;
        let mut tree = Tree { nodes: Nodes { root, classes: Vec::with_capacity(plan.classes.len()) } };
        for (ix, class) in plan.classes.iter().enumerate() {
            let mut child = node(&class.scheduler, class.ceiling)?;
            let parent = node_of(class.parent);
            let slot = tree.add(now, parent, Member::Node(ix + 1), &class.contract)?;
            child.parent = Some((parent, slot));
            tree.nodes.classes.push(child);
        }
        Ok(tree)
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
        node.queues.reach(slot.0 + 1);
        if let Some(oldest) = &mut node.oldest {
            oldest.reach(slot.0 + 1);
        }
        node.scheduler.set_flow(now, slot, contract, &node.queues)?;
        node.members.push(member);
        Ok(slot)
    }

    /// Changes what a class is promised and how fast it may send.
    pub(super) fn change_class(&mut self, now: Time, class: usize, plan: &ClassPlan) -> Result<(), Refused> {
        if let Some((parent, slot)) = self.nodes[class + 1].parent {
            let above = &mut self.nodes[parent];
            above.scheduler.set_flow(now, slot, &plan.contract, &above.queues)?;
        }
        self.set_ceiling(class + 1, plan.ceiling);
        self.settle(now, class + 1);
        Ok(())
    }

    pub(super) fn set_ceiling(&mut self, node: usize, rate: Option<crate::units::Rate>) {
        let ceiling = &mut self.nodes[node].ceiling;
        match (ceiling.as_mut(), rate) {
            (Some(ceiling), Some(rate)) => ceiling.change(rate),
            _ => *ceiling = rate.map(Ceiling::new),
        }
    }

    /// Pushes a packet of the member `packet.flow` of `node`.
    #[inline(always)]
    pub(super) fn push(&mut self, cx: &mut Ctx<'_>, at: usize, packet: &mut Packet, order: u64) {
        let node = &mut self.nodes[at];
        node.queues.announce(order);
        node.scheduler.enqueue(cx, packet, &node.queues);
        node.queues.push(packet);
        if at != ROOT {
            if node.queues.len(packet.flow) == 1 {
                node.renew(packet.flow);
            }
            self.settle_with(cx, at);
        }
    }

    /// When to ask for a packet again; [`Time::NEVER`] when there is none to wait for, `None`
    /// when there is one to be sent now.
    pub(super) fn not_before(&self, now: Time) -> Option<Time> {
        let mut at = ROOT;
        loop {
            let node = &self.nodes[at];
            match node.select(now) {
                Select::Flow(slot) => match node.members[slot.ix()] {
                    Member::Flow(_) => return None,
                    Member::Node(child) => at = child,
                },
                Select::NotBefore(time) => return Some(time),
                Select::Idle => return Some(Time::NEVER),
            }
        }
    }

    /// Takes the packet to be sent now and writes it to `packet`, with its flow's index at the
    /// port; charges every level. Returns the node that it was queued at; `None` when nothing
    /// may be sent now.
    #[inline(always)]
    pub(super) fn take(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet) -> Option<usize> {
        let Nodes { root, classes } = &mut self.nodes;
        if !classes.is_empty() || root.ceiling.is_some() {
            return self.take_from_many(cx, packet);
        }
        // The root's members are the port's flows, in their order.
        match root.scheduler.serve(cx, &mut root.queues, packet, Some) {
            Served::Packet(_) => Some(ROOT),
            _ => None,
        }
    }

    /// The same with classes or ceilings.
    #[inline(never)]
    fn take_from_many(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet) -> Option<usize> {
        let mut at = ROOT;
        loop {
            let node = &mut self.nodes[at];
            if node.ceiling.as_ref().is_some_and(|ceiling| ceiling.clear_at() > cx.now) {
                return None;
            }
            let members = &node.members;
            let flow_of = |slot: FlowIx| match members[slot.ix()] {
                Member::Flow(flow) => Some(flow),
                Member::Node(_) => None,
            };
            match node.scheduler.serve(cx, &mut node.queues, packet, flow_of) {
                Served::Packet(slot) => node.renew(slot),
                Served::Nothing => return None,
                Served::Member(slot) => {
                    let Member::Node(child) = members[slot.ix()] else { return None };
                    at = child;
                    continue;
                }
            }
            if let Some(ceiling) = &mut node.ceiling {
                ceiling.take(cx.now, packet.arrived, packet.len);
            }
            if at != ROOT {
                self.charge(cx, at, packet);
            }
            return Some(at);
        }
    }

    /// A packet was sent from the node `at`: renews the tokens above it.
    #[inline(never)]
    fn charge(&mut self, cx: &mut Ctx<'_>, mut at: usize, packet: &Packet) {
        let &Packet { len, arrived, .. } = packet;
        while let Some((parent, slot)) = self.nodes[at].parent {
            self.nodes[at].uncharged += i64::from(len);
            // The next token joins before the spent one leaves: the member stays backlogged.
            match self.token(cx.now, at) {
                Some((token, order)) => self.push_token(cx, parent, slot, token, order),
                // What it was charged too much was for packets that were pushed out.
                None => self.nodes[at].uncharged = 0,
            }
            let above = &mut self.nodes[parent];
            if let Some(spent) = above.queues.pop_first(slot).copied() {
                above.scheduler.dequeued(cx, &spent.packet, &above.queues);
                above.renew(slot);
            }
            if let Some(ceiling) = &mut above.ceiling {
                ceiling.take(cx.now, arrived, len);
            }
            self.set_gate(cx.now, at);
            at = parent;
        }
    }

    /// The token that stands for what the node would send first.
    fn token(&mut self, now: Time, at: usize) -> Option<(Packet, u64)> {
        let node = &mut self.nodes[at];
        if node.queues.is_empty() {
            return None;
        }
        let head = match node.scheduler.select(now, &node.queues) {
            Select::Flow(slot) => node.queues.first(slot)?,
            // Nothing may be sent yet: the first that arrived, and the difference is charged later.
            _ => node.oldest()?,
        };
        let (head, order) = (head.packet, head.order);
        let len = (i64::from(head.len) + node.uncharged).clamp(1, i64::from(u32::MAX)) as u32;
        node.uncharged -= i64::from(len);
        let mut token = Packet::new(TOKEN, len);
        token.arrived = head.arrived;
        Some((token, order))
    }

    fn push_token(&mut self, cx: &mut Ctx<'_>, parent: usize, slot: FlowIx, token: Packet, order: u64) {
        let above = &mut self.nodes[parent];
        above.queues.announce_late(order);
        let mut token = Packet { flow: slot, ..token };
        // Stamped as of the packet's arrival: a class that waits loses nothing by waiting.
        let mut then = Ctx { now: token.arrived, rng: &mut *cx.rng, out: &mut *cx.out };
        above.scheduler.enqueue(&mut then, &mut token, &above.queues);
        above.queues.push(&token);
        above.renew(slot);
    }

    /// Brings the tokens and gates above a node up to date after its queues have changed.
    #[inline(never)]
    pub(super) fn settle_with(&mut self, cx: &mut Ctx<'_>, mut at: usize) {
        while let Some((parent, slot)) = self.nodes[at].parent {
            if self.nodes[parent].queues.len(slot) == 0
                && let Some((token, order)) = self.token(cx.now, at)
            {
                self.push_token(cx, parent, slot, token, order);
            }
            if self.nodes[at].queues.is_empty() {
                let above = &mut self.nodes[parent];
                if let Some(token) = above.queues.pop_last(slot).copied() {
                    above.scheduler.evicted(&token.packet, &above.queues);
                    above.renew(slot);
                    self.nodes[at].uncharged = 0;
                }
            }
            self.set_gate(cx.now, at);
            at = parent;
        }
    }

    /// Brings the gates above a node up to date after time has passed or a gate has changed.
    pub(super) fn settle(&mut self, now: Time, mut at: usize) {
        while let Some((parent, _)) = self.nodes[at].parent {
            self.set_gate(now, at);
            at = parent;
        }
    }

    fn set_gate(&mut self, now: Time, at: usize) {
        let node = &self.nodes[at];
        let Some((parent, slot)) = node.parent else { return };
        let gate = match node.select(now) {
            _ if node.queues.is_empty() => Gate::Open,
            Select::Flow(_) => Gate::Open,
            Select::NotBefore(_) => Gate::Held,
            // Its members do not take part: neither does it, and it gains nothing by it.
            Select::Idle if node.held_members == 0 => Gate::Absent,
            Select::Idle => Gate::Held,
        };
        let before = node.gate;
        if gate != before {
            self.nodes[at].gate = gate;
            self.gate_member(now, parent, slot, before, gate);
        }
    }

    /// Opens or closes the gate of a node's member.
    pub(super) fn gate_member(&mut self, now: Time, at: usize, slot: FlowIx, before: Gate, gate: Gate) {
        let node = &mut self.nodes[at];
        match (before, gate) {
            (Gate::Held, Gate::Held) => {}
            (Gate::Held, _) => node.held_members -= 1,
            (_, Gate::Held) => node.held_members += 1,
            _ => {}
        }
        node.scheduler.gate(now, slot, gate, &node.queues);
    }

    /// When a node that holds packets back may send: its ceiling, or its scheduler's own time.
    pub(super) fn held_until(&self, now: Time, at: usize) -> Option<Time> {
        let node = &self.nodes[at];
        if node.gate == Gate::Open || node.queues.is_empty() {
            return None;
        }
        match (&node.ceiling, node.scheduler.select(now, &node.queues)) {
            (Some(ceiling), _) if ceiling.clear_at() > now => Some(ceiling.clear_at()),
            (_, Select::NotBefore(time)) => Some(time),
            _ => None,
        }
    }

    pub(super) fn gate_of(&self, at: usize) -> Gate {
        self.nodes[at].gate
    }

    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        self.nodes[at].parent.map(|(parent, _)| parent)
    }

    /// Takes the packet that push-out should take.
    pub(super) fn evict(&mut self, cx: &mut Ctx<'_>) -> Option<(usize, FlowIx, Packet)> {
        let mut at = ROOT;
        loop {
            let node = &mut self.nodes[at];
            let slot = node.scheduler.worst(&node.queues)?;
            match node.members[slot.ix()] {
                Member::Node(child) => at = child,
                Member::Flow(flow) => {
                    let packet = node.queues.pop_last(slot)?.packet;
                    node.scheduler.evicted(&packet, &node.queues);
                    node.renew(slot);
                    self.settle_with(cx, at);
                    return Some((at, flow, packet));
                }
            }
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let of = |node: &Node| {
            node.queues.memory()
                + node.scheduler.memory()
                + node.members.capacity() * size_of::<Member>()
                + node.oldest.as_ref().map_or(0, FlowHeap::memory)
                + size_of::<Node>()
        };
        self.nodes.iter().map(of).sum()
    }
}

/// The node of a class; the root for none.
pub(super) fn node_of(class: Option<u16>) -> usize {
    class.map_or(0, |class| usize::from(class) + 1)
}
