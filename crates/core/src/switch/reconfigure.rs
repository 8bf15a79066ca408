//! Reconfiguration: plan → diff → apply, all or nothing; queued packets stay queued.

use super::dropper_chain::DropperChain;
use super::flows::State;
use super::metering::Metering;
use super::plan::{Diff, FlowPlan, PlanChange, PortPlan, SwitchPlan};
use super::port::Port;
use super::tree::{ROOT, Tree};
use super::{Ready, Switch};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Leg, PortIx};
use crate::queues::Queues;
use crate::scheduler::{Scheduler, SchedulerKind};
use crate::units::Time;
use alloc::format;
use alloc::vec::Vec;

impl Switch {
    /// Applies the plan to the switch, and gives the listed flows new plans (the others keep
    /// theirs). Returns the changes, and the readiness of the ports.
    ///
    /// Rates, contracts, ceilings and limits change in place and clocks go on. A port whose tree
    /// changes gets a new one, into which its packets are stamped in their order of arrival. No
    /// packet is lost or reordered within its flow, but clocks start afresh. The packet in service
    /// is not disturbed.
    ///
    /// # Errors
    /// Nothing is changed when the plan has fewer ports than the switch, names a class that
    /// does not exist, nests too deep, or asks for a contract that a scheduler refuses.
    pub fn reconfigure(
        &mut self,
        cx: &mut Ctx<'_>,
        plan: &SwitchPlan,
        flows: &[(Leg, FlowPlan)],
    ) -> Result<(Diff, Ready), Refused> {
        if plan.ports.len() < self.ports.len() {
            let (now, then) = (self.ports.len(), plan.ports.len());
            return Err(Refused(format!("the switch has {now} ports, the plan only {then}")));
        }
        for (leg, _) in flows {
            let port = self.ports.get(usize::from(leg.port.0));
            if port.is_none_or(|port| leg.flow.ix() >= port.table.flows.len()) {
                return Err(Refused(format!("port {} has no flow {}", leg.port.0, leg.flow.0)));
            }
        }
        // Everything that can fail comes first.
        let mut trees = Vec::new();
        for (port, wanted) in self.ports.iter().zip(&plan.ports) {
            wanted.check(usize::from(port.ix.0))?;
            trees.push(port.prepare(cx.now, wanted, flows)?);
        }
        let mut added = Vec::new();
        for (ix, wanted) in plan.ports.iter().enumerate().skip(self.ports.len()) {
            wanted.check(ix)?;
            added.push(Port::new(cx.now, PortIx(ix as u16), &wanted.clone().into())?);
        }

        let mut diff = Diff::new();
        if self.pool.follow(plan) {
            diff.push(PlanChange::Buffer);
        }
        for ((port, wanted), tree) in self.ports.iter_mut().zip(&plan.ports).zip(trees) {
            port.apply(cx, wanted, flows, tree, &mut diff)?;
        }
        for port in added {
            diff.push(PlanChange::PortAdded(port.ix.0));
            self.ports.push(port);
        }
        self.make_room(cx, &[]);
        for port in &mut self.ports {
            port.ask(cx);
        }
        Ok((diff, Ready(self.ports.iter().any(|port| port.ready().0))))
    }
}

