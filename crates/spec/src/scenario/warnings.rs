//! Settings that are not mistakes, but are seldom intended.

use super::{Scenario, marking, metered};
use crate::error::{Complaint, Place, SpecError};
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::{Link, NodeKind};
use crate::units::{show_rate, show_time};
use std::collections::BTreeMap;
use tidegate_core::switch::plan::PushOut;
use tidegate_core::units::Span;

impl Scenario {
    /// Settings that are not mistakes, but are seldom intended, with their places.
    pub fn warnings(&self) -> Vec<SpecError> {
        let Scenario { links, nodes, classes, profiles, groups, .. } = self;
        let oversubscribed = metered::oversubscribed(links, nodes, classes, profiles, groups);
        let mixed = marking::mixed((links, nodes), classes, groups);
        let uncoloured = metered::uncoloured(links, nodes, classes, groups);
        let found = [self.overload(), self.open_pool(), self.open_queue(), oversubscribed, uncoloured, mixed];
        found.into_iter().flatten().map(|(place, complaint)| self.origin.error(place, complaint)).collect()
    }

    /// The first link that is offered more than it carries while all that waits is kept: it takes memory as long
    /// as the run goes on.
    fn overload(&self) -> Option<(Place, Complaint)> {
        let endless = |link: usize| {
            let link = &self.links[link];
            let bounded = self.nodes[link.from].buffer.is_some() || link.gate.is_some();
            !bounded && link.port.dropper.is_none()
        };
        let loads = self.changes_of_load().into_iter().filter(|(link, _)| endless(*link));
        loads.into_iter().find_map(|(link, changes)| {
            let (at, offered) = most_offered(changes);
            let Link { name, rate_bits, from, port, .. } = &self.links[link];
            let carried = (*rate_bits).min(port.ceiling.unwrap_or(u64::MAX));
            if offered <= carried {
                return None;
            }
            let help = match self.nodes[*from].kind {
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
            let place = self.groups.iter().find(|group| group.route.contains(&link))?.place;
            Some((place, Complaint::new(message).help(help)))
        })
    }

    /// By how much flows with a stated rate raise and lower what is offered to each link, and when. Flows that come
    /// one after the other are not counted.
    fn changes_of_load(&self) -> BTreeMap<usize, Vec<(Span, i128)>> {
        let mut changes: BTreeMap<usize, Vec<(Span, i128)>> = BTreeMap::new();
        for group in self.groups.iter().filter(|group| group.every.is_none() && group.lasts.is_none()) {
            let Some(rate) = group.source.mean() else { continue };
            let each = rate.min(group.ceiling.unwrap_or(u64::MAX));
            let all = i128::from(each) * i128::from(group.count);
            for link in &group.route {
                let of_link = changes.entry(*link).or_default();
                of_link.push((group.start, all));
                of_link.extend(group.stop.map(|stop| (stop, -all)));
            }
        }
        changes
    }

    /// A ceiling in a pool whose push-out ignores which packets may be sent.
    fn open_pool(&self) -> Option<(Place, Complaint)> {
        if self.push_out == PushOut::Shares {
            return None;
        }
        let in_pool = |link: &usize| self.nodes[self.links[*link].from].buffer.is_some();
        let (place, whose) = self.ceiling_where(in_pool)?;
        let message = format!(
            "what waits for the ceiling of {whose} may fill the pool, and the link stands idle: push-out of the \
             longest queue ignores which packets may be sent"
        );
        Some((place, Complaint::new(message).help("leave out `push_out`")))
    }

    /// A ceiling at a port whose dropper counts the packets that wait for it.
    fn open_queue(&self) -> Option<(Place, Complaint)> {
        let guarded = |link: &usize| {
            let link = &self.links[*link];
            self.nodes[link.from].kind == NodeKind::Switch && link.port.dropper.is_some()
        };
        let (place, whose) = self.ceiling_where(guarded)?;
        let message = format!(
            "what waits for the ceiling of {whose} counts in the queue that the port's dropper guards: others lose \
             packets while the link stands idle"
        );
        let help =
            "give the class a dropper of its own in place of the port's, or limit the switch's `buffer`";
        Some((place, Complaint::new(message).help(help)))
    }

    /// The first flow or class with a ceiling that passes a link for which `such` is true.
    fn ceiling_where(&self, mut such: impl FnMut(&usize) -> bool) -> Option<(Place, String)> {
        self.groups.iter().find_map(|group| {
            let whose = self.ceiling_of(group)?;
            group.route.iter().any(&mut such).then_some(whose)
        })
    }

    /// A flow's own ceiling, or that of a class that it is in.
    fn ceiling_of(&self, group: &FlowGroup) -> Option<(Place, String)> {
        if group.ceiling.is_some() {
            return Some((group.place, format!("flow `{}`", group.name)));
        }
        let mut above = std::iter::successors(group.class, |class| self.classes[*class].parent);
        let capped = above.find(|class| self.classes[*class].ceiling.is_some())?;
        let class = &self.classes[capped];
        Some((class.place, format!("class `{}`", class.name)))
    }
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
