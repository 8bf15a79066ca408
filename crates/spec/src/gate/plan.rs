//! What a gate file asks of a switch. The gate and the simulator both run it.

use super::{GateFile, GateFlow};
use crate::scenario::Class;
use tidegate_core::classifier::steering::{Rule, Split};
use tidegate_core::dropper::DropperKind;
use tidegate_core::meter::{MeterKind, flow_monitor};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Rate;

impl GateFile {
    /// The switch: a port for each direction, up first, and the memory that they share.
    pub fn switch_plan(&self) -> SwitchPlan {
        // Where no flow is monitored, a monitor would only cost time.
        let monitored = self.flows.iter().any(|flow| flow.contract.interval().is_some());
        let meter = self.port.meter.clone();
        let port = PortPlan {
            scheduler: SchedulerKind::BuiltIn(self.port.scheduler.clone()),
            classes: self.classes.iter().map(Class::plan).collect(),
            meter: meter
                .filter(|meter| monitored || meter.record.name != flow_monitor::RECORD.name)
                .map(MeterKind::BuiltIn),
            dropper: self.port.dropper.clone().map(DropperKind::BuiltIn),
            ceiling: None,
        };
        SwitchPlan { ports: vec![port.clone(), port], buffer: Some(self.buffer) }
    }

    /// Which packets go to which flow of a port, in the order of the file; alike in both directions.
    pub fn rules(&self) -> Vec<Rule> {
        self.flows.iter().map(GateFlow::rule).collect()
    }
}

impl GateFlow {
    fn rule(&self) -> Rule {
        let plan = FlowPlan {
            class: self.class.map(|class| class as u16),
            contract: self.contract.contract(),
            ceiling: self.ceiling.and_then(Rate::from_bits_per_second),
            shaper: None,
        };
        let split = self.each.map_or(Split::Together, Split::Each);
        Rule { matching: self.matching, split, plan, idle: self.idle }
    }
}
