//! Opening, change and closing of a port's flows.

use super::Port;
use crate::contract::Refused;
use crate::packet::FlowIx;
use crate::queues::Participation;
use crate::scheduler::Scheduler;
use crate::stats::Count;
use crate::switch::flows::{FlowEntry, State};
use crate::switch::plan::FlowPlan;
use crate::switch::tree::{Member, ROOT, node_of};
use crate::units::{Span, Time};
use alloc::format;

impl Port {
    pub(in crate::switch) fn reserve(&mut self, flows: usize) {
        self.table.flows.reserve_exact(flows);
        if self.tree.nodes.len() == 1 {
            let root = &mut self.tree.nodes[ROOT];
            root.queues.reserve(flows);
            root.members.reserve_exact(flows);
        }
    }

    pub(in crate::switch) fn open(&mut self, now: Time, plan: &FlowPlan) -> Result<FlowIx, Refused> {
        let node = node_of(plan.class);
        if node >= self.tree.nodes.len() {
            return Err(Refused(format!("port {} has no class {}", self.ix.0, node - 1)));
        }
        self.plan.check_flow(plan)?;
        if let Some(flow) = self.reusable(now, node) {
            if let Err(refused) = self.reopen(now, flow, plan) {
                self.table.retire(flow, now);
                return Err(refused);
            }
            return Ok(flow);
        }
        if let Some(flow) = self.table.unplaced(now) {
            let slot = match self.tree.add(now, node, Member::Flow(flow), &plan.contract) {
                Ok(slot) => slot,
                Err(refused) => {
                    self.table.unplace(flow, now);
                    return Err(refused);
                }
            };
            let entry = &mut self.table.flows[flow.ix()];
            (entry.node, entry.slot) = (node as u16, slot);
            if let Err(refused) = self.reopen(now, flow, plan) {
                self.table.retire(flow, now);
                return Err(refused);
            }
            return Ok(flow);
        }
        let flow = FlowIx(self.table.flows.len() as u32);
        let slot = self.tree.add(now, node, Member::Flow(flow), &plan.contract)?;
        self.table.flows.push(FlowEntry {
            node: node as u16,
            slot,
            state: State::Open,
            participation: Participation::Active,
            held: false,
            shaped: false,
            transient: plan.transient,
            arrived: Count::default(),
        });
        self.table.set_contract(flow, &plan.contract);
        self.set_extras(now, flow, plan)?;
        Ok(flow)
    }

    /// Returns the index of a closed flow of this node that is indistinguishable from a newcomer,
    /// if any.
    fn reusable(&mut self, now: Time, node: usize) -> Option<FlowIx> {
        while let Some(flow) = self.table.reusable(now, node) {
            match self.forgettable_at(now, flow) {
                Some(later) if later > now => self.table.retire(flow, later),
                _ => return Some(flow),
            }
        }
        None
    }

    /// Gives a closed flow's index to another flow.
    fn reopen(&mut self, now: Time, flow: FlowIx, plan: &FlowPlan) -> Result<(), Refused> {
        self.metering.forget(flow);
        self.droppers.forget(usize::from(self.table.flows[flow.ix()].node), flow);
        self.change(now, flow, plan)?;
        let sent = self.counters(flow).sent;
        self.table.start_counting(flow, sent);
        self.table.reopen(flow);
        self.take_part(now, flow, Participation::Active);
        Ok(())
    }

    pub(in crate::switch) fn is_open(&self, flow: FlowIx) -> bool {
        self.table.flows.get(flow.ix()).is_some_and(|entry| entry.state == State::Open)
    }

    /// Changes a flow's contract, within its class.
    pub(in crate::switch) fn change(
        &mut self,
        now: Time,
        flow: FlowIx,
        plan: &FlowPlan,
    ) -> Result<(), Refused> {
        self.plan.check_flow(plan)?;
        let entry = &self.table.flows[flow.ix()];
        let node = &mut self.tree.nodes[usize::from(entry.node)];
        node.scheduler.set_flow(now, entry.slot, &plan.contract, &node.queues)?;
        node.renew_tail(entry.slot);
        let node = usize::from(entry.node);
        self.table.set_contract(flow, &plan.contract);
        self.set_extras(now, flow, plan)?;
        self.update_eligibility(now, node);
        Ok(())
    }

