//! Overload without a limit.

use super::charged::rate_at;
use super::found::Found;
use crate::error::Complaint;
use crate::scenario::network::{Link, NodeKind};
use crate::scenario::{Load, Scenario};
use crate::units::{show_rate, show_time};
use std::collections::BTreeMap;
use tidegate_core::units::Span;

/// A recording that is shorter than this part of the run is a burst, and no load.
const SHORTEST: u64 = 10;

/// The first link that is offered more than it carries while all waiting packets are kept: they
/// take memory as long as the run goes on.
pub(super) fn overload(scenario: &Scenario, loads: &[Load]) -> Option<Found> {
    let endless = |link: usize| {
        let link = &scenario.links[link];
        let bounded = scenario.nodes[link.from].buffer.is_some() || link.gate.is_some();
        !bounded && link.port.dropper.is_none()
    };
    let changes = changes_of_load(scenario, loads).into_iter().filter(|(link, _)| endless(*link));
    changes.into_iter().find_map(|(link, changes)| {
        let (at, offered) = most_offered(changes);
        let Link { name, rate_bits, from, port, .. } = &scenario.links[link];
        let carried = (*rate_bits).min(port.ceiling.unwrap_or(u64::MAX));
        if offered <= carried {
            return None;
        }
        let help = match scenario.nodes[*from].kind {
            NodeKind::Switch => "give the switch a `buffer`, as in switch = { buffer = \"100p\" }",
            NodeKind::Host => "send less, or make the host's link faster",
        };
        let message = format!(
            "link {name} carries {}, and is offered {} from {} on: without a limit, all that waits \
             takes memory",
            show_rate(carried),
            show_rate(offered),
            show_time(at)
        );
        let place = scenario.groups.iter().find(|group| group.route.contains(&link))?.place;
        Some((place, Complaint::new(message).help(help)))
    })
}

/// Changes of the load that flows with a known rate offer to each link, and their times. Flows that
/// come one after the other are not counted.
fn changes_of_load(scenario: &Scenario, loads: &[Load]) -> BTreeMap<usize, Vec<(Span, i128)>> {
    let mut changes: BTreeMap<usize, Vec<(Span, i128)>> = BTreeMap::new();
    for load in loads {
        let group = &scenario.groups[load.group];
        if group.every.is_some() || group.lasts.is_some() {
            continue;
        }
        let stop = group.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let (rate, end) = match (group.source.mean(), load.played) {
            (Some(rate), _) => (rate, group.stop),
            (None, Some(played)) => {
                let end = (group.start + played.lasts).min(stop);
                if (end - group.start).ticks() < scenario.duration.ticks() / SHORTEST {
                    continue;
                }
                (played.rate, Some(end))
            }
            (None, None) => continue,
        };
        let each = rate.min(group.ceiling.unwrap_or(u64::MAX));
        for (place, link) in group.route.iter().enumerate() {
            let of_link = changes.entry(*link).or_default();
            let each = group.share_at(place, rate_at(&scenario.links[*link], group, each));
            let all = i128::from(each) * i128::from(load.count);
            of_link.push((group.start, all));
            of_link.extend(end.map(|end| (end, -all)));
        }
    }
    changes
}

/// The greatest load that these changes lead to, and the time at which it begins.
fn most_offered(mut changes: Vec<(Span, i128)>) -> (Span, u64) {
    // At one instant, decreases come first.
    changes.sort_unstable();
    let (mut offered, mut most) = (0, (Span::ZERO, 0));
    for (at, change) in changes {
        offered += change;
        if offered > most.1 {
            most = (at, offered);
        }
    }
    (most.0, u64::try_from(most.1).unwrap_or(u64::MAX))
}
