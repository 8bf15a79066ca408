//! The table `usage`.

use super::run::Run;
use super::table::Table;
use crate::network::Network;
use crate::usage::ProfileOwner;
use std::collections::BTreeMap;
use tidegate_formats::columns::UsageRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<UsageRow<'_>>();
    let shares = shares(run.network);
    for (metered, usage) in run.world.usage() {
        let (profile, flow) = match metered.owner {
            ProfileOwner::Shared(ix) => match shares.get(&(metered.link, ix)) {
                Some(flow) => ("", *flow),
                None => (name(&run.network.profiles, ix), ""),
            },
            ProfileOwner::Flow(ix) => ("", run.network.flows[ix as usize].name.as_str()),
        };
        let [inside, yellow, outside] = usage.coloured;
        rows.row(UsageRow {
            link: &run.network.links[metered.link as usize].name,
            class: metered.class.map_or("", |ix| name(&run.network.classes, ix)),
            nth: metered.nth as u64 + 1,
            profile,
            flow,
            inside_bytes: inside,
            yellow_bytes: yellow,
            outside_bytes: outside,
            congested_inside_bytes: usage.congested_inside,
            congested_outside_bytes: usage.congested_outside,
        });
    }
    rows.finish()
}

/// Returns the owner of each share of a divided profile, by the link and the index in its port's
/// plan.
fn shares(network: &Network) -> BTreeMap<(u32, u16), &str> {
    let named = network.profiles.len();
    let mut shares = BTreeMap::new();
    for flow in &network.flows {
        for (link, plan) in flow.route.iter().zip(&flow.plans) {
            if let Some(ix) = plan.profiles[0].filter(|ix| usize::from(*ix) >= named) {
                shares.insert((*link as u32, ix), flow.name.as_str());
            }
        }
    }
    shares
}

/// Returns the name of a class or a profile; empty if it has none.
fn name(names: &[String], ix: u16) -> &str {
    names.get(usize::from(ix)).map_or("", String::as_str)
}
