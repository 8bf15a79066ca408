//! Counters of a direction and statistics of a rule's flows. What the engine and the way in both count lies here.

mod counters;
mod flow;

pub(crate) use counters::{Counters, LossReason};
pub(crate) use flow::FlowStatistics;
