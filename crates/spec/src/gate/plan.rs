//! What a gate file asks of a switch. The gate and the simulator both run it.

use super::{GateFile, GateFlow};
use crate::port::ContractSpec;
use std::sync::Arc;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::steering::{Rule, Split};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};

impl GateFile {
    /// The switch: a port for each direction, up first, and the memory that they share.
    pub fn switch_plan(&self) -> SwitchPlan {
        let stated = ContractSpec::stated(self.flows.iter().map(|flow| &flow.contract));
        let port = |direction: Direction| {
            let rate = self.rates[direction as usize];
            let classes = self.classes.iter().map(|class| class.plan(direction)).collect();
            PortPlan { classes, ..self.port.plan(rate, &stated) }
        };
        SwitchPlan {
            ports: Direction::BOTH.map(port).to_vec(),
            buffer: Some(self.buffer),
            ..SwitchPlan::default()
        }
    }

    /// Which packets go to which flow of a direction's port, in the order of the file.
    pub fn rules(&self, direction: Direction) -> Vec<Rule> {
        self.flows.iter().map(|flow| flow.rule(direction)).collect()
    }
}

impl GateFlow {
    /// The flow at the port of a direction.
    pub(super) fn plan(&self, direction: Direction) -> FlowPlan {
        let terms = self.terms[direction as usize];
        FlowPlan {
            class: self.class.map(|class| class as u16),
            contract: terms.contract(&self.contract),
            ceiling: terms.ceiling(),
            ..FlowPlan::default()
        }
    }

    fn rule(&self, direction: Direction) -> Rule {
        let plan = self.plan(direction);
        let split = match (&self.circuits, self.each) {
            (Some(circuits), _) => Split::Circuits(Arc::clone(circuits)),
            (None, Some(each)) => Split::Each(each),
            (None, None) => Split::Together,
        };
        Rule { matching: self.matching, split, plan, idle: self.idle }
    }
}
