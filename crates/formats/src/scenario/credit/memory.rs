//! Switches whose memory is shared by links with credit and VCs without it: the memory that is left
//! for the VCs without credit.

use super::link::{LinkCredit, OutputCredit};
use crate::error::{Complaint, Report};
use crate::scenario::network::Node;
use crate::scenario::policies::ScenarioParts;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::params::Limit;

/// The demand for a switch's memory, in packets.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// For VCs with credit.
    credit: u64,
    /// Flows that arrive without credit, or start at the switch.
    others: u64,
}

/// Checks that every switch with a `buffer` and credit has memory for its VCs with credit, and a
/// place for each of the others.
pub(super) fn check(
    parts: &ScenarioParts<'_>,
    credit: &[Option<&LinkCredit>],
    pools: &[OutputCredit],
    report: &mut Report,
) {
    for (node, used) in uses(parts, credit, pools) {
        let Node { name, buffer: Some(buffer), place, .. } = &parts.nodes[node] else { continue };
        let Limit::Packets(buffer) = *buffer else {
            let message = format!("the `buffer` of `{name}` is in bytes, and credit counts packets there");
            report.add(*place, Complaint::new(message).help("state it in packets, as in buffer = \"500p\""));
            continue;
        };
        let needed = used.credit.saturating_add(used.others);
        if buffer < needed {
            let message = format!(
                "`{name}` has memory for {buffer} packets and needs {needed}: {} for VCs with credit, {} for flows \
                 without credit",
                used.credit, used.others
            );
            report.add(*place, Complaint::new(message).help(format!("set `buffer` to at least {needed}p")));
        }
    }
}

/// The demand at each node that has a `buffer` and at which a link with credit ends.
fn uses(
    parts: &ScenarioParts<'_>,
    credit: &[Option<&LinkCredit>],
    pools: &[OutputCredit],
) -> BTreeMap<usize, Use> {
    let mut uses: BTreeMap<usize, Use> = BTreeMap::new();
    let end = |ix: usize, credit: &LinkCredit| parts.links[*credit.further.last().unwrap_or(&ix)].to;
    for (ix, credit) in credit.iter().enumerate() {
        if let Some(credit) = credit
            && parts.nodes[end(ix, credit)].buffer.is_some()
        {
            let memory = credit.plan.memory(credit.vcs);
            let used = uses.entry(end(ix, credit)).or_default();
            used.credit = used.credit.saturating_add(memory);
        }
    }
    for pool in pools {
        if let Some(used) = uses.get_mut(&pool.node) {
            used.credit = used.credit.saturating_add(pool.plan.adaptation.pool.into());
        }
    }
    for load in parts.loads {
        let route = &parts.groups[load.group].route;
        let controlled: BTreeSet<usize> =
            route.iter().filter_map(|link| Some(end(*link, credit[*link]?))).collect();
        // A multicast flow leaves a node by several links.
        let passed: BTreeSet<usize> = route.iter().map(|link| parts.links[*link].from).collect();
        for node in passed.difference(&controlled) {
            if let Some(used) = uses.get_mut(node) {
                used.others += load.count;
            }
        }
    }
    uses
}
