//! Policies that tell packets apart by colour, where no packet is coloured.

use super::found::Found;
use crate::error::{Complaint, Place};
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::scenario::metered::{colours, meters};
use crate::source::Source;
use std::collections::BTreeMap;
use tidegate_core::packet::Colour;

/// A policy that goes by colours, as a file states it.
struct ColourPolicy {
    message: String,
    /// True if coloured packets pass it.
    coloured: bool,
}

/// The first dropper or detector that goes by the colours of packets, where no packet has been
/// coloured: neither by a meter on its way, nor by an envelope or its source, and none comes with a
/// code point of its own. The answers of connections count with other traffic only.
pub(super) fn uncoloured(scenario: &Scenario) -> Option<Found> {
    // A place of a file may be the policy of many links.
    let mut readers: BTreeMap<Place, ColourPolicy> = BTreeMap::new();
    for group in scenario.groups.iter().filter(|group| !matches!(group.source, Source::Receiver { .. })) {
        for index in &group.route {
            let link = &scenario.links[*index];
            if link.gate.is_some() {
                continue;
            }
            let coloured = is_coloured(scenario, group, *index);
            let mut add = |place: Place, what: String, effect: &str| {
                let message = format!("{what}, and no meter colours what passes there: {effect}");
                let reader = readers.entry(place).or_insert(ColourPolicy { message, coloured });
                reader.coloured |= coloured;
            };
            for dropper in scenario.droppers_at(group, link).map(|dropper| &dropper.chosen) {
                if dropper.policy.reads_colours() {
                    let title = dropper.record().title;
                    let what = format!("{title} on link {} tells packets apart by colour", link.name);
                    add(dropper.place_of(""), what, "all of it is green");
                }
            }
            let classes = scenario.classes_at(group, link).map(|class| &scenario.classes[class].detector);
            for detector in classes.chain([&link.port.detector]).flatten() {
                if detector.policy.reads_colours() {
                    let what = format!(
                        "the detector of link {} looks at drops of packets out of profile",
                        link.name
                    );
                    add(detector.place_of("drops"), what, "it finds nothing");
                }
            }
        }
    }
    let (place, ColourPolicy { message, .. }) = readers.into_iter().find(|(_, reader)| !reader.coloured)?;
    let help = "put a meter that colours on the way: at a host, or at a port before";
    Some((place, Complaint::new(message).help(help)))
}

/// Returns true if a flow's packets have colours when they are queued for a link.
fn is_coloured(scenario: &Scenario, group: &FlowGroup, until: usize) -> bool {
    let own = group.envelope.is_some() || group.headers.is_some() || group.colour != Colour::Green;
    let mut way = group.route.iter().take_while(|link| **link != until).chain([&until]);
    own || way
        .any(|link| meters(group, &scenario.links[*link], &scenario.nodes, &scenario.classes).any(colours))
}
