//! ABR connections that no port controls.

use super::found::{Found, and_more};
use crate::error::Complaint;
use crate::scenario::flows::FlowGroup;
use crate::scenario::{Scenario, abr};

/// ABR connections on whose way no port controls rates, so that only their own ends limit them.
pub(super) fn absent(scenario: &Scenario) -> Option<Found> {
    let controlled = |group: &&FlowGroup| {
        group.route.iter().any(|link| {
            let link = &scenario.links[*link];
            link.gate.is_some() || abr::controls(link)
        })
    };
    let first = |group: &FlowGroup| group.route.first().map(|link| scenario.links[*link].rate);
    let is_abr = |group: &FlowGroup| first(group).is_some_and(|rate| abr::is_abr(group, rate));
    let sends = |group: &&FlowGroup| group.start < scenario.duration && is_abr(group);
    let mut open = scenario.groups.iter().filter(sends).filter(|group| !controlled(group));
    let first = open.next()?;
    let message = format!(
        "no port on the way of {} controls its rate: an ABR source then sends at its peak cell rate, whatever the load",
        and_more(&first.name, open.count(), "connection")
    );
    Some((
        first.place,
        Complaint::new(message).help("give the ports a `rate_control`, or use another transport"),
    ))
}
