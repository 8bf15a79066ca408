//! ABR connections that no port controls.

use super::found::{Found, and_more};
use crate::error::Complaint;
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::source::Source;

/// ABR connections on whose way no port controls rates, so that only their own ends limit them.
pub(super) fn absent(scenario: &Scenario) -> Option<Found> {
    let controlled = |group: &&FlowGroup| {
        group.route.iter().any(|link| {
            let link = &scenario.links[*link];
            link.gate.is_some() || link.port.rate_control.is_some()
        })
    };
    let sends = |group: &&FlowGroup| group.start < scenario.duration && is_abr(scenario, group);
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

/// Returns true if a group's data are cells of ABR VCs.
fn is_abr(scenario: &Scenario, group: &FlowGroup) -> bool {
    let Source::Sender { transport, .. } = &group.source else { return false };
    let Some(first) = group.route.first() else { return false };
    let made = transport.policy.build();
    let rate = scenario.links[*first].rate;
    group.vc.is_some() || made.is_ok_and(|made| made.source_terms(rate, 1).is_some())
}