impl Port {
    fn new_plans<'a>(
        &self,
        flows: &'a [(Leg, FlowPlan)],
    ) -> impl Iterator<Item = (FlowIx, &'a FlowPlan)> + use<'a> {
        let ix = self.ix;
        flows.iter().filter(move |(leg, _)| leg.port == ix).map(|(leg, plan)| (leg.flow, plan))
    }

    /// Checks everything that can fail. Returns a new tree, with all flows, when one is needed.
    fn prepare(
        &self,
        now: Time,
        wanted: &PortPlan,
        flows: &[(Leg, FlowPlan)],
    ) -> Result<Option<Tree>, Refused> {
        DropperChain::new(now, self.ix, wanted)?;
        Metering::new(wanted)?;
        let mut plans: Vec<FlowPlan> = self.flows().map(|flow| self.plan_of(flow)).collect();
        let moves = self.new_plans(flows).any(|(flow, plan)| plan.class != plans[flow.ix()].class);
        for (flow, plan) in self.new_plans(flows) {
            plans[flow.ix()] = *plan;
        }
        let open = plans.iter().zip(&self.table.flows).filter(|(_, entry)| entry.state == State::Open);
        for plan in open.map(|(plan, _)| plan).chain(self.new_plans(flows).map(|(_, plan)| plan)) {
            wanted.check_flow(plan)?;
        }
        // Closed flows belong to no plan, so their settings do not matter. Those with packets left
        // keep their contracts where they can stay.
        for (entry, plan) in self.table.flows.iter().zip(&mut plans) {
            let class = plan.class.filter(|class| usize::from(*class) < wanted.classes.len());
            if entry.state == State::Closed || (entry.state == State::Closing && class != plan.class) {
                *plan = FlowPlan { class, ..FlowPlan::default() };
            }
        }
        if let Some(missing) = plans
            .iter()
            .filter_map(|plan| plan.class)
            .find(|class| usize::from(*class) >= wanted.classes.len())
        {
            return Err(Refused(format!("port {}: flows remain in class {missing}", self.ix.0)));
        }
        if moves || !self.plan.same_tree(wanted) {
            return self.build_tree(now, wanted, &plans).map(Some);
        }
        for (class, plan) in wanted.classes.iter().enumerate() {
            if plan.contract != self.plan.classes[class].contract {
                would_accept(wanted, plan.parent, &plan.contract)?;
            }
        }
        let divides = |kind: &SchedulerKind| kind.record().divides;
        if divides(&wanted.scheduler) || wanted.classes.iter().any(|class| divides(&class.scheduler)) {
            self.build_tree(now, wanted, &plans)?;
        }
        for (_, plan) in self.new_plans(flows) {
            would_accept(wanted, plan.class, &plan.contract)?;
        }
        Ok(None)
    }

    fn apply(
        &mut self,
        cx: &mut Ctx<'_>,
        wanted: &PortPlan,
        flows: &[(Leg, FlowPlan)],
        tree: Option<Tree>,
        diff: &mut Diff,
    ) -> Result<(), Refused> {
        let ix = self.ix.0;
        if self.plan.dropper != wanted.dropper {
            diff.push(PlanChange::Dropper(ix));
        }
        if (&self.plan.meters, &self.plan.profiles) != (&wanted.meters, &wanted.profiles) {
            diff.push(PlanChange::Meters(ix));
        }
        if self.plan.ceiling != wanted.ceiling {
            self.tree.set_ceiling(ROOT, wanted.ceiling, None);
            diff.push(PlanChange::Ceiling(ix));
        }
        if tree.is_none() {
            self.release_shares(wanted, flows);
            for (class, plan) in wanted.classes.iter().enumerate() {
                self.tree.set_ceiling(class + 1, plan.ceiling, plan.ceiling_burst);
            }
            self.tree.set_rates(cx.now, wanted.rate);
            for (class, plan) in wanted.classes.iter().enumerate() {
                if *plan != self.plan.classes[class] {
                    self.tree.change_class(cx.now, class, plan)?;
                    diff.push(PlanChange::Class(ix, class as u16));
                }
            }
        }
        if self.plan.rate != wanted.rate {
            diff.push(PlanChange::Rate(ix));
        }
        let changed: Vec<(FlowIx, FlowPlan)> = self
            .new_plans(flows)
            .filter(|(flow, plan)| self.plan_of(*flow) != **plan)
            .map(|(flow, plan)| (flow, *plan))
            .collect();
        let same_tree = tree.is_none();
        if let Some(tree) = tree {
            self.requeue_into(cx, tree, &changed, wanted, |packet| packet.flow);
            diff.push(PlanChange::Tree(ix));
        }
        self.update_policies(cx.now, wanted, same_tree)?;
        for (flow, plan) in changed {
            self.change(cx.now, flow, &plan)?;
            diff.push(PlanChange::Flow(ix, flow.0));
        }
        if same_tree {
            (1..self.tree.nodes.len()).for_each(|class| self.update_eligibility(cx.now, class));
        }
        Ok(())
    }

    /// Releases the shares of all members that change, where the old share of one may leave too
    /// little for another. They then receive their new shares one after the other.
    fn release_shares(&mut self, wanted: &PortPlan, flows: &[(Leg, FlowPlan)]) {
        for (class, plan) in wanted.classes.iter().enumerate() {
            let changes = plan.contract != self.plan.classes[class].contract;
            if changes && wanted.scheduler_of(plan.parent).record().divides {
                self.tree.release_class(class);
            }
        }
        for (flow, plan) in self.new_plans(flows) {
            let entry = &self.table.flows[flow.ix()];
            if self.table.contract(flow) != plan.contract && wanted.scheduler_of(plan.class).record().divides
            {
                self.tree.nodes[usize::from(entry.node)].scheduler.release(entry.slot);
            }
        }
    }

    /// Makes the meters and droppers as a plan that is in force from now on says. Those whose plan
    /// is unchanged go on: the port's, and those of classes if the tree is unchanged.
    pub(super) fn update_policies(
        &mut self,
        now: Time,
        wanted: &PortPlan,
        same_tree: bool,
    ) -> Result<(), Refused> {
        let plans: Vec<FlowPlan> = self.flows().map(|flow| self.plan_of(flow)).collect();
        let mut metering = Metering::new(wanted)?;
        if self.plan.profiles == wanted.profiles {
            let kept = if same_tree { wanted.classes.len() + 1 } else { 1 };
            let nodes = self.plan.nodes().zip(wanted.nodes()).take(kept).enumerate();
            let alike = nodes.filter(|(_, (before, after))| before.1 == after.1);
            for (node, _) in alike {
                metering.take_over(node, &mut self.metering);
            }
        }
        self.metering = metering;
        let droppers = DropperChain::new(now, self.ix, wanted)?;
        let before = core::mem::replace(&mut self.droppers, droppers);
        self.droppers.take_over(now, before, same_tree);
        if *self.plan != *wanted {
            self.plan = wanted.clone().into();
        }
        for (flow, mut plan) in self.flows().zip(plans) {
            let entry = &self.table.flows[flow.ix()];
            if entry.state == State::Closed {
                continue;
            }
            // A closing flow may have shared a profile that no longer exists.
            let is_there = |profile: &u16| usize::from(*profile) < wanted.profiles.len();
            plan.profiles = plan.profiles.map(|profile| profile.filter(is_there));
            let node = usize::from(entry.node);
            self.metering.set_flow(node, flow, &plan);
            self.droppers.set_flow(now, node, flow, &plan.contract)?;
        }
        if !self.droppers.is_empty() {
            let queued = |flow: FlowIx| (usize::from(self.table.flows[flow.ix()].node), self.queued(flow));
            let open = |flow: &FlowIx| self.table.flows[flow.ix()].state != State::Closed;
            let queued: Vec<_> = self.flows().filter(open).map(queued).collect();
            self.droppers.recount(queued.into_iter());
        }
        self.update_fast_path();
        Ok(())
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = FlowIx> + use<> {
        (0..self.table.flows.len() as u32).map(FlowIx)
    }

    pub(super) fn plan_of(&self, flow: FlowIx) -> FlowPlan {
        FlowPlan { profiles: self.metering.profiles(flow), ..self.table.plan_of(flow) }
    }
}

impl PortPlan {
    fn scheduler_of(&self, class: Option<u16>) -> &SchedulerKind {
        match class.and_then(|class| self.classes.get(usize::from(class))) {
            Some(class) => &class.scheduler,
            None => &self.scheduler,
        }
    }
}

/// Checks that the scheduler of a class, or the port's for `None`, accepts this contract.
fn would_accept(port: &PortPlan, class: Option<u16>, contract: &Contract) -> Result<(), Refused> {
    let mut queues = Queues::default();
    queues.grow_to(1);
    let mut scheduler = port.scheduler_of(class).build()?;
    if class.is_some() {
        scheduler.follow_service();
    }
    scheduler.set_rate(Time::ORIGIN, port.rate_of(class));
    scheduler.set_flow(Time::ORIGIN, FlowIx(0), contract, &queues)
}
