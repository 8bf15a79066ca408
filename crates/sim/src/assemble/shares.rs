//! Profiles divided by weights: each flow's share is a profile of its own, at every port on its
//! way.

use super::rates::fail;
use crate::network::{FlowSetup, FlowTerms, Network};
use std::collections::BTreeMap;
use tidegate_core::switch::plan::MAX_METERS;
use tidegate_formats::{FormatError, Scenario};

/// Gives flows with a weight their shares.
///
/// # Errors
/// When a port has more profiles, shares included, than it can tell apart.
pub(super) fn divide(scenario: &Scenario, network: &mut Network) -> Result<(), Box<FormatError>> {
    let weighed = |flow: &FlowSetup| {
        let group = &scenario.groups[flow.part];
        group.profile.zip(group.weight.map(u64::from))
    };
    let mut sums = BTreeMap::<usize, u64>::new();
    for (profile, weight) in network.flows.iter().filter_map(weighed) {
        *sums.entry(profile).or_default() += weight;
    }
    for flow in &mut network.flows {
        let Some((profile, weight)) = weighed(flow) else { continue };
        let share = scenario.profiles[profile].contract.contract().share(weight, sums[&profile]);
        let FlowTerms { part, route, plans, .. } = &mut **flow;
        for (link, plan) in route.iter().zip(plans) {
            if scenario.links[*link].gate.is_some() || scenario.links[*link].profile.is_some() {
                // The gate's file defines the flow's profile there, or the link has one for all.
                continue;
            }
            let profiles = &mut network.links[*link].port.profiles;
            let Ok(index) = u16::try_from(profiles.len()) else {
                let message = format!(
                    "link {} has more than {} profiles, with the shares of those that are divided",
                    scenario.links[*link].name,
                    u16::MAX
                );
                return Err(fail(scenario, scenario.groups[*part].place, message, None));
            };
            profiles.push(share);
            plan.profiles = [Some(index); MAX_METERS];
        }
    }
    Ok(())
}
