//! Intelligent congestion control, also called adaptive proportional rate control (Siu and Tzeng,
//! Intelligent congestion control for ABR service in ATM networks, ACM Computer Communication
//! Review 24(5), 1994; Kalyanaraman 1997, Traffic management for the ABR service, section 4.6): as
//! EPRCA, but the port is congested while its queue grows, and the estimate of the fair share leaves
//! out the rates that tell nothing about it.
//!
//! # Model
//!
//! The port estimates one rate for all of its VCs, MACR. An FRM cell moves it towards the rate that
//! the cell declares, if the port is congested and that rate is below MACR, or is not congested and
//! the rate is above: a VC that is held back elsewhere does not lower the estimate while there is
//! capacity left. While the port is congested, VCs are limited to a share of MACR; otherwise they
//! increase by their own steps. A port is congested while its queue has grown over the last `cells`
//! cells.
//!
//! # Choices where the sources are silent
//!
//! - MACR begins with the rate of the first RM cell.
//! - Growth is judged when an answer passes and `cells` cells or more have arrived since the
//!   previous time. Growth by no more cells than the port has VCs is none: at any load a cell of
//!   each may meet there.
//! - A queue at or above `very_congested` limits rates also while it does not grow, and decreases
//!   them (CI): otherwise it would stay.

use super::cell::RmCell;
use super::control::{Feedback, RateControl, VcIx};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::stats::Count;
use crate::units::Time;

parameters! {
    /// Parameters of intelligent congestion control.
    #[derive(Copy)]
    pub struct AprcParams {
        /// Weight of an RM cell's rate in the estimate of the fair share (MACR)
        weight: f64 = 0.0625,
        /// Share of MACR to which VCs are limited while the queue grows
        down_pressure: f64 = 0.875,
        /// Number of cells over which the growth of the queue is judged
        cells: u32 as Integer(1, 100_000_000) = 100,
        /// Length of the class queue, in cells, at or above which rates are limited and decreased
        /// (CI) whether or not it grows
        very_congested: u32 as Integer(1, 100_000_000) = 300,
    }
}

impl PolicyParams for AprcParams {
    type Policy = Aprc;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "aprc",
        title: "Intelligent congestion control (APRC)",
        role: Role::RateControl,
        help: "Estimates a fair share from the rates that RM cells declare, and limits VCs to a part of it \
               while the queue of the ABR class grows; while it is very long it also sets CI.",
        source: "Siu and Tzeng 1994; Kalyanaraman 1997, section 4.6",
        params: AprcParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Aprc, Refused> {
        Ok(Aprc { params: *self, vcs: 0, macr: None, cells: 0, queue: 0, grows: false })
    }

    fn example() -> AprcParams {
        AprcParams { weight: 0.125, down_pressure: 0.9, cells: 50, very_congested: 500 }
    }
}

/// Intelligent congestion control, as [`AprcParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct Aprc {
    params: AprcParams,
    vcs: u64,
    /// Estimate of the fair share in bit/s; `None` before the first RM cell.
    macr: Option<f64>,
    /// Cells since the growth of the queue was last judged, and the queue at that time.
    cells: u32,
    queue: u64,
    grows: bool,
}

impl RateControl for Aprc {
    fn open(&mut self) {
        self.vcs += 1;
    }

    fn arrived(&mut self, _: Time, _: Option<VcIx>, _: u32) {
        self.cells = self.cells.saturating_add(1);
    }

    fn declared(&mut self, _: Time, _: VcIx, frm: &RmCell) {
        let rate = frm.ccr as f64;
        //= kalyanaraman1998 1
        self.macr = Some(match self.macr {
            None => rate,
            Some(macr) if self.grows == (rate < macr) => macr + self.params.weight * (rate - macr),
            Some(macr) => macr,
        });
    }

    fn feedback(&mut self, _: Time, _: VcIx, queue: Count) -> Feedback {
        if self.cells >= self.params.cells {
            self.grows = queue.packets > self.queue + self.vcs;
            (self.cells, self.queue) = (0, queue.packets);
        }
        let ci = queue.packets >= u64::from(self.params.very_congested);
        let share = self.macr.filter(|_| self.grows || ci);
        Feedback { er: share.map_or(f64::INFINITY, |macr| self.params.down_pressure * macr), ci, ni: false }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("macr", self.macr.unwrap_or(f64::NAN));
    }
}
