//! Checks that transports respond to the marks of droppers.
//!
//! A dropper that marks drops packets that are not ECN-capable (RFC 3168, section 5). Where it is
//! asked to mark and no transport on its way negotiates ECN, it never can: this is a mistake.
//! Where some do and others do not, only the others lose packets, which is legal and seldom
//! intended: this is a warning, unless the dropper couples marks and drops. A dropper that would
//! mark by default and has nothing to mark gets no message.

use crate::error::{Complaint, Place, Report};
use crate::policy::Chosen;
use crate::port::{Class, DropperSpec};
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::{Link, Node, NodeKind};
use crate::scenario::policies::ScenarioParts;
use crate::source::Source;
use std::collections::BTreeMap;
use tidegate_core::dropper::DropperKind;
use tidegate_core::params::Marking;

/// A dropper that marks, and connections whose data it guards.
struct MarkingDropper<'s> {
    dropper: &'s Chosen<DropperKind>,
    /// The first whose transport negotiates ECN.
    capable: Option<&'s FlowGroup>,
    /// The first whose transport does not.
    other: Option<&'s FlowGroup>,
}

impl<'s> MarkingDropper<'s> {
    fn add(&mut self, group: &'s FlowGroup, negotiates: bool) {
        let first = if negotiates { &mut self.capable } else { &mut self.other };
        first.get_or_insert(group);
    }
}

/// Returns true if the transport of a group's data negotiates ECN; `None` for a group that sends no
/// such data.
fn negotiates_ecn(group: &FlowGroup) -> Option<bool> {
    let Source::Sender { transport, .. } = &group.source else { return None };
    let made = transport.policy.build().ok()?;
    Some(made.negotiates_ecn())
}

/// The droppers that mark, by a key that is made of the place where each was written and of its
/// link.
fn guarded<'s, K: Ord>(
    (links, nodes): (&'s [Link], &'s [Node]),
    classes: &'s [Class],
    groups: &'s [FlowGroup],
    key: impl Fn(Place, usize) -> K,
) -> BTreeMap<K, MarkingDropper<'s>> {
    let mut all = BTreeMap::new();
    for group in groups {
        let Some(negotiates) = negotiates_ecn(group) else { continue };
        for index in group.route.iter().copied().filter(|index| links[*index].gate.is_none()) {
            let link = &links[index];
            let class = group.class.filter(|_| nodes[link.from].kind == NodeKind::Switch);
            let above = std::iter::successors(class, |class| classes[*class].parent);
            let droppers = above.map(|class| &classes[class].dropper).chain([&link.port.dropper]).flatten();
            for DropperSpec { chosen: dropper, .. } in droppers {
                if dropper.policy.marking() != Marking::Never {
                    let nothing = MarkingDropper { dropper, capable: None, other: None };
                    all.entry(key(dropper.place_of(""), index)).or_insert(nothing).add(group, negotiates);
                }
            }
        }
    }
    all
}

/// Checks that droppers that are asked to mark have something to mark where transports send.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    let around = (parts.links, parts.nodes);
    // A place of a file may be the dropper of many links.
    let droppers = guarded(around, parts.classes, parts.groups, |place, _| place);
    for MarkingDropper { dropper, capable, other } in droppers.into_values() {
        let Marking::EcnCapable { by: Some(key) } = dropper.policy.marking() else { continue };
        if let (None, Some(other)) = (capable, other)
            && dropper.states(key)
        {
            let message = format!(
                "`{key}` asks for marks, and no connection here negotiates ECN: packets of `{}` are dropped instead",
                other.name
            );
            let help = "let its transport negotiate ECN, or leave marks out";
            report.add(dropper.place_of(key), Complaint::new(message).help(help));
        }
    }
}

/// The first dropper that marks packets of one connection, and has to drop those of another.
pub(super) fn mixed<'s>(
    around: (&'s [Link], &'s [Node]),
    classes: &'s [Class],
    groups: &'s [FlowGroup],
) -> Option<(Place, Complaint)> {
    guarded(around, classes, groups, |place, link| (place, link)).into_iter().find_map(|((place, link), found)| {
        if found.dropper.policy.marking() == Marking::DualQueue {
            return None;
        }
        let (capable, other) = found.capable.zip(found.other)?;
        let message = format!(
            "link {} marks packets of connection `{}` and drops those of `{}`, whose transport does not negotiate ECN",
            around.0[link].name, capable.name, other.name
        );
        Some((place, Complaint::new(message).help("let all of them negotiate it, or none, to have them compete alike")))
    })
}
