//! Couplings of the control loops before and behind a VS/VD switch (Kalyanaraman et al. 1998,
//! sections 3.2 and 4).
//!
//! # Model
//!
//! For every VC there is a virtual destination, which ends the *previous loop*, a queue of its own,
//! and a virtual source, which begins the *next loop* and moves cells from that queue to the class
//! queue at ACR2. The port's switch algorithm allocates VAL2. An RM cell of the previous loop
//! (FRM1) is turned round with
//!
//! `ER1 = min(ER1, VAL2, ACR2)`,
//!
//! and an answer from the next loop (BRM2) sets `ACR2 = Fn(min(ER2, VAL2), ACR2)` by the rules of a
//! source. Four settings are open, which makes 72 couplings: the source of a VC's current rate, the
//! source of the input rate, the loop on which congestion of the link acts (whether VAL2 is in the
//! first formula, in the second, or in both), and when VAL2 is calculated.
//!
//! The algorithm's CI and NI go the same ways as VAL2.
//!
//! Two settings are of later work. The port's scheduler may serve the per-VC queues whenever the
//! link is free, in place of ACR2. And ER1 may depend on the per-VC queue: with `per_vc_delay` it is
//! at most f(T) · ACR2, T the time that the queue takes at ACR2 and f ERICA+'s, so that the queue
//! drains (Goyal, Kalyanaraman, Jain, Fahmy, Vandalore, Per-VC rate allocation techniques for ABR
//! feedback in VS/VD networks, GLOBECOM 1998).
//!
//! # Choices where the paper is silent
//!
//! - An allocation that is calculated at FRM1 and acts on the next loop lowers ACR2 at once. At
//!   BRM2 there is then "no action" (section 5.5), so ACR2 may rise above VAL2 until the next FRM1.
//! - An allocation that is calculated at BRM2 only is taken from a table when an FRM1 is turned
//!   round. The table is empty before the first BRM2, and ER1 is then not limited by the link;
//!   `before_brm2` has two other readings.
//! - RM cells of the previous loop count where the input of a per-VC queue is measured, although
//!   they end there; `per_vc_input` leaves them out.
//! - "Next loop only" leaves VAL2 out of ER1. As ER1 is still at most ACR2, the congestion reaches
//!   the previous loop through ACR2; `er_bound = "none"` leaves out ACR2, too.
//! - A virtual source begins at PCR unless `icr` is given, and has the terms of the VC's source
//!   otherwise.
//! - Rule 13 is for the source in the host: a virtual source keeps its rate.
//! - RM cells of the next loop (FRM2) wait in the per-VC queue
//!   ([`VirtualSource`](super::VirtualSource)).

use crate::contract::Refused;
use crate::params::{
    Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, registry, words,
};
use crate::units::{Rate, Span};
use alloc::borrow::ToOwned;

words! {
    /// Current rate of a VC (section 4.1).
    //= kalyanaraman1998 4.1
    pub enum VcRate {
        /// Rate declared by the source of the previous loop.
        Frm1 = "frm1",
        /// Rate declared by the virtual source: ACR2.
        Frm2 = "frm2",
        /// Rate measured at the entry to the per-VC queue.
        PerVc = "per-vc",
        /// Rate measured at the entry to the class queue.
        Class = "class",
    }
}

words! {
    /// Input rate of the port (section 4.2).
    //= kalyanaraman1998 4.2
    pub enum InputRate {
        /// Sum of the input rates of the per-VC queues.
        PerVc = "per-vc",
        /// Input rate of the class queue.
        Class = "class",
    }
}

words! {
    /// Loops on which congestion of the link acts (section 4.3).
    //= kalyanaraman1998 4.3
    pub enum ActsOn {
        /// Only on the previous loop, by ER1.
        Previous = "previous",
        /// Only on the next loop, by ACR2.
        Next = "next",
        /// On both.
        Both = "both",
    }
}

words! {
    /// Time at which the allocated rate is calculated (section 4.4).
    //= kalyanaraman1998 4.4
    pub enum UpdatedAt {
        /// At the turn-round of an FRM cell of the previous loop.
        Frm1 = "frm1",
        /// At the arrival of a BRM cell of the next loop.
        Brm2 = "brm2",
        /// At both.
        Both = "both",
    }
}

words! {
    /// Bound of ER1 besides VAL2.
    pub enum ErBound {
        /// ACR2.
        Acr2 = "acr2",
        /// Nothing.
        Nothing = "none",
    }
}

