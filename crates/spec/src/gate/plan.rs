//! What a gate file asks of a switch. The gate and the simulator both run it.

use super::{GateFile, GateFlow};
use std::sync::Arc;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::dropper::DropperKind;
use tidegate_core::meter::{MeterKind, flow_monitor};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::steering::{Rule, Split};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};

impl GateFile {
    /// The switch: a port for each direction, up first, and the memory that they share.
    pub fn switch_plan(&self) -> SwitchPlan {
        // Where no flow is monitored, a monitor would only cost time.
        let monitored = self.flows.iter().any(|flow| flow.contract.interval().is_some());
        let meter = self.port.meter.clone();
        let meter = meter
            .filter(|meter| monitored || meter.record.name != flow_monitor::RECORD.name)
            .map(MeterKind::BuiltIn);
        let port = |direction| PortPlan {
            scheduler: SchedulerKind::BuiltIn(self.port.scheduler.clone()),
            classes: self.classes.iter().map(|class| class.plan(direction)).collect(),
            meters: meter.iter().cloned().collect(),
            profiles: Vec::new(),
            dropper: self.port.dropper.clone().map(|dropper| DropperKind::BuiltIn(dropper).into()),
            ceiling: None,
            rate: Some(self.rates[direction as usize]),
        };
        SwitchPlan { ports: Direction::BOTH.map(port).to_vec(), buffer: Some(self.buffer) }
    }

    /// Which packets go to which flow of a direction's port, in the order of the file.
    pub fn rules(&self, direction: Direction) -> Vec<Rule> {
        self.flows.iter().map(|flow| flow.rule(direction)).collect()
    }
}

impl GateFlow {
    fn rule(&self, direction: Direction) -> Rule {
        let terms = self.terms[direction as usize];
        let plan = FlowPlan {
            class: self.class.map(|class| class as u16),
            contract: terms.contract(&self.contract),
            ceiling: terms.ceiling(),
            ..FlowPlan::default()
        };
        let split = match (&self.circuits, self.each) {
            (Some(circuits), _) => Split::Circuits(Arc::clone(circuits)),
            (None, Some(each)) => Split::Each(each),
            (None, None) => Split::Together,
        };
        Rule { matching: self.matching, split, plan, idle: self.idle }
    }
}