    /// Sets meters, droppers, ceiling and shaper.
    fn set_extras(&mut self, now: Time, flow: FlowIx, plan: &FlowPlan) -> Result<(), Refused> {
        let entry = &self.table.flows[flow.ix()];
        let node = usize::from(entry.node);
        self.metering.set_flow(node, flow, plan);
        self.droppers.set_flow(now, node, flow, &plan.contract)?;
        let entry = &self.table.flows[flow.ix()];
        let (shaped, held, slot) = (entry.shaped, entry.held, entry.slot);
        self.table.set_claim(flow, plan);
        self.table.set_ceiling(flow, plan.ceiling);
        self.update_fast_path();
        self.table.set_spared(flow, plan.spared);
        self.tree.set_spared(node, slot, plan.spared);
        self.tree.set_capped(node, slot, plan.ceiling.is_some());
        if shaped || plan.shaper.is_some() {
            self.table.set_shaper(flow, plan.shaper);
            self.shaping.set(now, flow, plan.shaper);
            self.may_hold = true;
        }
        if held && plan.ceiling.is_none() {
            self.hold(now, flow, false);
        }
        Ok(())
    }

    /// Closes a flow: no more arrivals. Waiting packets are still sent; the index is free once it
    /// is forgettable.
    pub(in crate::switch) fn close(&mut self, now: Time, flow: FlowIx) {
        if self.table.flows[flow.ix()].state == State::Open {
            self.table.begin_closing(flow);
            self.is_closing = true;
            self.take_part(now, flow, Participation::Active);
            self.retire_if_drained(now, flow);
        }
    }

    pub(super) fn retire_if_drained(&mut self, now: Time, flow: FlowIx) {
        let entry = &self.table.flows[flow.ix()];
        if entry.state != State::Closing {
            return;
        }
        if !self.is_drained(flow) {
            return;
        }
        let node = usize::from(entry.node);
        self.tree.nodes[node].scheduler.release(entry.slot);
        // Other flows of its class may be sent sooner now.
        self.update_eligibility(now, node);
        if let Some(at) = self.forgettable_at(now, flow) {
            self.is_closing = self.table.end_closing();
            self.table.retire(flow, at);
        }
    }

    /// Retires the closed flows whose packets went to other flows.
    pub(in crate::switch) fn retire_drained(&mut self, now: Time) {
        for flow in 0..self.table.flows.len() {
            self.retire_if_drained(now, FlowIx(flow as u32));
        }
    }

    /// Returns true if the flow has no packets at the port.
    fn is_drained(&self, flow: FlowIx) -> bool {
        let entry = &self.table.flows[flow.ix()];
        let node = &self.tree.nodes[usize::from(entry.node)];
        node.queues.packets_of(entry.slot) == 0
            && self.shaping.waiting(flow) == 0
            && !(self.busy && self.serving.flow == flow)
    }

    /// Returns when the flow becomes indistinguishable from a newcomer, as
    /// [`Scheduler::forgettable_at`]; `None` while it has packets here.
    pub(in crate::switch) fn forgettable_at(&self, now: Time, flow: FlowIx) -> Option<Time> {
        if !self.is_drained(flow) {
            return None;
        }
        let entry = &self.table.flows[flow.ix()];
        let node = &self.tree.nodes[usize::from(entry.node)];
        let mut at = node.scheduler.forgettable_at(now, entry.slot, &node.queues);
        at = at.max(self.shaping.forgettable_at(flow));
        if let Some(ceiling) = self.table.ceiling(flow) {
            at = at.max(ceiling.clear_at());
        }
        Some(at.max(self.metering.forgettable_at(flow)))
    }

    /// Lead of the flow's clock at its scheduler.
    pub(in crate::switch) fn lead(&self, now: Time, flow: FlowIx) -> Span {
        let entry = &self.table.flows[flow.ix()];
        self.tree.nodes[usize::from(entry.node)].scheduler.lead(now, entry.slot)
    }
}
