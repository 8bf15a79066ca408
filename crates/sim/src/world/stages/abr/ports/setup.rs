//! Set-up of the rate-controlling ports of a node: the VCs that pass them, and the other flows.

use super::super::super::setup::{Placed, StageSetup};
use super::super::turned::InOrder;
use super::{FlowRole, Leaves, Port, PortControl, RateControlled, Vc};
use crate::network::{FlowSetup, Network};
use crate::stage_plans::abr::{RateControlPlan, RateControlPlans, backward, source_terms};
use std::collections::BTreeMap;
use tidegate_core::abr::{OutputPort, SourceTerms, VcIx};
use tidegate_core::contract::Refused;
use tidegate_core::units::Time;

/// Returns the ports that control rates.
fn planned(network: &Network) -> &[RateControlPlan] {
    network.stage_terms.get().map_or(&[], |RateControlPlans(plans)| plans)
}

impl RateControlled {
    /// Creates the stages of a network: one for each node with such a port.
    ///
    /// # Errors
    /// When an algorithm refuses its parameters, or a VC has no loop before a port with VS/VD.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let StageSetup { network, first_hops, .. } = *setup;
        let mut nodes: BTreeMap<usize, Vec<&RateControlPlan>> = BTreeMap::new();
        for plan in planned(network) {
            nodes.entry(network.links[plan.link].from).or_default().push(plan);
        }
        nodes
            .into_iter()
            .map(|(node, plans)| {
                Ok(Placed::at(node, RateControlled::new(network, first_hops, node, &plans)?))
            })
            .collect()
    }

    fn new(
        network: &Network,
        first_hops: &[u32],
        node: usize,
        plans: &[&RateControlPlan],
    ) -> Result<RateControlled, Refused> {
        let mut ports = Vec::with_capacity(plans.len());
        let mut of_link = BTreeMap::new();
        for plan in plans {
            let rate = network.links[plan.link].port.ceiling.unwrap_or(network.links[plan.link].rate);
            let control = match &plan.coupling {
                None => PortControl::Plain(OutputPort::new(&plan.algorithm, rate, Time::ORIGIN)?),
                Some(coupling) => {
                    PortControl::Coupled(coupling.build(&plan.algorithm, rate, Time::ORIGIN)?)
                }
            };
            of_link.insert(plan.link, ports.len());
            ports.push(Port { link: plan.link as u32, control, vcs: Vec::new() });
        }
        let mut made = RateControlled { ports, roles: vec![FlowRole::default(); network.flows.len()] };
        let crossings = network.flows.iter().enumerate().filter_map(|(flow, setup)| {
            let nth = setup.route.iter().position(|link| network.links[*link].from == node)?;
            Some((flow, nth, *of_link.get(&setup.route[nth])?))
        });
        let crossings: Vec<(usize, usize, usize)> = crossings.collect();
        for &(flow, nth, port) in &crossings {
            let setup = &network.flows[flow];
            if let Some(terms) = source_terms(setup, network) {
                let hop = first_hops[flow] + nth as u32;
                let vc = made.open(network, first_hops, (flow, hop), port, (nth == 0, node), terms)?;
                made.roles[flow].out = Some((port, Leaves::Cells(vc)));
                if let Some(peer) = setup.peer {
                    made.roles[peer].answers = Some((port, vc));
                }
            }
        }
        for (flow, _, port) in crossings {
            let setup = &network.flows[flow];
            let answers =
                setup.peer.is_some_and(|peer| source_terms(&network.flows[peer], network).is_some());
            if made.roles[flow].out.is_none() {
                let leaves = match answers {
                    true => Some(Leaves::Answers),
                    false => made.goes_above(network, port, setup).then_some(Leaves::Above),
                };
                made.roles[flow].out = leaves.map(|leaves| (port, leaves));
            }
        }
        Ok(made)
    }

    /// Opens the VC that a flow is, at one of the ports.
    fn open(
        &mut self,
        network: &Network,
        first_hops: &[u32],
        (flow, hop): (usize, u32),
        port: usize,
        (is_first, node): (bool, usize),
        terms: SourceTerms,
    ) -> Result<VcIx, Refused> {
        let setup = &network.flows[flow];
        let back = setup.peer.and_then(|peer| {
            let nth = network.flows[peer].route.iter().position(|link| network.links[*link].from == node);
            Some((peer as u32, first_hops[peer] + nth? as u32))
        });
        let port = &mut self.ports[port];
        self.roles[flow].queued = matches!(port.control, PortControl::Coupled(_))
            || (is_first && setup.stage_terms.get::<SourceTerms>().is_some());
        let vc = match &mut port.control {
            PortControl::Plain(plain) => plain.open(),
            PortControl::Coupled(coupled) => {
                if is_first || back.is_none() {
                    let node = &network.nodes[node].name;
                    let what = "starts there, or its answers do not pass";
                    return Err(Refused(format!("{node} has VS/VD, and `{}` {what}", setup.name)));
                }
                coupled.open(terms)
            }
        };
        let backward = backward(flow, network).map(|flow| flow as u32);
        let turned = InOrder::default();
        port.vcs.push(Vc { flow: flow as u32, hop, rm_cell: terms.rm_cell, back, backward, turned });
        Ok(vc)
    }

    /// Returns true if a flow that is not a VC is served before the VCs of a port: unless its class
    /// is less urgent.
    fn goes_above(&self, network: &Network, port: usize, setup: &FlowSetup) -> bool {
        let Port { link, vcs, .. } = &self.ports[port];
        let Some(vc) = vcs.first() else { return false };
        let classes = &network.links[*link as usize].port.classes;
        let urgency = |setup: &FlowSetup| {
            let nth = setup.route.iter().position(|on| *on == *link as usize)?;
            let plan = setup.plans.get(nth)?;
            let class = plan.class.and_then(|class| classes.get(usize::from(class)));
            Some(class.map_or(plan.contract.priority, |class| class.contract.priority))
        };
        urgency(setup) <= urgency(&network.flows[vc.flow as usize])
    }
}