words! {
    /// Allocation that is returned while the table of allocations is empty (section 4.4).
    //= kalyanaraman1998 4.4
    pub enum BeforeBrm2 {
        /// None: the link does not limit the previous loop.
        NoLimit = "no-limit",
        /// Allocation calculated when the FRM cell is turned round.
        Calculated = "calculated",
        /// Rate that the FRM cell declares: the previous loop does not increase its rate.
        Declared = "declared",
    }
}

words! {
    /// Cells of the previous loop that count at the entry to a per-VC queue (section 4.2).
    //= kalyanaraman1998 4.2
    pub enum PerVcInput {
        /// Data and RM cells: all that the previous loop sends.
        Cells = "cells",
        /// Data cells: all that enters the queue.
        Data = "data",
    }
}

words! {
    /// Service of the per-VC queues (section 8).
    //= kalyanaraman1998 8
    pub enum PerVcService {
        /// Each at ACR2, in front of the class queue.
        Acr2 = "acr2",
        /// By the port's scheduler, which has a queue for each VC, whenever the link is free.
        Scheduler = "scheduler",
    }
}

parameters! {
    /// Parameters of VS/VD.
    #[derive(Copy, Eq)]
    pub struct VsVdParams {
        /// Current rate of a VC: declared by its source (frm1) or by the virtual source (frm2), or
        /// measured at the entry to the per-VC or the class queue
        vc_rate: VcRate = VcRate::Class,
        /// Input rate: the sum of the inputs of the per-VC queues, or the input of the class queue
        input_rate: InputRate = InputRate::Class,
        /// Loop on which congestion of the link acts: the previous one, the next one, or both
        acts_on: ActsOn = ActsOn::Both,
        /// Time at which allocations are calculated: when an FRM cell of the previous loop is
        /// turned around, when a BRM cell of the next loop arrives, or both
        updated_at: UpdatedAt = UpdatedAt::Both,
        /// Bound of ER1 besides the allocation: ACR2, or none
        er_bound: ErBound = ErBound::Acr2,
        /// Initial cell rate of virtual sources; without it, the VC's PCR
        icr: Option<Rate>,
        /// Allocation returned before the first BRM cell of the next loop, with `updated_at` brm2:
        /// none, the one calculated then, or the declared rate
        before_brm2: BeforeBrm2 = BeforeBrm2::NoLimit,
        /// Input of a per-VC queue where rates are measured: all cells of the previous loop, or
        /// data cells alone
        per_vc_input: PerVcInput = PerVcInput::Cells,
        /// Service of the per-VC queues: at ACR2, or by the port's scheduler whenever the link is
        /// free
        service: PerVcService = PerVcService::Acr2,
        /// Target of the queueing delay in a per-VC queue, above zero: beyond it ER1 is below ACR2,
        /// so that the queue drains; without it, ER1 does not depend on that queue
        per_vc_delay: Option<Span>,
    }
}

impl PolicyParams for VsVdParams {
    type Policy = VsVdParams;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "vs-vd",
        title: "Virtual source and virtual destination (VS/VD)",
        role: Role::Coupling,
        help: "Ends the control loop of each VC at the port and starts a new one, with a queue for each VC \
               before the class queue. The default is option D of the paper, its best.",
        source: "Kalyanaraman et al. 1998; ATM TM 4.0, section 5.10.7",
        params: VsVdParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<VsVdParams, Refused> {
        Ok(*self)
    }

    fn example() -> VsVdParams {
        VsVdParams {
            vc_rate: VcRate::Frm1,
            input_rate: InputRate::PerVc,
            acts_on: ActsOn::Previous,
            updated_at: UpdatedAt::Frm1,
            er_bound: ErBound::Nothing,
            icr: Rate::from_bits_per_second(500_000),
            before_brm2: BeforeBrm2::Calculated,
            per_vc_input: PerVcInput::Data,
            service: PerVcService::Acr2,
            per_vc_delay: Some(Span::from_micros(1500)),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let fault = |message: &str| Err(Fault::at("per_vc_delay", message.to_owned()));
        match (self.per_vc_delay, self.service) {
            (Some(Span::ZERO), _) => fault("`per_vc_delay` is zero: leave it out to aim at none"),
            (Some(_), PerVcService::Scheduler) => {
                fault("`per_vc_delay` is for queues that are served at ACR2, and a scheduler serves them")
            }
            _ => Ok(()),
        }
    }
}

// The registry: one line a coupling.
registry! {
    /// A built-in coupling with its parameters.
    pub enum BuiltInCoupling {
        VsVd(VsVdParams),
    }
}

/// The coupling that a table without a kind is.
pub const DEFAULT: &PolicyRecord = &VsVdParams::RECORD;
