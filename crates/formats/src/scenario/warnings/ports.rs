//! Policies that a flow meets at the port of a link.

use crate::policy::Chosen;
use crate::port::DropperSpec;
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::{Link, NodeKind};
use tidegate_core::scheduler::SchedulerKind;

impl Scenario {
    /// Returns true if the node that sends on a link is a switch, whose ports have classes.
    pub(super) fn forwards(&self, link: &Link) -> bool {
        self.nodes[link.from].kind == NodeKind::Switch
    }

    /// The class of a flow at a link, and those that it is in, from the innermost on; none at a
    /// host.
    pub(super) fn classes_at(&self, group: &FlowGroup, link: &Link) -> impl Iterator<Item = usize> {
        let class = group.class.filter(|_| self.forwards(link));
        std::iter::successors(class, |class| self.classes[*class].parent)
    }

    /// The scheduler that orders a flow at a link: its class's, or the port's own.
    pub(super) fn scheduler_at<'s>(&'s self, group: &FlowGroup, link: &'s Link) -> &'s Chosen<SchedulerKind> {
        let class = self.classes_at(group, link).next();
        class.map_or(&link.port.scheduler, |class| &self.classes[class].scheduler)
    }

    /// The droppers that a flow passes at a link, from the innermost class outwards.
    pub(super) fn droppers_at<'s>(
        &'s self,
        group: &FlowGroup,
        link: &'s Link,
    ) -> impl Iterator<Item = &'s DropperSpec> {
        let classes = self.classes_at(group, link).map(|class| &self.classes[class].dropper);
        classes.chain([&link.port.dropper]).flatten()
    }
}
