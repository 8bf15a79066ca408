//! Ceilings: the packets that wait for them, and the resources that these packets take from others.

use super::found::Found;
use crate::error::{Complaint, Place};
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::NodeKind;
use tidegate_core::switch::plan::PushOut;

/// A ceiling in a pool whose push-out ignores which packets may be sent.
pub(super) fn open_pool(scenario: &Scenario) -> Option<Found> {
    if scenario.push_out == PushOut::Shares {
        return None;
    }
    let in_pool = |link: &usize| scenario.nodes[scenario.links[*link].from].buffer.is_some();
    let (place, whose) = ceiling_where(scenario, in_pool)?;
    let message = format!(
        "what waits for the ceiling of {whose} may fill the pool, and the link stands idle: push-out of the \
         longest queue ignores which packets may be sent"
    );
    Some((place, Complaint::new(message).help("leave out `push_out`")))
}

/// A ceiling at a port whose dropper also counts the packets that wait for the ceiling.
pub(super) fn open_queue(scenario: &Scenario) -> Option<Found> {
    let guarded = |link: &usize| {
        let link = &scenario.links[*link];
        scenario.nodes[link.from].kind == NodeKind::Switch && link.port.dropper.is_some()
    };
    let (place, whose) = ceiling_where(scenario, guarded)?;
    let message = format!(
        "what waits for the ceiling of {whose} counts in the queue that the port's dropper guards: others lose \
         packets while the link stands idle"
    );
    let help = "give the class a dropper of its own in place of the port's, or limit the switch's `buffer`";
    Some((place, Complaint::new(message).help(help)))
}

/// The first flow or class with a ceiling that passes a link for which `such` is true.
fn ceiling_where(scenario: &Scenario, mut such: impl FnMut(&usize) -> bool) -> Option<(Place, String)> {
    scenario.groups.iter().find_map(|group| {
        let whose = ceiling_of(scenario, group)?;
        group.route.iter().any(&mut such).then_some(whose)
    })
}

/// A flow's own ceiling, or that of a class that it is in.
fn ceiling_of(scenario: &Scenario, group: &FlowGroup) -> Option<(Place, String)> {
    if group.ceiling.is_some() {
        return Some((group.place, format!("flow `{}`", group.name)));
    }
    let mut above = std::iter::successors(group.class, |class| scenario.classes[*class].parent);
    let capped = above.find(|class| scenario.classes[*class].ceiling.is_some())?;
    let class = &scenario.classes[capped];
    Some((class.place, format!("class `{}`", class.name)))
}
