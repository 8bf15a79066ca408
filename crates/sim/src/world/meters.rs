//! What meters along the way have said of each flow.

use super::{Around, World};
use crate::probe::Series;
use tidegate_core::meter::Metered;
use tidegate_core::units::{Span, Time};

/// Checks and warnings of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Checks.
    pub checks: u64,
    /// Checks at which it was warned.
    pub warnings: u64,
}

impl Checks {
    pub(super) fn add(&mut self, metered: &Metered) {
        self.checks += metered.checks;
        self.warnings += metered.warnings;
    }
}

/// A flow's checks that the meters do not keep themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowMeters {
    /// Those at ports where the flow is closed.
    pub(super) closed: Checks,
    /// Those up to the end of the warm-up.
    before: Checks,
}

impl<Q> World<Q> {
    /// What the ports on the flow's way say of it now, one after the other; at a gate it has no port of its own.
    fn metered(&self, flow: usize) -> impl Iterator<Item = Metered> {
        let first = self.flows[flow].first_hop as usize;
        let last = self.hops[first..].iter().position(|hop| hop.last).map_or(first, |last| first + last + 1);
        let own = self.hops[first..last].iter().filter(|hop| hop.around != Around::Gate);
        own.filter_map(|hop| self.nodes[hop.node as usize].switch.metered(hop.leg))
    }

    fn checks_so_far(&self, flow: usize) -> Checks {
        let mut checks = self.meters[flow].closed;
        self.metered(flow).for_each(|metered| checks.add(&metered));
        checks
    }

    /// The flow's checks over all ports on its way, since the warm-up.
    pub fn checks(&self, flow: usize) -> Checks {
        let (all, before) = (self.checks_so_far(flow), self.meters[flow].before);
        Checks { checks: all.checks - before.checks, warnings: all.warnings - before.warnings }
    }

    /// What was checked so far does not count.
    pub(super) fn meter_anew(&mut self) {
        for flow in 0..self.flows.len() {
            self.meters[flow].before = self.checks_so_far(flow);
        }
    }

    /// What the meters say at the time of a sample, group by group.
    pub(super) fn sample_meters(&mut self, at: Time) {
        let Some(groups) = self.series.as_ref().filter(|_| self.has_meters).map(Series::groups) else {
            return;
        };
        let mut samples = vec![(Span::ZERO, 0); groups];
        for (ix, flow) in self.flows.iter().enumerate() {
            let (lead, warnings) = &mut samples[flow.group as usize];
            *warnings += self.meters[ix].closed.warnings;
            for metered in self.metered(ix) {
                *lead = (*lead).max(metered.lead(at));
                *warnings += metered.warnings;
            }
        }
        if let Some(series) = &mut self.series {
            series.take_leads(samples.into_iter());
        }
    }
}
