//! EPRCA, the enhanced proportional rate-control algorithm (Roberts 1994, AF-TM 94-0735R1; Jain
//! 1996, Congestion control and traffic management in ATM networks: recent advances and a survey,
//! section 6): the fair share is a little less than the mean of the rates that RM cells declare.
//!
//! # Choices where the sources are silent
//!
//! - The mean begins with the rate of the first RM cell.
//! - Thresholds are those of a queue in cells; the sources give none.

use super::cell::RmCell;
use super::control::{Feedback, RateControl, VcIx};
use crate::contract::Refused;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::stats::Count;
use crate::units::Time;
use alloc::format;

parameters! {
    /// Parameters of EPRCA.
    #[derive(Copy)]
    pub struct EprcaParams {
        /// Weight of an RM cell's rate in the mean allowed cell rate (MACR)
        weight: f64 = 0.0625,
        /// Share of MACR to which VCs are limited while the queue is congested: the down pressure
        /// factor (DPF)
        down_pressure: f64 = 0.875,
        /// Length of the class queue, in cells, at or above which rates are limited to that share
        congested: u32 as Integer(1, 100_000_000) = 100,
        /// Length of the class queue, in cells, at or above which rates are also decreased (CI), at
        /// least `congested`
        very_congested: u32 as Integer(1, 100_000_000) = 1000,
    }
}

impl PolicyParams for EprcaParams {
    type Policy = Eprca;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "eprca",
        title: "EPRCA",
        role: Role::RateControl,
        help: "Averages the rates that RM cells declare; while the queue of the ABR class is long it limits \
               VCs to a share of the average, and while it is very long it also sets CI.",
        source: "Roberts 1994 (AF-TM 94-0735R1); Jain 1996, section 6",
        params: EprcaParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Eprca, Refused> {
        Ok(Eprca { params: *self, macr: None })
    }

    fn example() -> EprcaParams {
        EprcaParams { weight: 0.125, down_pressure: 0.9, congested: 50, very_congested: 500 }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.very_congested >= self.congested {
            return Ok(());
        }
        let message =
            format!("`very_congested` ({}) is below `congested` ({})", self.very_congested, self.congested);
        Err(Fault::at("very_congested", message))
    }
}

/// EPRCA, as [`EprcaParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct Eprca {
    params: EprcaParams,
    /// Mean allowed cell rate in bit/s; `None` before the first RM cell.
    macr: Option<f64>,
}

impl RateControl for Eprca {
    fn declared(&mut self, _: Time, _: VcIx, frm: &RmCell) {
        let rate = frm.ccr as f64;
        //= kalyanaraman1998 1
        self.macr = Some(self.macr.map_or(rate, |macr| macr + self.params.weight * (rate - macr)));
    }

    fn feedback(&mut self, _: Time, _: VcIx, queue: Count) -> Feedback {
        let EprcaParams { down_pressure, congested, very_congested, .. } = self.params;
        let is_congested = queue.packets >= u64::from(congested);
        //= kung1997 4
        let share = self.macr.filter(|_| is_congested).map_or(f64::INFINITY, |macr| down_pressure * macr);
        Feedback { er: share, ci: queue.packets >= u64::from(very_congested), ni: false }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("macr", self.macr.unwrap_or(f64::NAN));
    }
}
