//! FQ-CoDel (RFC 8290): DRR++ among flows, and CoDel at the queue of each.
//!
//! Choices where the RFC leaves one:
//! - Flows are those that the classifier distinguishes: there is no hash, and no collision.
//! - The limit on all flows is that of the switch's memory, whose push-out takes the place of
//!   dropping from the longest queue.
//! - CoDel marks ECN-capable packets, as it does by itself.

use super::Parts;
use crate::contract::Refused;
use crate::dropper::BuiltInDropper;
use crate::dropper::codel::{CodelParams, Form};
use crate::params::{
    Carry, Consists, Fault, Marking, Parameters, PolicyParams, PolicyRecord, Role, Scope, Stamps, parameters,
};
use crate::scheduler::BuiltInScheduler;
use crate::scheduler::drr_plus_plus::{DrrPlusPlusForm, DrrPlusPlusParams};
use crate::units::Span;

parameters! {
    /// Parameters of FQ-CoDel.
    #[derive(Copy, Eq)]
    pub struct FqCodelParams {
        /// Quantum: bytes that a flow may send in its turn
        quantum: u32 as Size = 1_514,
        /// Acceptable standing sojourn time in a flow's queue, above 0
        target: Span = Span::from_millis(5),
        /// Time for which the sojourn time exceeds `target` before a packet is dropped or marked:
        /// about the longest round-trip time, above 0
        interval: Span = Span::from_millis(100),
        /// The RFC's algorithm, or that of Linux, as of CoDel
        form: Form = Form::Rfc,
    }
}

impl FqCodelParams {
    fn scheduler(&self) -> DrrPlusPlusParams {
        let form = match self.form {
            Form::Rfc => DrrPlusPlusForm::Rfc,
            Form::Linux => DrrPlusPlusForm::Linux,
        };
        DrrPlusPlusParams { quantum: self.quantum, form }
    }

    fn dropper(&self) -> CodelParams {
        CodelParams { target: self.target, interval: self.interval, limit: None, form: self.form }
    }
}

impl PolicyParams for FqCodelParams {
    type Policy = Parts;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "fq-codel",
        title: "FQ-CoDel",
        role: Role::Composite(Consists {
            scheduler: DrrPlusPlusParams::RECORD.name,
            dropper: CodelParams::RECORD.name,
            scope: Scope::Flow,
            sets: &[],
        }),
        help: "Flow queue CoDel: serves backlogged flows in turns of a quantum of bytes, flows that have just become \
               backlogged first, and keeps the queue of each short with CoDel.",
        source: "RFC 8290",
        params: FqCodelParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Parts, Refused> {
        Ok(Parts {
            scheduler: BuiltInScheduler::DrrPlusPlus(self.scheduler()),
            dropper: BuiltInDropper::Codel(self.dropper()),
            scope: Scope::Flow,
        })
    }

    fn example() -> FqCodelParams {
        FqCodelParams {
            quantum: 1_000,
            target: Span::from_millis(10),
            interval: Span::from_millis(80),
            form: Form::Rfc,
        }
    }

    fn marking(&self) -> Marking {
        self.dropper().marking()
    }

    fn check(&self) -> Result<(), Fault> {
        self.dropper().check()
    }
}
