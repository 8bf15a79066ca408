//! The parameters of deficit round robin, and its record.

use super::flow::FRACTION;
use super::{Drr, quantum};
use crate::contract::Refused;
use crate::curves::{Exact, quotient, whole};
use crate::params::{
    Carry, FixedPort, Line, NoLine, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps,
    parameters, words,
};
use crate::units::Rate;
use alloc::vec::Vec;

parameters! {
    /// Parameters of deficit round robin.
    #[derive(Copy, Eq)]
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

    /// A flow with the quantum φ among quanta that sum to F has its share φ / F after `((F − φ)(1 + l /
    /// φ) + ΣL) / C`, l being its largest packet and ΣL the sum of the others' (Boyer, Stea and
    /// Sofack 2012, theorem 1; for equal packets Stiliadis and Varma 1998, table I). Here a turn ends
    /// when the service of its last packet begins, so that a flow may join behind one packet more,
    /// and a flow whose packets are longer than its quantum joins behind all others when it may
    /// send, which may cost another F − φ.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        port.or_arbitrary(index, self.own_line(port, index))
    }
}

impl DrrParams {
    fn own_line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        port.has_whole_link()?;
        if self.form == DrrForm::Linux {
            let words = "in the form `linux` a flow whose last packet is on its way out loses its turn";
            return Err(NoLine::Because(words));
        }
        let weights = port.flows.iter().map(|flow| flow.contract.reserve.unwrap_or(self.unreserved).weight());
        let weights: Vec<u64> = weights.collect();
        let heaviest = weights.iter().copied().max().unwrap_or(1);
        let quanta = weights.iter().map(|weight| quantum(self.quantum, *weight, heaviest));
        let quanta: Vec<Exact> = quanta.map(|quantum| quotient(quantum, 1 << FRACTION)).collect();
        let (all, own) = (quanta.iter().sum::<Exact>(), &quanta[index]);
        let largest = whole(port.flows[index].largest);
        let joins = whole(if largest > *own { 2 } else { 1 });
        let turns = (&all - own) * (joins + &largest / own);
        let late = turns + port.largest_of_others(index) + port.largest(|_| true);
        let source = "DRR (Boyer, Stea and Sofack 2012, theorem 1, and a packet)";
        Ok(port.own_line(index, &port.rate * own / all, &late, source))
    }
}
