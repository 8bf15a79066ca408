//! DualPI2 (RFC 9332): an L4S and a Classic queue, served by a time-shifted FIFO, with coupled PI2
//! over both.
//!
//! Choices where the RFC leaves one:
//! - The scheduler. The RFC asks for one that keeps the L4S queue short without starving the Classic
//!   one, and names a weighted round robin and a time-shifted FIFO. The latter serves L4S packets
//!   first in normal operation, and in overload shares the link as one FIFO would: no weight limits
//!   either side, and the coupling alone decides the shares.
//! - Packets are told apart by their ECN field alone, and a flow's packets keep their order.
//! - The limit on both queues is that of the switch's memory.

use super::Parts;
use crate::contract::Refused;
use crate::dropper::BuiltInDropper;
use crate::dropper::coupled_pi2::CoupledPi2Params;
use crate::params::{
    Carry, Consists, Fault, Marking, Parameters, PolicyParams, PolicyRecord, Role, Scope, Stamps, parameters,
};
use crate::scheduler::BuiltInScheduler;
use crate::scheduler::time_shifted_fifo::TimeShiftedFifoParams;
use crate::units::Span;

parameters! {
    /// Parameters of DualPI2.
    #[derive(Copy)]
    pub struct DualPi2Params {
        /// Target of the Classic queueing delay, above 0
        target: Span = Span::from_millis(15),
        /// Time from one update of the base probability to the next (Tupdate), above 0
        update: Span = Span::from_millis(16),
        /// Weight of the Classic delay's distance from `target`, per second
        alpha: f64 as Number(0.0, 1000.0) = 0.16,
        /// Weight of the Classic delay's change since the last update, per second
        beta: f64 as Number(0.0, 1000.0) = 3.2,
        /// Coupling factor: the L4S marking probability over the base probability
        k: f64 as Number(0.1, 100.0) = 2.0,
        /// L4S delay above which L4S packets are marked (minTh)
        min_th: Span = Span::from_micros(800),
        /// L4S delays above `min_th` over which the marking probability rises to 1; 0 is a step
        range: Span = Span::from_micros(400),
        /// L4S packets waiting behind one up to which its delay does not mark it
        th_len: u32 as Integer(0, 1_000_000) = 1,
        /// Time by which a Classic packet counts as later than it arrived
        shift: Span = Span::from_millis(50),
    }
}

impl DualPi2Params {
    fn dropper(&self) -> CoupledPi2Params {
        CoupledPi2Params {
            target: self.target,
            update: self.update,
            alpha: self.alpha,
            beta: self.beta,
            k: self.k,
            min_th: self.min_th,
            range: self.range,
            th_len: self.th_len,
            limit: None,
        }
    }
}

impl PolicyParams for DualPi2Params {
    type Policy = Parts;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "dualpi2",
        title: "DualPI2",
        role: Role::Composite(Consists {
            scheduler: TimeShiftedFifoParams::RECORD.name,
            dropper: CoupledPi2Params::RECORD.name,
            scope: Scope::Node,
            sets: &[],
        }),
        help: "Dual-queue coupled AQM: L4S packets (ECT(1) or CE) wait in a short queue and are marked, Classic ones in \
               a longer one, and coupled probabilities keep the rates of the flows comparable.",
        source: "RFC 9332",
        params: DualPi2Params::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Parts, Refused> {
        Ok(Parts {
            scheduler: BuiltInScheduler::TimeShiftedFifo(TimeShiftedFifoParams { shift: self.shift }),
            dropper: BuiltInDropper::CoupledPi2(self.dropper()),
            scope: Scope::Node,
        })
    }

    fn example() -> DualPi2Params {
        DualPi2Params {
            target: Span::from_millis(10),
            update: Span::from_millis(8),
            alpha: 0.3,
            beta: 3.0,
            k: 1.5,
            min_th: Span::from_millis(1),
            range: Span::from_millis(1),
            th_len: 0,
            shift: Span::from_millis(30),
        }
    }

    fn marking(&self) -> Marking {
        self.dropper().marking()
    }

    fn check(&self) -> Result<(), Fault> {
        self.dropper().check()
    }
}
