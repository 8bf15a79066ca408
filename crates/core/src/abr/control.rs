//! Switch algorithms: the feedback of an output port to the sources of its VCs.

use super::cell::RmCell;
use crate::stats::Count;
use crate::units::{Rate, Span, Time};
use core::fmt;

/// A VC at a port: VCs are numbered from 0 in the order in which they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VcIx(pub u32);

impl VcIx {
    /// The index as a `usize`, for a `Vec`.
    #[inline]
    pub const fn ix(self) -> usize {
        self.0 as usize
    }
}

/// The feedback of a port to the source of a VC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The VC's allocation on the link in bit/s (VAL); infinite for no limit.
    pub er: f64,
    /// Congestion indication.
    pub ci: bool,
    /// No increase.
    pub ni: bool,
}

impl Feedback {
    /// No limit and no indication.
    pub const NONE: Feedback = Feedback { er: f64::INFINITY, ci: false, ni: false };

    /// Writes the feedback into an RM cell on its way back.
    pub fn write(&self, cell: &mut RmCell) {
        *cell = cell.at_most(self.er);
        cell.ci |= self.ci;
        cell.ni |= self.ni;
    }
}

/// The setting of a switch algorithm.
#[derive(Clone, Copy, Debug)]
pub struct PortTerms {
    /// Rate of the link.
    pub link: Rate,
    /// The time at which the algorithm begins.
    pub start: Time,
    /// True if the rates of VCs are measured ([`RateControl::measured`]) rather than declared.
    pub measures: bool,
}

/// A switch algorithm at one output port: it sees the cells of the ABR class, and answers for each
/// VC.
pub trait RateControl: Send + fmt::Debug {
    /// Gives the algorithm its setting; called once, before every other call.
    fn begin(&mut self, terms: &PortTerms) {
        let _ = terms;
    }

    /// Opens the next VC.
    fn open(&mut self) {}

    /// Reports a cell at the point where the port's input rate is measured. `vc` is `None` for a
    /// cell whose rate no VC of the port declares: an answer of a VC in the other direction.
    fn arrived(&mut self, now: Time, vc: Option<VcIx>, len: u32) {
        let _ = (now, vc, len);
    }

    /// Reports an FRM cell of the VC, which declares its current rate, and its MCR.
    fn declared(&mut self, now: Time, vc: VcIx, frm: &RmCell) {
        let _ = (now, vc, frm);
    }

    /// Reports a cell of the VC at the point where the rates of VCs are measured.
    fn measured(&mut self, now: Time, vc: VcIx, len: u32) {
        let _ = (now, vc, len);
    }

    /// Reports bytes of higher priority than the ABR class that have left the link: CBR and VBR.
    fn left_above(&mut self, now: Time, len: u32) {
        let _ = (now, len);
    }

    /// Returns true if a data cell may get EFCI; otherwise [`marks`](Self::marks) is not called.
    fn sets_efci(&self) -> bool {
        false
    }

    /// Returns true if a data cell that leaves the class queue, which holds `queue`, gets EFCI.
    fn marks(&self, queue: Count) -> bool {
        let _ = queue;
        false
    }

    /// The feedback to the source of the VC when the class queue holds `queue`.
    fn feedback(&mut self, now: Time, vc: VcIx, queue: Count) -> Feedback;

    /// Reports the values that can be recorded over time, by name.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }
}

/// a of ERICA+: steepness of the target's decrease with the queueing delay.
const STEEPNESS: f64 = 1.15;
/// The least share of the capacity that ERICA+ aims at (QDLF).
const LEAST: f64 = 0.5;

/// f(T) of ERICA+: the share of the capacity to aim at while the queue takes `time` seconds at that
/// rate, and is to take `aim`.
pub(super) fn share_for_delay(time: f64, aim: Span) -> f64 {
    let aim = aim.as_secs_f64();
    if time > aim { (STEEPNESS * aim / ((STEEPNESS - 1.0) * time + aim)).max(LEAST) } else { 1.0 }
}
