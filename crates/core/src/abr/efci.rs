//! EFCI marking (ATM TM 4.0, section 5.10.6, rule 1a): data cells are marked while the queue is
//! long, and the destination reports the marks to the source.

use super::control::{Feedback, RateControl, VcIx};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::stats::Count;
use crate::units::Time;

parameters! {
    /// Parameters of EFCI marking.
    #[derive(Copy, Eq)]
    pub struct EfciParams {
        /// Length of the class queue, in cells, at or above which data cells are marked
        threshold: u32 as Integer(1, 100_000_000) = 100,
    }
}

impl PolicyParams for EfciParams {
    type Policy = Efci;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "efci",
        title: "EFCI marking",
        role: Role::RateControl,
        help: "Marks data cells while the queue of the ABR class is long; their destination sets CI in the \
               next RM cell that it turns around.",
        source: "ATM TM 4.0, section 5.10.6, rule 1a",
        params: EfciParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Efci, Refused> {
        Ok(Efci { threshold: u64::from(self.threshold) })
    }

    fn example() -> EfciParams {
        EfciParams { threshold: 50 }
    }
}

/// EFCI marking, as [`EfciParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct Efci {
    threshold: u64,
}

impl RateControl for Efci {
    fn sets_efci(&self) -> bool {
        true
    }

    fn marks(&self, queue: Count) -> bool {
        //= kalyanaraman1998 1
        queue.packets >= self.threshold
    }

    fn feedback(&mut self, _: Time, _: VcIx, _: Count) -> Feedback {
        Feedback::NONE
    }
}
