//! An output port of the ABR class without VS/VD: its treatment of the cells that pass it.

use super::cell::RmCell;
use super::control::{PortTerms, RateControl, VcIx};
use super::registry::BuiltInRateControl;
use crate::contract::Refused;
use crate::stats::Count;
use crate::units::{Rate, Time};
use alloc::boxed::Box;

/// An output port that writes the feedback of its link into the RM cells of its VCs on their way
/// back (Kalyanaraman et al. 1998, section 3.1).
#[derive(Debug)]
pub struct OutputPort {
    algorithm: Box<dyn RateControl>,
    vcs: u32,
}

impl OutputPort {
    /// A port without VCs.
    ///
    /// # Errors
    /// When a value is out of the algorithm's range.
    pub fn new(algorithm: &BuiltInRateControl, link: Rate, start: Time) -> Result<OutputPort, Refused> {
        let algorithm = algorithm.build(&PortTerms { link, start, measures: false })?;
        Ok(OutputPort { algorithm, vcs: 0 })
    }

    /// Opens the next VC.
    pub fn open(&mut self) -> VcIx {
        self.algorithm.open();
        self.vcs += 1;
        VcIx(self.vcs - 1)
    }

    /// The switch algorithm.
    pub fn algorithm(&self) -> &dyn RateControl {
        self.algorithm.as_ref()
    }

    /// The switch algorithm, which also sees traffic other than the cells of the port's VCs.
    pub fn algorithm_mut(&mut self) -> &mut dyn RateControl {
        self.algorithm.as_mut()
    }

    /// Processes a cell of the VC that enters the class queue: an FRM cell, or a data cell.
    #[inline(always)]
    pub fn cell(&mut self, now: Time, vc: VcIx, len: u32, frm: Option<&RmCell>) {
        //= kalyanaraman1998 2.1
        self.algorithm.arrived(now, Some(vc), len);
        if let Some(frm) = frm {
            self.algorithm.declared(now, vc, frm);
        }
    }

    /// Processes a BRM cell of the VC on its way back.
    pub fn answer(&mut self, now: Time, vc: VcIx, brm: &mut RmCell, queue: Count) {
        //= kalyanaraman1998 3.1
        self.algorithm.feedback(now, vc, queue).write(brm);
    }
}
