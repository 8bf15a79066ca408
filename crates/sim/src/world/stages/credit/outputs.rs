//! Pools at output ports, for VCs that come over several links (Kung 1997, Figure 10).

use super::figures::OutputReport;
use super::link::CreditLink;
use super::output::Output;
use crate::probe::Subject;
use crate::stage::{Gauges, StageCx};
use std::collections::BTreeMap;
use tidegate_core::credit::messages::VcIx;
use tidegate_core::credit::params::CreditTerms;
use tidegate_core::units::Time;
use tidegate_formats::{CreditLinks, OutputCredit};

/// The pools at all output ports.
pub(super) struct Outputs {
    outputs: Vec<Output>,
    /// The pool of each link by which VCs leave, and that of the VCs that end after a link, by the
    /// links' indexes in the network.
    of_port: BTreeMap<u32, u32>,
    of_end: BTreeMap<u32, u32>,
}

impl Outputs {
    pub(super) fn new(plans: &CreditLinks) -> Outputs {
        let (mut of_port, mut of_end) = (BTreeMap::new(), BTreeMap::new());
        for (place, OutputCredit { port, links, .. }) in (0..).zip(&plans.outputs) {
            match port {
                Some(port) => _ = of_port.insert(*port as u32, place),
                None => of_end.extend(links.iter().map(|link| (*link as u32, place))),
            }
        }
        Outputs { outputs: plans.outputs.iter().map(Output::new).collect(), of_port, of_end }
    }

    /// Notes that a VC's packets leave the receiver by this link of the network.
    pub(super) fn leaves_by(&self, link: &mut CreditLink, vc: VcIx, port: u32) {
        if matches!(link.plan.terms, CreditTerms::Output { .. }) {
            link.vcs[vc.0 as usize].output = self.of_port.get(&port).copied();
        }
    }

    /// Adds all VCs to their pools. Those that leave by no port end at the receiver.
    pub(super) fn join(&mut self, links: &mut [CreditLink]) {
        for (place, link) in links.iter_mut().enumerate() {
            let CreditTerms::Output { confirmation, .. } = link.plan.terms else { continue };
            let end = self.of_end.get(&link.link).copied();
            for (vc, state) in (0..).map(VcIx).zip(&mut link.vcs) {
                state.output = state.output.or(end);
                if let Some(output) = state.output {
                    self.outputs[output as usize].pool.join(place, vc, confirmation);
                }
            }
        }
    }

    /// Returns the pool in which a VC of a link has its places, apart from the link's own memory.
    #[inline(always)]
    pub(super) fn of(&mut self, link: &CreditLink, vc: VcIx) -> Option<&mut Output> {
        if self.outputs.is_empty() {
            return None;
        }
        let output = link.vcs[vc.0 as usize].output?;
        self.outputs.get_mut(output as usize)
    }

    /// Returns the first wake-up time of each pool, and its place.
    pub(super) fn wake_ups(&self) -> impl Iterator<Item = (Time, u32)> {
        (0..).zip(&self.outputs).map(|(place, output)| (output.allocation_at, place))
    }

    /// Divides a pool, and announces the new allocations; returns the time of the next division.
    pub(super) fn allocate(&mut self, cx: &mut StageCx, place: u32, links: &mut [CreditLink]) -> Time {
        let output = &mut self.outputs[place as usize];
        output.pool.allocate(cx.now(), links);
        links.iter().for_each(|link| link.announce(cx));
        output.allocation_at = cx.now() + output.setup.plan.interval;
        output.allocation_at
    }

    pub(super) fn restart_counts(&mut self) {
        self.outputs.iter_mut().for_each(|output| output.queue_max = output.pool.queued());
    }

    pub(super) fn reports(&self) -> Vec<OutputReport> {
        self.outputs.iter().map(Output::report).collect()
    }

    /// Returns the places for packets in the pools that the VCs of a link share.
    pub(super) fn memory(&self, link: u32) -> u64 {
        let shares = |output: &&Output| output.setup.links.contains(&(link as usize));
        let places = |output: &Output| u64::from(output.setup.plan.adaptation.pool);
        self.outputs.iter().filter(shares).map(places).sum()
    }

    pub(super) fn gauges(&self, gauges: &mut Gauges<'_>) {
        for Output { setup, pool, .. } in &self.outputs {
            if let Some(port) = setup.port {
                gauges.show_for(Subject::Link(port as u32), "output_pool", pool.queued() as f64);
            }
        }
    }
}
