//! Reports of links with credit, of their VCs and of stalls.

use super::Credit;
use super::figures::{CreditReport, OutputReport, StallReport, VcReport};
use super::link::CreditLink;
use super::outputs::Outputs;
use crate::world::World;
use tidegate_core::credit::messages::VcIx;
use tidegate_core::units::Time;

impl CreditLink {
    fn report(&self, outputs: &Outputs) -> CreditReport {
        let figures = &self.figures;
        CreditReport {
            link: self.link,
            plan: self.plan,
            vcs: self.vcs.len(),
            memory: self.plan.memory(self.vcs.len() as u64) + outputs.memory(self.link),
            queue_max: figures.queue_max,
            credit_cells: figures.credit_cells,
            check_cells: figures.check_cells,
            lost_cells: figures.lost_cells,
            duplicated_cells: figures.duplicated_cells,
            found_lost: figures.found_lost,
            dropped: figures.dropped,
        }
    }

    fn vc_report(&self, now: Time, vc: VcIx) -> VcReport {
        let figures = &self.vcs[vc.0 as usize].figures;
        VcReport {
            link: self.link,
            vc,
            flow: self.flow_of(vc),
            buf_alloc: self.sender.buf_alloc(vc),
            n2: self.receiver.allocated(vc).1,
            queue_max: figures.queue_max,
            without_credit: figures.without_credit(now, self.sender.no_credit_since(vc)),
        }
    }
}

impl Credit {
    /// Returns the measurements of each VC.
    fn vc_reports(&self, now: Time) -> Vec<VcReport> {
        let of_link =
            |link: &CreditLink| (0..link.vcs.len()).map(|vc| link.vc_report(now, VcIx(vc as u32))).collect();
        self.links.iter().flat_map(|link| -> Vec<VcReport> { of_link(link) }).collect()
    }

    /// Returns the VCs that have stalled, in the order of links; `waits` returns true if packets
    /// wait at a hop.
    fn stalls(&self, now: Time, waits: impl Fn(u32) -> bool) -> Vec<StallReport> {
        let mut stalls = Vec::new();
        for link in &self.links {
            stalls.extend(link.figures.stalls.iter().copied());
            for (ix, vc) in (0..).zip(&link.vcs) {
                let since = link.sender.no_credit_since(VcIx(ix));
                let stall =
                    link.stall(VcIx(ix), since, now).filter(|_| vc.hops.iter().any(|hop| waits(*hop)));
                stalls.extend(stall.map(|stall| link.stall_report(stall, None)));
            }
        }
        stalls
    }
}

impl<Q> World<Q> {
    /// Returns the reports of links with credit since the warm-up.
    pub fn credit_links(&self) -> Vec<CreditReport> {
        let reports =
            |credit: &Credit| credit.links.iter().map(|link| link.report(&credit.outputs)).collect();
        self.stage::<Credit>().map(reports).unwrap_or_default()
    }

    /// Returns the reports of pools at output ports since the warm-up.
    pub fn credit_outputs(&self) -> Vec<OutputReport> {
        self.stage::<Credit>().map(|credit| credit.outputs.reports()).unwrap_or_default()
    }

    /// Returns the reports of VCs of links with credit since the warm-up.
    pub fn credit_vcs(&self) -> Vec<VcReport> {
        self.stage::<Credit>().map(|credit| credit.vc_reports(self.cx.now)).unwrap_or_default()
    }

    /// Returns the VCs that had packets to send, no credit and nothing at the receiver for 100 RTT
    /// or more, since the start of the run.
    pub fn stalls(&self) -> Vec<StallReport> {
        let waits = |hop| self.cx.fabric.waits_at(hop);
        self.stage::<Credit>().map(|credit| credit.stalls(self.cx.now, waits)).unwrap_or_default()
    }
}
