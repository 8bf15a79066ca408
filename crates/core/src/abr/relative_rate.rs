//! Relative-rate marking (ATM TM 4.0, section 5.10.6, rule 1c): CI and NI in RM cells on their way
//! back, by the length of the queue.

use super::control::{Feedback, RateControl, VcIx};
use crate::contract::Refused;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::stats::Count;
use crate::units::Time;
use alloc::format;

parameters! {
    /// Parameters of relative-rate marking.
    #[derive(Copy, Eq)]
    pub struct RelativeRateParams {
        /// Length of the class queue, in cells, at or above which rates are not increased (NI)
        no_increase: u32 as Integer(1, 100_000_000) = 50,
        /// Length of the class queue, in cells, at or above which rates are decreased (CI), at
        /// least `no_increase`
        congested: u32 as Integer(1, 100_000_000) = 200,
    }
}

impl PolicyParams for RelativeRateParams {
    type Policy = RelativeRate;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "relative-rate",
        title: "Relative-rate marking",
        role: Role::RateControl,
        help: "Sets NI, and in a longer queue CI, in the RM cells on their way back to the sources.",
        source: "ATM TM 4.0, section 5.10.6, rule 1c",
        params: RelativeRateParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<RelativeRate, Refused> {
        Ok(RelativeRate { no_increase: u64::from(self.no_increase), congested: u64::from(self.congested) })
    }

    fn example() -> RelativeRateParams {
        RelativeRateParams { no_increase: 20, congested: 100 }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.congested >= self.no_increase {
            return Ok(());
        }
        let message =
            format!("`congested` ({}) is below `no_increase` ({})", self.congested, self.no_increase);
        Err(Fault::at("congested", message))
    }
}

/// Relative-rate marking, as [`RelativeRateParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct RelativeRate {
    no_increase: u64,
    congested: u64,
}

impl RateControl for RelativeRate {
    fn feedback(&mut self, _: Time, _: VcIx, queue: Count) -> Feedback {
        Feedback {
            er: f64::INFINITY,
            //= kalyanaraman1998 1
            ci: queue.packets >= self.congested,
            ni: queue.packets >= self.no_increase,
        }
    }
}
