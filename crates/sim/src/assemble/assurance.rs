//! The scopes in which profiles are measured: each destination, each set, and all destinations.

use crate::assurance::{AssurancePlan, Scope, ScopePlan};
use crate::network::{FlowSetup, Network};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::contract::Contract;
use tidegate_formats::{Assurance, Destinations, FlowGroup, Scenario, Source};

/// Flows that use a profile, in the order of the network.
type Users = Vec<u32>;

/// Returns the plan of a scenario; `None` if it measures no assurance.
pub(super) fn plan(scenario: &Scenario, network: &Network) -> Option<AssurancePlan> {
    let Assurance { window, sets } = scenario.assurance.as_ref()?;
    let planner = Planner { scenario, network, sets };
    let mut scopes = Vec::new();
    for (ix, users) in planner.users().into_iter().enumerate() {
        planner.add_shared(ix, &users, &mut scopes);
    }
    for (ix, flow) in (0..).zip(&network.flows) {
        planner.add_own(ix, flow, &mut scopes);
    }
    Some(AssurancePlan { window: *window, scopes })
}

struct Planner<'p> {
    scenario: &'p Scenario,
    network: &'p Network,
    sets: &'p [Destinations],
}

impl Planner<'_> {
    fn group(&self, flow: &FlowSetup) -> &FlowGroup {
        &self.scenario.groups[flow.part]
    }

    /// Returns the users of each profile: flows that name it, and flows that cross a link that has
    /// it. The answers of connections use none.
    fn users(&self) -> Vec<Users> {
        let mut users = vec![Users::new(); self.scenario.profiles.len()];
        for (ix, flow) in (0..).zip(&self.network.flows) {
            let group = self.group(flow);
            if matches!(group.source, Source::Receiver { .. }) {
                continue;
            }
            let of_links = flow.route.iter().filter_map(|link| self.scenario.links[*link].profile);
            let all: BTreeSet<usize> = of_links.chain(group.profile).collect();
            all.into_iter().for_each(|profile| users[profile].push(ix));
        }
        users
    }

    /// Returns the target rate in bit/s of a profile, as far as it belongs to these users: all of
    /// it, or their shares of one that is divided. `None` without a reservation.
    fn target(&self, profile: usize, users: &[u32], among: &[u32]) -> Option<u64> {
        let weigh = |users: &[u32]| {
            let weights = users.iter().map(|ix| self.group(&self.network.flows[*ix as usize]).weight);
            weights.map(|weight| weight.map(u64::from)).sum::<Option<u64>>()
        };
        let contract = self.scenario.profiles[profile].contract.contract();
        match weigh(among) {
            Some(all) if all > 0 => bits(&contract.share(weigh(users)?, all)),
            _ => bits(&contract),
        }
    }

    fn add_shared(&self, profile: usize, users: &[u32], scopes: &mut Vec<ScopePlan>) {
        let mut add = |scope, to: &str, flows: Vec<u32>| {
            let target = self.target(profile, &flows, users);
            if let Some(target) = target.filter(|_| !flows.is_empty()) {
                let profile = self.scenario.profiles[profile].name.clone();
                scopes.push(ScopePlan {
                    profile,
                    flow: String::new(),
                    scope,
                    to: to.to_owned(),
                    target,
                    flows,
                });
            }
        };
        let to = |ix: &u32| &self.group(&self.network.flows[*ix as usize]).to;
        let mut by_node = BTreeMap::<usize, Users>::new();
        for ix in users {
            to(ix).iter().for_each(|node| by_node.entry(*node).or_default().push(*ix));
        }
        for (node, flows) in by_node {
            add(Scope::Destination(node), &self.network.nodes[node].name, flows);
        }
        // The copies of a multicast packet are not the rate of its profile.
        let single: Users = users.iter().copied().filter(|ix| to(ix).len() == 1).collect();
        for set in self.sets {
            let inside = single.iter().copied().filter(|ix| set.nodes.contains(&to(ix)[0]));
            add(Scope::Set, &set.name, inside.collect());
        }
        add(Scope::Anywhere, "", single);
    }

    /// Adds the destinations of a flow that is its own profile.
    fn add_own(&self, ix: u32, flow: &FlowSetup, scopes: &mut Vec<ScopePlan>) {
        let group = self.group(flow);
        let contract = group.contract.contract();
        let Some(target) = bits(&contract).filter(|_| group.profile.is_none()) else { return };
        for node in &group.to {
            scopes.push(ScopePlan {
                profile: String::new(),
                flow: flow.name.clone(),
                scope: Scope::Destination(*node),
                to: self.network.nodes[*node].name.clone(),
                target,
                flows: vec![ix],
            });
        }
    }
}

/// Returns the reserved rate in whole bit/s.
fn bits(contract: &Contract) -> Option<u64> {
    contract.reserve.map(|rate| rate.bits_per_second().round() as u64)
}
