//! The common part of a scenario's port and a gate's: policies, classes of flows, and contracts.

mod abr;
pub(crate) mod classes;
mod contract;
mod credit;
mod dropper;
pub(crate) mod fit;
mod stages;
mod stated;

pub use classes::Class;
pub(crate) use classes::MAX_CLASS_LEVELS;
pub use contract::ContractSpec;
pub(crate) use contract::{check_promise, check_warnings, interval_fault, workahead_fault};
pub use credit::CreditSpec;
pub use dropper::DropperSpec;
pub(crate) use stated::Stated;

use crate::error::Report;
use crate::keys;
use crate::keys::policies::Policies;
use crate::keys::port::{PortKeys, PortPolicies};
use crate::policy::Chosen;
use crate::stage_terms::StageTerms;
use std::collections::BTreeSet;
use tidegate_core::detector::DetectorKind;
use tidegate_core::meter::MeterKind;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::PortPlan;
use tidegate_core::units::Rate;

/// The policies of an output port.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// The scheduler: it selects the flow to serve next.
    pub scheduler: Chosen<SchedulerKind>,
    /// The meter of flows' contracts; `None` for none.
    pub meter: Option<Chosen<MeterKind>>,
    /// The dropper; `None` for none.
    pub dropper: Option<DropperSpec>,
    /// The detector of flows that do not respond to drops; `None` without one.
    pub detector: Option<Chosen<DetectorKind>>,
    /// Rate that the port never exceeds, in bit/s, when below the link's rate.
    pub ceiling: Option<u64>,
    /// The terms of stages in front of it and behind its link.
    pub stage_terms: StageTerms,
}

impl PortSpec {
    /// The port of a link of this rate, without classes and without a ceiling. A meter that applies
    /// only to flows that state a key is left out when that key is not among those `stated`: it
    /// would only cost time.
    pub fn plan(&self, link: Rate, stated: &BTreeSet<&'static str>) -> PortPlan {
        let meter = self.meter.as_ref().map(|meter| meter.policy.clone());
        let meter = meter.filter(|meter| meter.record().needs.is_none_or(|key| stated.contains(key)));
        PortPlan {
            meters: meter.into_iter().collect(),
            dropper: self.dropper.as_ref().map(|dropper| dropper.plan(self.detector.as_ref())),
            rate: Some(link),
            ..PortPlan::new(self.scheduler.policy.clone())
        }
    }

    /// Reads the policies of a port. `None` after something was reported.
    pub(crate) fn read(
        keys: Policies<'_>,
        meter: Option<&keys::policies::Meter>,
        report: &mut Report,
    ) -> Option<PortSpec> {
        let stated = Stated::read(keys, report)?;
        Some(PortSpec {
            scheduler: stated.scheduler?,
            meter: Chosen::read(meter, report),
            dropper: stated.dropper,
            detector: Chosen::read(keys.detector.as_ref(), report),
            ceiling: None,
            stage_terms: StageTerms::default(),
        })
    }

    /// Reads the port of a switch. `None` after something was reported.
    pub(crate) fn of_switch(port: &keys::port::Port, report: &mut Report) -> Option<PortSpec> {
        let PortPolicies { order, meter, drops } = &port.policies;
        let read = PortSpec::read(Policies::of_port(order, drops), meter.as_ref(), report)?;
        Some(PortSpec { stage_terms: stages::read(PortKeys::Switch(port), report), ..read })
    }

    /// Reads the port of a host. `None` after something was reported.
    pub(crate) fn of_host(host: &keys::port::Host, report: &mut Report) -> Option<PortSpec> {
        let read = PortSpec::read(Policies::of_port(&host.order, &host.drops), host.meter.as_ref(), report)?;
        Some(PortSpec { stage_terms: stages::read(PortKeys::Host(host), report), ..read })
    }

    /// Reads the port of each direction of a gate. `None` after something was reported.
    pub(crate) fn of_gate(port: &keys::gate::GatePort, report: &mut Report) -> Option<PortSpec> {
        let PortPolicies { order, meter, drops } = &port.policies.0;
        PortSpec::read(Policies::of_port(order, drops), meter.as_ref(), report)
    }
}

/// The policies of ports that a `[[link]]` states.
pub(crate) struct OwnPolicies {
    stated: Stated,
    meter: Option<Chosen<MeterKind>>,
    detector: Option<Chosen<DetectorKind>>,
    stage_terms: StageTerms,
}

impl OwnPolicies {
    /// Reads the policies that the table states. `None` after something was reported.
    pub(crate) fn read(link: &keys::network::Link, report: &mut Report) -> Option<OwnPolicies> {
        Some(OwnPolicies {
            stated: Stated::read(Policies::of_link(link), report)?,
            meter: Chosen::read(link.meter.as_ref(), report),
            detector: Chosen::read(link.detector.as_ref(), report),
            stage_terms: stages::read(PortKeys::Link(link), report),
        })
    }

    /// These policies, where the table states them, over a port's `usual` ones.
    pub(crate) fn over(&self, usual: PortSpec) -> PortSpec {
        PortSpec {
            scheduler: self.stated.scheduler.clone().unwrap_or(usual.scheduler),
            meter: self.meter.clone().or(usual.meter),
            dropper: self.stated.dropper_over(usual.dropper),
            detector: self.detector.clone().or(usual.detector),
            ceiling: usual.ceiling,
            stage_terms: self.stage_terms.or(&usual.stage_terms),
        }
    }
}
