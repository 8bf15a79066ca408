//! Settings that are not mistakes, but are seldom intended.
//!
//! Each kind of them is found by one function, which names the first case in the file, or all of
//! them in one
//! message. The output of `check`, `run`, `compare` and every other command comes from here.

mod buffers;
mod ceilings;
mod colours;
mod idle;
mod late;
mod load;
mod pool;
mod rate_control;
mod reserved;
mod unread;
mod windows;

use super::{Load, Scenario, marking, metered};
use crate::error::{Complaint, FormatError, Place};
use crate::policy::Chosen;
use crate::port::DropperSpec;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::{Link, NodeKind};
use tidegate_core::scheduler::SchedulerKind;

/// A setting that is seldom intended, and its place.
type Found = (Place, Complaint);

impl Scenario {
    /// Settings that are not mistakes, but are seldom intended, with their places, as far as the
    /// file alone shows them.
    pub fn warnings(&self) -> Vec<FormatError> {
        let loads: Vec<Load> =
            self.groups.iter().enumerate().map(|(index, group)| Load::of_group(index, group)).collect();
        self.warnings_of(&loads)
    }

    /// Like [`Scenario::warnings`], with the known load of recordings on links.
    pub fn warnings_of(&self, loads: &[Load]) -> Vec<FormatError> {
        let Scenario { links, nodes, classes, profiles, groups, .. } = self;
        let oversubscribed = metered::oversubscribed(links, nodes, classes, profiles, groups);
        let mixed = marking::mixed((links, nodes), classes, groups);
        let found = [
            load::overload(self, loads),
            buffers::too_small(self, loads),
            ceilings::open_pool(self),
            ceilings::open_queue(self),
            pool::short(self, loads),
            oversubscribed,
            reserved::classes(self),
            colours::uncoloured(self),
            unread::profiles(self),
            mixed,
            rate_control::absent(self),
            windows::short(self),
            late::starts(self),
            idle::links(self),
        ];
        let mut all: Vec<Found> = found.into_iter().flatten().collect();
        all.extend(unread::contracts(self));
        all.into_iter().map(|(place, complaint)| self.origin.error(place, complaint)).collect()
    }

    /// Returns true if the node that sends on a link is a switch, whose ports have classes.
    fn forwards(&self, link: &Link) -> bool {
        self.nodes[link.from].kind == NodeKind::Switch
    }

    /// The class of a flow at a link, and those that it is in, from the innermost on; none at a
    /// host.
    fn classes_at(&self, group: &FlowGroup, link: &Link) -> impl Iterator<Item = usize> {
        let class = group.class.filter(|_| self.forwards(link));
        std::iter::successors(class, |class| self.classes[*class].parent)
    }

    /// The scheduler that orders a flow at a link: its class's, or the port's own.
    fn scheduler_at<'s>(&'s self, group: &FlowGroup, link: &'s Link) -> &'s Chosen<SchedulerKind> {
        let class = self.classes_at(group, link).next();
        class.map_or(&link.port.scheduler, |class| &self.classes[class].scheduler)
    }

    /// The droppers that a flow passes at a link, from the innermost class outwards.
    fn droppers_at<'s>(&'s self, group: &FlowGroup, link: &'s Link) -> impl Iterator<Item = &'s DropperSpec> {
        let classes = self.classes_at(group, link).map(|class| &self.classes[class].dropper);
        classes.chain([&link.port.dropper]).flatten()
    }
}

/// `a`, `a and 3 more flows`.
fn and_more(first: &str, more: usize, noun: &str) -> String {
    let ending = if noun.ends_with('s') { "es" } else { "s" };
    match more {
        0 => format!("`{first}`"),
        1 => format!("`{first}` and 1 more {noun}"),
        more => format!("`{first}` and {more} more {noun}{ending}"),
    }
}
