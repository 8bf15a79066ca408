//! Checks that ports can control the rates of ABR connections.

use super::policies::Parts;
use crate::error::{Complaint, Report};
use crate::port::fit::fault_of;
use crate::scenario::network::Link;
use crate::source::Source;
use std::collections::BTreeSet;
use tidegate_core::endpoint::Transport;
use tidegate_core::params::{NodeContext, Supply};

/// Checks the switch algorithms and the couplings of all links, and the connections that pass
/// couplings.
pub(super) fn check(parts: &Parts<'_>, report: &mut Report) {
    let mut told = BTreeSet::new();
    for link in parts.links.iter().filter(|link| link.gate.is_none()) {
        let node = NodeContext {
            link: link.rate,
            steady: link.trace.is_none(),
            reservable: None,
            supply: Supply::Link,
            members: &[],
        };
        let algorithm = link.port.rate_control.as_ref().and_then(|chosen| fault_of(chosen, &node));
        let coupling = link.port.vsvd.as_ref().and_then(|chosen| fault_of(chosen, &node));
        for (place, fault) in algorithm.into_iter().chain(coupling) {
            if told.insert(place) {
                report.add(place, Complaint::new(fault.message));
            }
        }
        if let Some(vsvd) = link.port.vsvd.as_ref().filter(|_| link.port.rate_control.is_none()) {
            let place = vsvd.place_of("");
            if told.insert(place) {
                let message = format!(
                    "no switch algorithm controls rates at link {}, so no loops can be coupled",
                    link.name
                );
                report.add(place, Complaint::new(message).help("add `rate_control` beside it"));
            }
        }
    }
    check_loops(parts, report);
}

/// A port with VS/VD needs a loop before it, and the answers of the connections that pass it.
fn check_loops(parts: &Parts<'_>, report: &mut Report) {
    let couples = |link: &Link| link.gate.is_none() && link.port.vsvd.is_some();
    for (index, group) in parts.groups.iter().enumerate() {
        let Source::Sender { transport, .. } = &group.source else { continue };
        let mut way = group.route.iter().map(|link| &parts.links[*link]);
        let Some(first) = way.next() else { continue };
        let made = transport.policy.build();
        let heeds = |made: &dyn Transport| made.source_terms(first.rate, 1).is_some();
        if group.vc.is_none() && !made.is_ok_and(|made| heeds(made.as_ref())) {
            continue;
        }
        if couples(first) {
            let message =
                format!("`{}` starts at the port of link {}, which has VS/VD", group.name, first.name);
            let help = "a virtual source has a loop before it: let the connection start at a host";
            report.add(group.place, Complaint::new(message).help(help));
        }
        // The flow of its answers is the next group.
        let Some(answers) = parts.groups.get(index + 1) else { continue };
        let back: BTreeSet<usize> = answers.route.iter().map(|link| parts.links[*link].from).collect();
        if let Some(link) = way.find(|link| couples(link) && !back.contains(&link.from)) {
            let message = format!(
                "the answers of `{}` do not pass `{}`, which has VS/VD",
                group.name, parts.nodes[link.from].name
            );
            report.add(group.place, Complaint::new(message).help("let them go back the way the data come"));
        }
    }
}
