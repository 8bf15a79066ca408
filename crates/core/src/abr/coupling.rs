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
//! # Choices where the paper is silent
//!
//! - An allocation that is calculated at FRM1 and acts on the next loop lowers ACR2 at once. At
//!   BRM2 there is then "no action" (section 5.5), so ACR2 may rise above VAL2 until the next FRM1.
//! - An allocation that is calculated at BRM2 only is taken from a table when an FRM1 is turned
//!   round.
//! - "Next loop only" leaves VAL2 out of ER1. As ER1 is still at most ACR2, the congestion reaches
//!   the previous loop through ACR2; `er_bound = "none"` leaves out ACR2, too.
//! - A virtual source begins at PCR unless `icr` is given, and has the terms of the VC's source
//!   otherwise.
//! - RM cells of the next loop (FRM2) wait in the per-VC queue ([`VirtualSource`]).

use super::cell::RmCell;
use super::control::{Feedback, PortTerms, RateControl, VcIx};
use super::destination::Destination;
use super::registry::BuiltInRateControl;
use super::source::SourceTerms;
use super::virtual_source::VirtualSource;
use crate::contract::Refused;
use crate::packet::Mark;
use crate::params::{
    Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, registry, words,
};
use crate::stats::Count;
use crate::units::{Rate, Time};

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

parameters! {
    /// Parameters of VS/VD.
    #[derive(Eq)]
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

impl BuiltInCoupling {
    /// Makes the coupling at a port with a switch algorithm, without VCs.
    ///
    /// # Errors
    /// When a value is out of the algorithm's range.
    pub fn build(&self, algorithm: &BuiltInRateControl, link: Rate, start: Time) -> Result<Coupled, Refused> {
        let BuiltInCoupling::VsVd(params) = self;
        let measures = matches!(params.vc_rate, VcRate::PerVc | VcRate::Class);
        let algorithm = algorithm.build(&PortTerms { link, start, measures })?;
        Ok(Coupled { params: *params, algorithm, vcs: Vec::new() })
    }
}

/// The virtual sources and destinations of an output port, and its switch algorithm.
#[derive(Debug)]
pub struct Coupled {
    params: VsVdParams,
    algorithm: Box<dyn RateControl>,
    vcs: Vec<Segments>,
}

/// Both ends of a VC at the port.
#[derive(Debug)]
struct Segments {
    destination: Destination,
    source: VirtualSource,
    /// Feedback calculated last.
    table: Feedback,
}

impl Coupled {
    /// Opens the next VC, whose source has these terms.
    pub fn open(&mut self, terms: SourceTerms) -> VcIx {
        let icr = self.params.icr.map_or(terms.pcr, Rate::bits_per_second);
        self.algorithm.open();
        self.vcs.push(Segments {
            destination: Destination::default(),
            source: VirtualSource::new(SourceTerms { icr, ..terms }),
            table: Feedback::NONE,
        });
        VcIx(self.vcs.len() as u32 - 1)
    }

    /// ACR2 of a VC in bit/s: the service rate of its queue.
    pub fn acr(&self, vc: VcIx) -> f64 {
        self.vcs[vc.ix()].source.acr()
    }

    /// The switch algorithm.
    pub fn algorithm(&self) -> &dyn RateControl {
        self.algorithm.as_ref()
    }

    /// The switch algorithm, which also sees traffic other than the cells of the port's VCs.
    pub fn algorithm_mut(&mut self) -> &mut dyn RateControl {
        self.algorithm.as_mut()
    }

    /// Processes a data cell from the previous loop, which enters the per-VC queue without EFCI.
    /// Returns true if an FRM cell must follow it there.
    #[must_use]
    pub fn data(&mut self, now: Time, vc: VcIx, len: u32, mark: &mut Mark) -> bool {
        self.came(now, vc, len);
        let state = &mut self.vcs[vc.ix()];
        state.destination.data(*mark);
        *mark = mark.congestion_cleared();
        state.source.data_entered()
    }

    /// Reports a cell from the previous loop to the algorithm.
    fn came(&mut self, now: Time, vc: VcIx, len: u32) {
        if self.params.input_rate == InputRate::PerVc {
            self.algorithm.arrived(now, Some(vc), len);
        }
        if self.params.vc_rate == VcRate::PerVc {
            self.algorithm.measured(now, vc, len);
        }
    }

    /// Processes FRM1, a cell of `len` bytes. Returns the answer to the previous loop, and true if
    /// the first FRM cell must enter the per-VC queue.
    #[must_use]
    pub fn frm(&mut self, now: Time, vc: VcIx, frm: &RmCell, len: u32, queue: Count) -> (RmCell, bool) {
        self.came(now, vc, len);
        if self.params.vc_rate != VcRate::Frm2 {
            self.algorithm.declared(now, vc, frm.ccr as f64);
        }
        //= kalyanaraman1998 5.5
        if self.params.updated_at != UpdatedAt::Brm2 {
            let feedback = self.algorithm.feedback(now, vc, queue);
            let state = &mut self.vcs[vc.ix()];
            state.table = feedback;
            if self.params.acts_on != ActsOn::Previous {
                state.source.lower_to(feedback.er);
            }
        }
        let state = &mut self.vcs[vc.ix()];
        //= kalyanaraman1998 2.3
        let mut brm = state.destination.turn_round(frm);
        if self.params.acts_on != ActsOn::Next {
            state.table.write(&mut brm);
        }
        //= kalyanaraman1998 3.2
        if self.params.er_bound == ErBound::Acr2 {
            brm = brm.at_most(state.source.acr());
        }
        (brm, state.source.begins())
    }

    /// Processes BRM2, which has come from the next loop.
    pub fn brm(&mut self, now: Time, vc: VcIx, brm: &RmCell, queue: Count) {
        let mut brm = *brm;
        //= kalyanaraman1998 5.5
        if self.params.updated_at != UpdatedAt::Frm1 {
            let feedback = self.algorithm.feedback(now, vc, queue);
            self.vcs[vc.ix()].table = feedback;
            if self.params.acts_on != ActsOn::Previous {
                feedback.write(&mut brm);
            }
        }
        //= kalyanaraman1998 2.3
        self.vcs[vc.ix()].source.answered(&brm);
    }

    /// Moves a cell from the per-VC queue to the class queue; an FRM cell of the virtual source is
    /// written now.
    pub fn enter_class_queue(&mut self, now: Time, vc: VcIx, len: u32, frm: Option<&mut RmCell>) {
        if self.params.input_rate == InputRate::Class {
            self.algorithm.arrived(now, Some(vc), len);
        }
        //= kalyanaraman1998 5.1
        if self.params.vc_rate == VcRate::Class {
            self.algorithm.measured(now, vc, len);
        }
        let Some(frm) = frm else { return };
        *frm = self.vcs[vc.ix()].source.send_frm(now);
        if self.params.vc_rate == VcRate::Frm2 {
            self.algorithm.declared(now, vc, frm.ccr as f64);
        }
    }

    /// Reports an answer of a VC in the other direction that enters the class queue.
    pub fn answer_entered(&mut self, now: Time, len: u32) {
        if self.params.input_rate == InputRate::Class {
            self.algorithm.arrived(now, None, len);
        }
    }
}
