//! Counters of a direction and statistics of a rule's flows, shared by the engine and the input
//! path.

mod counters;
mod envelope;
mod flow;

pub(crate) use counters::{Counters, LossReason};
pub(crate) use envelope::Envelope;
pub(crate) use flow::{FlowStatistics, NO_MATCH};
