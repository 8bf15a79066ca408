//! A new tree for a port: built with all flows, and filled with the packets that wait.

use super::flows::State;
use super::plan::{ClassPlan, FlowPlan, PortPlan};
use super::pool::Pool;
use super::port::Port;
use super::tree::{Member, ROOT, Tree, node_of};
use super::{Ready, Switch};
use crate::context::Ctx;
use crate::contract::Refused;
use crate::dropper::Occupancy;
use crate::packet::{FlowIx, Packet, PortIx};
use crate::scheduler::Scheduler;
use crate::units::{Rate, Span, Time};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The longest time that a flow which has sent more than it reserves waits, after a reload, for its own
/// line to catch up: a full frame at 12 kbit/s.
const LONGEST_DEBT: Span = Span::from_secs(1);

/// When the lines of members' own begin with their first packets, before a reload.
struct OwnLines {
    flows: Vec<Option<Time>>,
    classes: Vec<Option<Time>>,
}

impl Switch {
    /// Moves the packets that wait at a port to the flows that `whose` names (for those of
    /// [`waiting`](Self::waiting), and other open ones), as if they had arrived for them. They are
    /// stamped again in their order of arrival, and all clocks of the port start afresh.
    ///
    /// # Errors
    /// When a scheduler refuses a contract that it accepted before; nothing is changed.
    pub fn reassign(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        whose: impl Fn(&Packet) -> FlowIx,
    ) -> Result<Ready, Refused> {
        let Some(port) = self.ports.get_mut(usize::from(port.0)) else { return Ok(Ready::NO) };
        let plans: Vec<FlowPlan> = port.flows().map(|flow| port.plan_of(flow)).collect();
        let tree = port.build_tree(cx.now, &port.plan, &plans)?;
        if !port.droppers.is_empty() {
            port.report_moved(cx, &self.pool, &whose);
        }
        let plan = port.plan.clone();
        port.requeue_into(cx, tree, &[], &plan, &whose);
        port.update_policies(cx.now, &plan, false)?;
        port.retire_drained(cx.now);
        port.ask(cx);
        Ok(port.ready())
    }
}

impl Port {
    /// Builds a new tree with all flows. Without classes, the root's members are the port's flows
    /// in their order. With classes, the first closed flow stands there for all of them. With a
    /// place for each, a port whose flows come and go between plans would grow without end.
    pub(super) fn build_tree(
        &self,
        now: Time,
        wanted: &PortPlan,
        plans: &[FlowPlan],
    ) -> Result<Tree, Refused> {
        let mut tree = Tree::new(now, wanted)?;
        let mut vacant = false;
        for (flow, (plan, entry)) in plans.iter().zip(&self.table.flows).enumerate() {
            let closed = entry.state == State::Closed;
            if wanted.classes.is_empty() || !(closed && vacant) {
                tree.add(now, node_of(plan.class), Member::Flow(FlowIx(flow as u32)), &plan.contract)?;
            }
            vacant |= closed;
        }
        Ok(tree)
    }

    /// Reports packets that move to other flows to the droppers of flows' own queues.
    fn report_moved(&mut self, cx: &mut Ctx<'_>, pool: &Pool, whose: impl Fn(&Packet) -> FlowIx) {
        for flow in self.flows() {
            let entry = &self.table.flows[flow.ix()];
            let node = usize::from(entry.node);
            let queued = self.tree.nodes[node].queues.of(entry.slot);
            let moved: Vec<Packet> = queued
                .map(|queued| Packet { flow, ..queued.packet })
                .filter(|packet| whose(packet) != flow)
                .collect();
            let mut rest = self.queued(flow);
            for packet in &moved {
                rest.take(packet.len);
                let pooled = self.taken(pool);
                let mut at =
                    Occupancy { flow: rest, pool: pooled, limit: pool.limit, ..Occupancy::default() };
                self.droppers.moved(cx, node, packet, &mut at);
            }
        }
    }

    /// Lists when closed flows may be forgotten, after the old tree's memory of them is gone.
    fn list_closed(&mut self, now: Time, vacant: Option<(u16, FlowIx)>) {
        for flow in self.table.unlist_closed(vacant) {
            let at = self.forgettable_at(now, flow).unwrap_or(now);
            match vacant {
                Some(_) => self.table.unplace(flow, at),
                None => self.table.retire(flow, at),
            }
        }
    }

