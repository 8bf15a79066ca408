//! The switch that a gate file describes. The gate and the simulator both run it.

use super::{GateFile, GateFlow};
use crate::policy::Chosen;
use crate::port::{ContractSpec, DropperSpec};
use std::sync::Arc;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Contract;
use tidegate_core::params::BuiltIn;
use tidegate_core::scheduler::{BuiltInScheduler, FAIR_DEFAULT, SchedulerKind};
use tidegate_core::steering::{Conversations, EdgePlan, Rule, Split};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, Sharing, SwitchPlan};
use tidegate_core::units::Rate;

/// Packets that match no rule and keep the link working reserve this part of the rate; so do all others.
const REST: u64 = 100;

impl GateFile {
    /// The switch: a port for each direction, up first, each with memory of its own.
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
            sharing: Sharing::Partitioned,
            ..SwitchPlan::default()
        }
    }

    /// The edge in front of a direction's port: its rules in the order of the file.
    pub fn edge_plan(&self, direction: Direction) -> EdgePlan {
        EdgePlan {
            rules: self.flows.iter().map(|flow| flow.rule(direction, self.conversations(flow))).collect(),
            set_dscp: self.flows.iter().map(|flow| flow.set_dscp).collect(),
            rest: self.rest(direction),
            most_flows: self.most_flows,
            framing: self.framing,
        }
    }

    /// What is at the class of each host, where a flow divides those into conversations: a dropper of each queue, unless the
    /// port has one.
    fn conversations(&self, flow: &GateFlow) -> Option<Conversations> {
        if !flow.within {
            return None;
        }
        let scheduler = Chosen::<BuiltInScheduler>::by_default(FAIR_DEFAULT, flow.place)?.policy;
        let dropper = match &self.port.dropper {
            Some(_) => None,
            None => DropperSpec::fair_default(flow.place).map(|dropper| dropper.plan(None)),
        };
        Some(Conversations { scheduler: SchedulerKind::BuiltIn(scheduler), dropper })
    }

    /// The plan of packets that match no rule: a hundredth of the rate is reserved for those that keep the
    /// link working, ARP and neighbour discovery among them, and as much for all others, as far as the flows'
    /// reservations leave it.
    pub fn rest(&self, direction: Direction) -> FlowPlan {
        let record = self.port.scheduler.policy.record();
        if record.divides || !record.reads.contains(&"reserve") {
            return FlowPlan::default();
        }
        let rate = self.rates[direction as usize].bits_per_second() as u64;
        let left = rate.saturating_sub(self.reserved[direction as usize]);
        let reserve = Rate::from_bits_per_second((rate / REST).min(left / 2));
        FlowPlan { contract: Contract { reserve, ..Contract::default() }, ..FlowPlan::default() }
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

    fn rule(&self, direction: Direction, conversations: Option<Conversations>) -> Rule {
        let plan = self.plan(direction);
        let split = match (&self.circuits, self.each, conversations) {
            (Some(circuits), ..) => Split::Circuits(Arc::clone(circuits)),
            (None, Some(each), Some(conversations)) => Split::Conversations(each, Arc::new(conversations)),
            (None, Some(each), None) => Split::Each(each),
            (None, None, _) => Split::Together,
        };
        Rule { matching: self.matching.clone(), split, plan, idle: self.idle }
    }
}
