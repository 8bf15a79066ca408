//! The parameters of deficit round robin, and its record.

use super::Drr;
use crate::contract::Refused;
use crate::params::{
    Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters, words,
};
use crate::units::Rate;

parameters! {
    /// Parameters of deficit round robin.
    #[derive(Eq)]
    pub struct DrrParams {
        /// Quantum: bytes per turn of the flow with the largest weight; the others have less, in
        /// proportion to their weights
        quantum: u32 as Size = 1_514,
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
        /// End of a turn: as soon as the flow's next packet is too long, or as in Linux when the
        /// next packet is selected; there a flow whose last packet has been taken has none left
        form: DrrForm = DrrForm::LookAhead,
    }
}

words! {
    /// Form of deficit round robin.
    pub enum DrrForm {
        /// A turn ends as soon as the next packet is too long; a flow whose last packet has been
        /// taken keeps its turn until the next packet is selected.
        LookAhead = "look-ahead",
        /// A turn ends when the next packet is selected; a flow whose last packet has been taken
        /// leaves at once.
        Linux = "linux",
    }
}

const UNRESERVED: Rate = match Rate::from_bits_per_second(10_000) {
    Some(rate) => rate,
    None => panic!(),
};

impl PolicyParams for DrrParams {
    type Policy = Drr;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "drr",
        title: "Deficit round robin",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves backlogged flows in turn; in its turn a flow sends a quantum of bytes in proportion \
               to its reservation, at most one large packet, plus the unused rest of its last turn.",
        source: "Shreedhar and Varghese 1996",
        params: DrrParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Drr, Refused> {
        Ok(Drr::new(*self))
    }

    fn example() -> DrrParams {
        DrrParams { quantum: 1_500, unreserved: UNRESERVED, form: DrrForm::LookAhead }
    }
}
