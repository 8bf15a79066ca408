//! Flows and changes that would begin after the end of the run.

use super::found::{Found, and_more};
use crate::error::Complaint;
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::source::Source;
use crate::units::show_time;
use tidegate_core::units::Span;

/// Flows that start when the run is over, and changes that they would ask for then.
pub(super) fn starts(scenario: &Scenario) -> Option<Found> {
    let end = scenario.duration;
    // The answers of a connection start with its data.
    let groups = || scenario.groups.iter().filter(|group| !matches!(group.source, Source::Receiver { .. }));
    let late = |when: fn(&FlowGroup) -> Option<Span>| {
        let mut late = groups().filter_map(move |group| when(group).filter(|at| *at >= end).zip(Some(group)));
        late.next().map(|(at, group)| (at, group, late.count()))
    };
    let (message, group, help) = if let Some((at, group, more)) = late(|group| Some(group.start)) {
        let who = and_more(&group.name, more, "flow");
        let message = format!(
            "the run is over after {}, and {who} would start at {}: it sends nothing",
            show_time(end),
            show_time(at)
        );
        (message, group, "start it earlier, or let the run last longer")
    } else {
        let (at, group, more) = late(|group| group.changes.first().map(|change| change.at))?;
        let who = and_more(&group.name, more, "flow");
        let message = format!(
            "the run is over after {}, and {who} would ask for a change at {}",
            show_time(end),
            show_time(at)
        );
        (message, group, "let it ask earlier, or let the run last longer")
    };
    Some((group.place, Complaint::new(message).help(help)))
}