    /// Moves all queued packets into the new tree, in the order of arrival; `whose` maps a packet,
    /// which has its flow's index at the port, to its flow from now on.
    pub(super) fn requeue_into(
        &mut self,
        cx: &mut Ctx<'_>,
        tree: Tree,
        changed: &[(FlowIx, FlowPlan)],
        wanted: &PortPlan,
        whose: impl Fn(&Packet) -> FlowIx,
    ) {
        let lines = self.own_lines(cx.now, wanted, changed);
        let mut before = core::mem::replace(&mut self.tree, tree);
        let mut queued = Vec::new();
        for flow in (0..self.table.flows.len()).map(|flow| FlowIx(flow as u32)) {
            let (node, slot) = (self.table.flows[flow.ix()].node, self.table.flows[flow.ix()].slot);
            before.nodes[usize::from(node)].split_line();
            let queues = &mut before.nodes[usize::from(node)].queues;
            while let Some(mut waiting) = queues.pop_first(slot).copied() {
                waiting.packet.flow = flow;
                waiting.packet.flow = whose(&waiting.packet);
                self.table.credit(flow, waiting.packet.flow, waiting.packet.len);
                queued.push(waiting);
            }
        }
        for (flow, plan) in changed {
            self.table.flows[flow.ix()].node = node_of(plan.class) as u16;
        }
        for (at, node) in self.tree.nodes.iter().enumerate() {
            for (slot, member) in node.members.iter().enumerate() {
                if let Member::Flow(flow) = member {
                    let entry = &mut self.table.flows[flow.ix()];
                    (entry.node, entry.slot) = (at as u16, FlowIx(slot as u32));
                }
            }
        }
        let classes = self.tree.nodes.len() > 1;
        let closed = self.table.flows.iter().find(|entry| classes && entry.state == State::Closed);
        self.list_closed(cx.now, closed.map(|entry| (entry.node, entry.slot)));
        self.forget_held_nodes();
        for flow in (0..self.table.flows.len()).map(|flow| FlowIx(flow as u32)) {
            let entry = &self.table.flows[flow.ix()];
            let (node, slot) = (usize::from(entry.node), entry.slot);
            self.tree.set_spared(node, slot, self.table.spared(flow));
            self.tree.set_capped(node, slot, self.table.ceiling(flow).is_some());
            self.pass_participation(cx.now, flow);
        }
        let resumes = !queued.is_empty();
        if resumes {
            self.resume(cx.now, &lines);
        }
        queued.sort_unstable_by_key(|waiting| waiting.order);
        for mut waiting in queued {
            let entry = &self.table.flows[waiting.packet.flow.ix()];
            let node = usize::from(entry.node);
            waiting.packet.flow = entry.slot;
            self.tree.push(cx, node, &mut waiting.packet, waiting.order);
            self.schedule_release(cx.now, node);
        }
        if resumes {
            let in_service = self.in_service().map(|packet| packet.len);
            for at in 0..self.tree.nodes.len() {
                let node = &mut self.tree.nodes[at];
                node.scheduler.resumed(cx.now, in_service.filter(|_| at == ROOT), &node.queues);
            }
        }
    }

    /// The times at which the lines of the members' own begin with their first packets: of flows, and
    /// of classes. `None` where the new tree, of the plan `wanted`, gives the member another
    /// reservation or the old one promised none: such a line begins now.
    fn own_lines(&self, now: Time, wanted: &PortPlan, changed: &[(FlowIx, FlowPlan)]) -> OwnLines {
        let of = |node: usize, slot: FlowIx| {
            let scheduler =
                if node == ROOT { &self.plan.scheduler } else { &self.plan.classes[node - 1].scheduler };
            let node = &self.tree.nodes[node];
            let at = node.scheduler.own_line(now, slot, &node.queues);
            at.filter(|_| scheduler.keeps_rates().is_some()).map(|at| at.min(now + LONGEST_DEBT))
        };
        let new: BTreeMap<FlowIx, Option<Rate>> =
            changed.iter().map(|(flow, plan)| (*flow, plan.contract.reserve)).collect();
        let line_of = |flow: FlowIx| {
            let entry = &self.table.flows[flow.ix()];
            let same = new.get(&flow).is_none_or(|new| *new == self.table.contract(flow).reserve);
            let goes_on = same && entry.state != State::Closed;
            of(entry.node.into(), entry.slot).filter(|_| goes_on)
        };
        let classes = self.plan.classes.iter().zip(&wanted.classes).enumerate();
        let line_of_class = |(class, (before, after)): (usize, (&ClassPlan, &ClassPlan))| {
            let same = before.parent == after.parent && before.contract.reserve == after.contract.reserve;
            let (parent, slot) = self.tree.nodes[class + 1].parent.filter(|_| same)?;
            of(parent, slot)
        };
        OwnLines { flows: self.flows().map(line_of).collect(), classes: classes.map(line_of_class).collect() }
    }

    /// Lets the schedulers of a new tree, into which the waiting packets are about to be pushed, go on
    /// with the lines of their members' own.
    fn resume(&mut self, now: Time, lines: &OwnLines) {
        for at in 0..self.tree.nodes.len() {
            let node = &mut self.tree.nodes[at];
            for (slot, member) in node.members.iter().enumerate() {
                let line = match member {
                    Member::Flow(flow) => lines.flows.get(flow.ix()),
                    Member::Node(class) => lines.classes.get(usize::from(*class) - 1),
                };
                let line = line.copied().flatten().unwrap_or(now);
                node.scheduler.resume(now, FlowIx(slot as u32), line);
            }
        }
    }
}
