//! Reservations of classes beyond those above them.

use super::found::Found;
use crate::error::Complaint;
use crate::scenario::Scenario;
use crate::units::show_rate;
use std::collections::BTreeSet;

/// Classes that reserve more together than the link carries, or than the class that they are in
/// reserves, below a scheduler that shares by reservations: each gets less than it reserves. Flows'
/// own reservations are refused when they do not fit.
pub(super) fn classes(scenario: &Scenario) -> Option<Found> {
    let Scenario { links, classes, groups, .. } = scenario;
    for (index, link) in links.iter().enumerate().filter(|(_, link)| link.gate.is_none()) {
        let passing = groups.iter().filter(|group| group.route.contains(&index));
        let used: BTreeSet<usize> = passing.flat_map(|group| scenario.classes_at(group, link)).collect();
        let parents: BTreeSet<Option<usize>> = used.iter().map(|class| classes[*class].parent).collect();
        for parent in parents {
            let scheduler = parent.map_or(&link.port.scheduler, |parent| &classes[parent].scheduler);
            let room = match parent {
                Some(parent) => classes[parent].contract.reserve_bits(),
                None => Some(link.rate_bits.min(link.port.ceiling.unwrap_or(u64::MAX))),
            };
            let Some(room) = room.filter(|_| scheduler.policy.record().reads.contains(&"reserve")) else {
                continue;
            };
            let mut sum = 0u64;
            for class in used.iter().filter(|class| classes[**class].parent == parent) {
                sum = sum.saturating_add(classes[*class].contract.reserve_bits().unwrap_or(0));
                if sum > room {
                    let whose = match parent {
                        None => format!("link {} carries {}", link.name, show_rate(room)),
                        Some(parent) => {
                            format!("class `{}` reserves {}", classes[parent].name, show_rate(room))
                        }
                    };
                    let message = format!(
                        "with class `{}`, classes reserve {} on link {}, and {whose}: each gets less than it reserves",
                        classes[*class].name,
                        show_rate(sum),
                        link.name
                    );
                    let complaint = Complaint::new(message).help("reserve less for the classes");
                    return Some((classes[*class].place, complaint));
                }
            }
        }
    }
    None
}
