//! FQ-PIE (the queueing discipline of Linux by that name): DRR++ among flows, and PIE at the queue
//! of each.
//!
//! Choices:
//! - Flows are those that the classifier distinguishes: there is no hash, and no collision.
//! - The delay of a flow's queue is that of its packet that was selected last, as it is by default
//!   in Linux: a flow's departure rate is a share of the link that changes with every other flow.
//! - The limit on all flows is that of the switch's memory, whose push-out takes the place of
//!   refusing the arriving packet.

use super::Parts;
use crate::contract::Refused;
use crate::dropper::BuiltInDropper;
use crate::dropper::pie::{Delay, Form, PieParams};
use crate::params::{
    Carry, Consists, Fault, Marking, Parameters, PolicyParams, PolicyRecord, Role, Scope, Stamps, parameters,
};
use crate::scheduler::BuiltInScheduler;
use crate::scheduler::drr_plus_plus::{DrrPlusPlusForm, DrrPlusPlusParams};
use crate::units::Span;

parameters! {
    /// Parameters of FQ-PIE.
    #[derive(Copy)]
    pub struct FqPieParams {
        /// Quantum: bytes that a flow may send in its turn
        quantum: u32 as Size = 1_514,
        /// Target of the queueing delay of a flow, above 0
        target: Span = Span::from_millis(15),
        /// Time from one update of the drop probability to the next, above 0
        update: Span = Span::from_millis(15),
        /// Length of a burst of a flow that passes before its packets are dropped at random
        max_burst: Span = Span::from_millis(150),
        /// Weight of the delay's distance from `target`, per second
        alpha: f64 as Number(0.0, 1000.0) = 0.125,
        /// Weight of the delay's change since the last update, per second
        beta: f64 as Number(0.0, 1000.0) = 1.25,
        /// Drop probability below which ECN-capable packets are marked; from there on they are
        /// dropped like others
        mark_below: f64 = 0.1,
        /// Length of a typical packet: with no more than two of them queued, nothing of a flow is
        /// dropped at random
        mean_packet: u32 as Size = 1_500,
        /// The algorithm of RFC 8033, or that of Linux, as of PIE
        form: Form = Form::Rfc,
    }
}

impl FqPieParams {
    fn scheduler(&self) -> DrrPlusPlusParams {
        let form = match self.form {
            Form::Rfc => DrrPlusPlusForm::Rfc,
            Form::Linux => DrrPlusPlusForm::Linux,
        };
        DrrPlusPlusParams { quantum: self.quantum, form }
    }

    fn dropper(&self) -> PieParams {
        let FqPieParams { quantum: _, target, update, max_burst, alpha, beta, mark_below, mean_packet, form } =
            *self;
        PieParams {
            target,
            update,
            max_burst,
            alpha,
            beta,
            mark_below,
            mean_packet,
            limit: None,
            delay: Delay::Timestamps,
            form,
        }
    }
}

impl PolicyParams for FqPieParams {
    type Policy = Parts;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "fq-pie",
        title: "FQ-PIE",
        role: Role::Composite(Consists {
            scheduler: DrrPlusPlusParams::RECORD.name,
            dropper: PieParams::RECORD.name,
            scope: Scope::Flow,
            sets: &[("delay", "timestamps")],
        }),
        help: "Flow queue PIE: serves backlogged flows in turns of a quantum of bytes, flows that have just become \
               backlogged first, and keeps the queue of each near a target delay with PIE.",
        source: "Linux; RFC 8290, RFC 8033",
        params: FqPieParams::PARAMS,
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
            dropper: BuiltInDropper::Pie(self.dropper()),
            scope: Scope::Flow,
        })
    }

    fn example() -> FqPieParams {
        FqPieParams {
            quantum: 1_000,
            target: Span::from_millis(20),
            update: Span::from_millis(10),
            max_burst: Span::from_millis(50),
            alpha: 0.25,
            beta: 2.5,
            mark_below: 0.2,
            mean_packet: 1_000,
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
