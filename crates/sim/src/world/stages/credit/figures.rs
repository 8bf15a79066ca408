//! Counters of links with credit, and their reports.

use tidegate_core::credit::messages::VcIx;
use tidegate_core::credit::output_pool::OutputPlan;
use tidegate_core::credit::params::CreditPlan;
use tidegate_core::credit::stall::Stall;
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

/// Counters of a link with credit since the warm-up.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) credit_cells: Count,
    pub(super) check_cells: Count,
    /// Credit cells and credit_check cells lost.
    pub(super) lost_cells: u64,
    /// Credit cells that arrived twice.
    pub(super) duplicated_cells: u64,
    /// Packets that checks found lost.
    pub(super) found_lost: u64,
    /// Packets without a place at the receiver.
    pub(super) dropped: u64,
    /// The most packets that were at the receiver.
    pub(super) queue_max: u64,
    /// Stalls that have ended.
    pub(super) stalls: Vec<StallReport>,
}

/// Counters of a VC since the warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct VcFigures {
    pub(super) queue_max: u32,
    /// Time without credit, up to the last time it received some.
    without_credit: Span,
    counted_from: Time,
}

impl Default for VcFigures {
    fn default() -> VcFigures {
        VcFigures { queue_max: 0, without_credit: Span::ZERO, counted_from: Time::ORIGIN }
    }
}

impl Figures {
    pub(super) fn restart_counts(&mut self, queued: u64) {
        // Stalls are reported since the start of the run.
        let stalls = core::mem::take(&mut self.stalls);
        *self = Figures { stalls, queue_max: queued, ..Figures::default() };
    }
}

impl VcFigures {
    pub(super) fn restart_counts(&mut self, now: Time, queued: u32) {
        *self = VcFigures { queue_max: queued, without_credit: Span::ZERO, counted_from: now };
    }

    /// Ends the time without credit since `since`.
    pub(super) fn ended_without_credit(&mut self, now: Time, since: Time) {
        self.without_credit += now.since(since.max(self.counted_from));
    }

    /// Returns the time without credit; if it has none now, since `since`.
    pub(super) fn without_credit(&self, now: Time, since: Time) -> Span {
        let begun = since.max(self.counted_from);
        self.without_credit + if begun < now { now.since(begun) } else { Span::ZERO }
    }
}

/// Report of a link with credit, since the warm-up.
#[derive(Clone, Debug)]
pub struct CreditReport {
    /// Its index in the network.
    pub link: u32,
    /// The plan.
    pub plan: CreditPlan,
    /// VCs.
    pub vcs: usize,
    /// Packets for which the receiver has memory.
    pub memory: u64,
    /// The most packets that were there.
    pub queue_max: u64,
    /// Credit cells sent, on the link in the other direction.
    pub credit_cells: Count,
    /// credit_check cells sent.
    pub check_cells: Count,
    /// Cells of both kinds that were lost.
    pub lost_cells: u64,
    /// Credit cells that arrived twice.
    pub duplicated_cells: u64,
    /// Packets that checks found lost.
    pub found_lost: u64,
    /// Packets without a place at the receiver.
    pub dropped: u64,
}

/// Report of a VC of a link with credit, since the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct VcReport {
    /// The link's index in the network.
    pub link: u32,
    /// Its number on the link.
    pub vc: VcIx,
    /// The flow; `None` for all flows of the link.
    pub flow: Option<u32>,
    /// Buf_Alloc at the end, as the sender knows it.
    pub buf_alloc: u32,
    /// N2 at the end.
    pub n2: u32,
    /// The most packets that were at the receiver.
    pub queue_max: u32,
    /// Time without credit.
    pub without_credit: Span,
}

/// A long time without credit of a VC, since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct StallReport {
    /// The link's index in the network.
    pub link: u32,
    /// The flow; `None` for all flows of the link.
    pub flow: Option<u32>,
    /// The VC, the start, and the duration in RTT.
    pub stall: Stall,
    /// End of the stall; `None` where it had not ended.
    pub until: Option<Time>,
}

/// Report of the pool at an output port, since the warm-up.
#[derive(Clone, Debug)]
pub struct OutputReport {
    /// The index of its node.
    pub node: u32,
    /// The link by which its VCs leave; `None` for VCs that end at the node.
    pub port: Option<u32>,
    /// Links over which they come.
    pub links: Vec<u32>,
    /// VCs.
    pub vcs: usize,
    /// The plan.
    pub plan: OutputPlan,
    /// The most packets that were in it.
    pub queue_max: u64,
}
