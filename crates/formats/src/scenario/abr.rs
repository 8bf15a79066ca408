//! ABR connections, and checks that ports can control their rates.

use super::policies::ScenarioParts;
use crate::error::{Complaint, Report};
use crate::policy::Chosen;
use crate::port::fit::fault_of;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::Link;
use crate::source::Source;
use std::collections::BTreeSet;
use tidegate_core::abr::coupling::BuiltInCoupling;
use tidegate_core::abr::{BackwardVc, BuiltInRateControl, SourceTerms};
use tidegate_core::params::{NodeContext, Supply};
use tidegate_core::units::Rate;

/// Returns the policy at the port of a link that controls the rates of ABR connections.
fn algorithm(link: &Link) -> Option<&Chosen<BuiltInRateControl>> {
    link.port.stage_terms.get()
}

/// Returns the coupling of their control loops before and behind the port of a link; `None` without
/// VS/VD.
fn coupling(link: &Link) -> Option<&Chosen<BuiltInCoupling>> {
    link.port.stage_terms.get()
}

/// Returns true if the port of a link controls the rates of ABR connections.
pub(super) fn controls(link: &Link) -> bool {
    algorithm(link).is_some()
}

/// Returns the name of a coupling at the port of a link: it makes cells of its own.
pub(super) fn cell_maker(link: &Link) -> Option<&'static str> {
    coupling(link).map(|_| "VS/VD")
}

/// Returns true if a group's data are cells of ABR VCs, over a first link of this rate.
pub(super) fn is_abr(group: &FlowGroup, first: Rate) -> bool {
    let Source::Sender { transport, .. } = &group.source else { return false };
    let agrees = || transport.policy.build().ok()?.stage_terms(first, 1);
    group.stage_terms.get::<SourceTerms>().is_some()
        || agrees().is_some_and(|terms| terms.is::<SourceTerms>())
}

/// Checks the switch algorithms and the couplings of all links, and the connections that pass
/// couplings.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    let mut told = BTreeSet::new();
    for link in parts.links.iter().filter(|link| link.gate.is_none()) {
        let node = NodeContext {
            link: link.rate,
            steady: link.pace.is_steady(),
            reservable: None,
            supply: Supply::Link,
            members: &[],
        };
        let algorithm = algorithm(link).and_then(|chosen| fault_of(chosen, &node));
        let coupling = coupling(link).and_then(|chosen| fault_of(chosen, &node));
        for (place, fault) in algorithm.into_iter().chain(coupling) {
            if told.insert(place) {
                report.add(place, Complaint::new(fault.message));
            }
        }
        if let Some(chosen) = self::algorithm(link).filter(|_| link.framing.happens())
            && told.insert(chosen.place_of(""))
        {
            let message = format!("link {} has overhead, and its port controls rates in cells", link.name);
            let help = "leave out `overhead`, `mpu` and `atm`: a cell takes 53 bytes";
            report.add(chosen.place_of(""), Complaint::new(message).help(help));
        }
        if let Some(vsvd) = self::coupling(link).filter(|_| self::algorithm(link).is_none()) {
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
    check_directions(parts, report);
}

/// A VC with data in both directions is that of two connections between its ends.
fn check_directions(parts: &ScenarioParts<'_>, report: &mut Report) {
    let ends = |group: &FlowGroup| {
        let (first, last) = (group.route.first()?, group.route.last()?);
        Some((parts.links[*first].from, parts.links[*last].to))
    };
    for group in parts.groups {
        let Some(BackwardVc(name)) = group.stage_terms.get() else { continue };
        let other = parts.groups.iter().find(|other| other.name == *name);
        let complaint = match other {
            None => format!("there is no connection `{name}`"),
            Some(other) if ends(other).map(|(from, to)| (to, from)) != ends(group) => {
                format!("`{name}` does not go from the receiver of `{}` to its sender", group.name)
            }
            Some(other)
                if [group, other].iter().any(|one| one.stage_terms.get::<SourceTerms>().is_none()) =>
            {
                format!("`{}` and `{name}` are one VC only if both have `vc`", group.name)
            }
            Some(other) if other.count != 1 || group.count != 1 => {
                format!("`{}` and `{name}` are one VC only if each is one connection", group.name)
            }
            Some(_) => continue,
        };
        report.add(group.place, Complaint::new(complaint));
    }
}

/// A port with VS/VD needs a loop before it, and the answers of the connections that pass it.
fn check_loops(parts: &ScenarioParts<'_>, report: &mut Report) {
    let couples = |link: &Link| link.gate.is_none() && coupling(link).is_some();
    for (index, group) in parts.groups.iter().enumerate() {
        let mut way = group.route.iter().map(|link| &parts.links[*link]);
        let Some(first) = way.next() else { continue };
        if !is_abr(group, first.rate) {
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
