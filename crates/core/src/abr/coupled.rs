//! An output port with VS/VD: both ends of each VC there, by the settings of [`coupling`].
//!
//! [`coupling`]: super::coupling

use super::cell::RmCell;
use super::control::{Feedback, PortTerms, RateControl, VcIx, share_for_delay};
use super::coupling::{
    ActsOn, BeforeBrm2, BuiltInCoupling, ErBound, InputRate, PerVcInput, PerVcService, UpdatedAt, VcRate,
    VsVdParams,
};
use super::destination::Destination;
use super::registry::BuiltInRateControl;
use super::source::SourceTerms;
use super::virtual_source::VirtualSource;
use crate::contract::Refused;
use crate::packet::Mark;
use crate::stats::Count;
use crate::units::{Rate, Time};
use alloc::boxed::Box;
use alloc::vec::Vec;

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
    /// True once a BRM cell has come from the next loop.
    answered: bool,
}

impl Coupled {
    /// Opens the next VC, whose source has these terms.
    pub fn open(&mut self, terms: SourceTerms) -> VcIx {
        let icr = self.params.icr.map_or(terms.pcr, Rate::bits_per_second);
        self.algorithm.open();
        self.vcs.push(Segments {
            destination: Destination::default(),
            source: VirtualSource::new(SourceTerms { icr, headroom: None, ..terms }),
            table: Feedback::NONE,
            answered: false,
        });
        VcIx(self.vcs.len() as u32 - 1)
    }

    /// Returns true if the queues of VCs are served at their ACR2; otherwise the port's scheduler
    /// serves them.
    pub fn paces(&self) -> bool {
        //= kalyanaraman1998 8
        self.params.service == PerVcService::Acr2
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

    /// Processes FRM1, a cell of `len` bytes, while the class queue and the per-VC queue hold
    /// `queues`. Returns the answer to the previous loop, and true if the first FRM cell must enter
    /// the per-VC queue.
    #[must_use]
    pub fn frm(
        &mut self,
        now: Time,
        vc: VcIx,
        frm: &RmCell,
        len: u32,
        (queue, waiting): (Count, Count),
    ) -> (RmCell, bool) {
        //= kalyanaraman1998 4.2
        if self.params.per_vc_input == PerVcInput::Cells {
            self.came(now, vc, len);
        }
        if self.params.vc_rate != VcRate::Frm2 {
            self.algorithm.declared(now, vc, frm);
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
        let from_table = self.params.updated_at == UpdatedAt::Brm2 && self.params.acts_on != ActsOn::Next;
        if from_table && !self.vcs[vc.ix()].answered {
            self.vcs[vc.ix()].table = self.first_feedback(now, vc, frm, queue);
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
        //= kalyanaraman1998 8
        if let Some(aim) = self.params.per_vc_delay {
            let acr = state.source.acr();
            let time = waiting.bytes as f64 * 8.0 / acr.max(1.0);
            brm = brm.at_most(acr * share_for_delay(time, aim));
        }
        (brm, state.source.begins())
    }

    /// The feedback to the previous loop before the first BRM2.
    fn first_feedback(&mut self, now: Time, vc: VcIx, frm: &RmCell, queue: Count) -> Feedback {
        //= kalyanaraman1998 4.4
        match self.params.before_brm2 {
            BeforeBrm2::NoLimit => Feedback::NONE,
            BeforeBrm2::Calculated => self.algorithm.feedback(now, vc, queue),
            BeforeBrm2::Declared => Feedback { er: frm.ccr as f64, ..Feedback::NONE },
        }
    }

    /// Processes BRM2, which has come from the next loop.
    pub fn brm(&mut self, now: Time, vc: VcIx, brm: &RmCell, queue: Count) {
        let mut brm = *brm;
        self.vcs[vc.ix()].answered = true;
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

    /// Moves a cell from the per-VC queue to the class queue, or to the link; an FRM cell of the virtual source is
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
            self.algorithm.declared(now, vc, frm);
        }
    }

    /// Reports an answer of a VC in the other direction that enters the class queue.
    pub fn answer_entered(&mut self, now: Time, len: u32) {
        if self.params.input_rate == InputRate::Class {
            self.algorithm.arrived(now, None, len);
        }
    }
}
