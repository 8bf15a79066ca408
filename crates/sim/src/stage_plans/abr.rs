//! The plans of ports that control the rates of ABR connections.

use crate::network::{FlowSetup, Network};
use crate::source::Traffic;
use tidegate_core::abr::coupling::BuiltInCoupling;
use tidegate_core::abr::{BackwardVc, BuiltInRateControl, SourceTerms};
use tidegate_formats::{Chosen, Link, Scenario};

/// A port that controls the rates of the ABR connections that pass it.
#[derive(Clone, Debug)]
pub struct RateControlPlan {
    /// Index of the link behind the port.
    pub link: usize,
    /// The switch algorithm.
    pub algorithm: BuiltInRateControl,
    /// Coupling of the control loops before and behind it; `None` for a port without VS/VD.
    pub coupling: Option<BuiltInCoupling>,
}

/// The ports that control rates, at most one for a link.
#[derive(Clone, Debug)]
pub struct RateControlPlans(pub Vec<RateControlPlan>);

/// Adds the ports that control the rates of ABR connections. A gate is not one of them.
pub(super) fn plan(scenario: &Scenario, network: &mut Network) {
    let links = scenario.links.iter().enumerate().filter(|(_, link)| link.gate.is_none());
    let plan = |(ix, link): (usize, &Link)| {
        let algorithm = algorithm(link)?.policy.clone();
        let coupling: Option<&Chosen<BuiltInCoupling>> = link.port.stage_terms.get();
        let coupling = coupling.map(|chosen| chosen.policy.clone());
        Some(RateControlPlan { link: ix, algorithm, coupling })
    };
    let plans: Vec<RateControlPlan> = links.filter_map(plan).collect();
    network.stage_terms.set((!plans.is_empty()).then_some(RateControlPlans(plans)));
}

fn algorithm(link: &Link) -> Option<&Chosen<BuiltInRateControl>> {
    link.port.stage_terms.get()
}

/// Returns the utilization that the switch algorithm at the port of a link aims at.
pub(super) fn target_utilisation(link: &Link) -> Option<f64> {
    algorithm(link)?.policy.target_utilisation()
}

/// Returns the peak cell rate of a flow's VC in bit/s.
pub(super) fn ceiling(flow: &FlowSetup, network: &Network) -> Option<f64> {
    source_terms(flow, network).map(|terms| terms.pcr)
}

/// Returns the flow of the data that go the other way on the VC of a flow; `None` for a VC of one
/// direction.
pub(crate) fn backward(flow: usize, network: &Network) -> Option<usize> {
    let named = |ix: usize| {
        let BackwardVc(name) = network.flows[ix].stage_terms.get()?;
        network.flows.iter().position(|other| other.name == *name)
    };
    named(flow).or_else(|| (0..network.flows.len()).find(|other| named(*other) == Some(flow)))
}

/// Returns the source terms of the VC that a flow is, or that carries it, if there is one.
pub(crate) fn source_terms(flow: &FlowSetup, network: &Network) -> Option<SourceTerms> {
    let carrying = flow.stage_terms.get().copied();
    carrying.or_else(|| match &flow.traffic {
        Traffic::Endpoint(factory) => {
            factory.stage_terms(network.links[flow.route[0]].rate)?.downcast().ok().map(|terms| *terms)
        }
        _ => None,
    })
}
