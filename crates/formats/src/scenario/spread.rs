//! Flows whose packets are spread over several paths, and terms that hold on one path.

use super::flows::FlowGroup;
use super::policies::ScenarioParts;
use crate::error::{Complaint, Place, Report};

/// Checks that the packets of a flow with a reservation, an envelope, or a VC take one path, and
/// those that pass a gate or a link with terms of VCs.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    for group in parts.groups.iter().filter(|group| group.paths.is_some()) {
        let Some((place, reason)) = of_flow(group).or_else(|| of_links(group, parts)) else { continue };
        let message = format!("packets of `{}` take several paths, and {reason}", group.name);
        let help = "state its `route`, or take `per = \"flow\"` in `routing`";
        report.add(place, Complaint::new(message).help(help));
    }
}

/// The first reason of a group's own why its packets have to take one path.
fn of_flow(group: &FlowGroup) -> Option<(Place, String)> {
    let reasons = [
        (group.contract.reserve_bits().is_some(), group.reserve_place, "its reservation is for one"),
        (group.envelope.is_some(), group.place, "its envelope is in front of the first port of one"),
        (group.aal5, group.place, "ATM cells of one packet stay in order on one VC"),
        (!group.stage_terms.is_empty(), group.place, "its VC is on one"),
    ];
    let first = reasons.into_iter().find(|(holds, ..)| *holds);
    first.map(|(_, place, reason)| (place, reason.to_owned()))
}

/// The first link that wants all packets of a flow, or none.
fn of_links(group: &FlowGroup, parts: &ScenarioParts<'_>) -> Option<(Place, String)> {
    let links = group.route.iter().map(|link| &parts.links[*link]);
    let found = links.into_iter().find_map(|link| {
        let reason = match () {
            () if link.gate.is_some() => "is one of a gate",
            () if !link.port.stage_terms.is_empty() => "has terms of VCs",
            () => return None,
        };
        Some(format!("link {} {reason}", link.name))
    });
    found.map(|reason| (group.place, reason))
}
