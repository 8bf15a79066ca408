//! Links that no flow uses.

use super::found::Found;
use crate::error::Complaint;
use crate::scenario::Scenario;
use crate::scenario::distances::Neighbours;
use crate::scenario::network::Link;
use std::collections::{BTreeMap, BTreeSet};

/// Number of links examined for equal paths, over all destinations. In a larger network, only the
/// first destinations are examined.
const MAX_LOOKS: usize = 50_000_000;
/// The most links that a message names.
const MAX_NAMED: usize = 4;

/// Links that no flow's route uses, although a `[[link]]` states them or a path over them is as
/// short as one that is used. The other direction of a link that is used, and the spare links of a
/// topology, are no surprise.
pub(super) fn links(scenario: &Scenario) -> Option<Found> {
    let used: BTreeSet<usize> = scenario.groups.iter().flat_map(|group| &group.route).copied().collect();
    let pairs: BTreeSet<_> = used.iter().map(|link| ends(&scenario.links[*link])).collect();
    let equal = on_equal_paths(scenario, &used);
    let alone = |link: &usize| scenario.links[*link].stated && !pairs.contains(&ends(&scenario.links[*link]));
    let mut stated: Vec<usize> =
        (0..scenario.links.len()).filter(alone).filter(|link| !equal.contains(link)).collect();
    // The first direction of a duplex link.
    stated.dedup_by_key(|link| scenario.links[*link].place);
    if equal.is_empty() && stated.is_empty() {
        return None;
    }
    let all: Vec<usize> = equal.iter().copied().chain(stated).collect();
    let names: Vec<&str> =
        all.iter().take(MAX_NAMED).map(|link| scenario.links[*link].name.as_str()).collect();
    let more = match all.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if all.len() == 1 { "link" } else { "links" };
    let message = format!("no flow's route uses {noun} {}{more}", names.join(", "));
    let help = if is_beside_the_topology(scenario, all[0]) {
        "`replace = true` puts it in the place of the topology's link; beside it, it needs routing = \"ecmp\""
    } else if equal.is_empty() {
        "leave them out, or let a flow's `route` name their nodes"
    } else {
        "every packet of a flow takes one path: of parallel links and of paths with as many links, the first in the \
         file, unless routing = \"ecmp\""
    };
    Some((scenario.links[all[0]].place, Complaint::new(message).help(help)))
}

/// Returns true for a `[[link]]` between two nodes that a link of the topology joins, too.
fn is_beside_the_topology(scenario: &Scenario, link: usize) -> bool {
    let same = |one: &Link| !one.stated && ends(one) == ends(&scenario.links[link]);
    scenario.links[link].stated && scenario.links.iter().any(same)
}

/// The two nodes of a link, whatever its direction.
fn ends(link: &Link) -> (usize, usize) {
    (link.from.min(link.to), link.from.max(link.to))
}

/// Links that are not used, on a path from a flow's source to its destination with as few links as
/// any.
fn on_equal_paths(scenario: &Scenario, used: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    // A hash may give a link no flow.
    if used.len() == scenario.links.len() || scenario.has_multipath {
        return found;
    }
    let mut sources: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for group in &scenario.groups {
        for to in &group.to {
            sources.entry(*to).or_default().insert(group.from);
        }
    }
    let neighbours = Neighbours::new(&scenario.nodes, &scenario.links);
    for (to, sources) in sources.into_iter().take(MAX_LOOKS / scenario.links.len().max(1)) {
        let distances = neighbours.distances_to(to);
        let mut seen = vec![false; scenario.nodes.len()];
        let mut waiting: Vec<usize> = sources.into_iter().collect();
        while let Some(node) = waiting.pop() {
            if std::mem::replace(&mut seen[node], true) || node == to {
                continue;
            }
            for link in neighbours.nearer(node, to, &distances) {
                if !used.contains(&link) {
                    found.insert(link);
                }
                waiting.push(scenario.links[link].to);
            }
        }
    }
    found
}
