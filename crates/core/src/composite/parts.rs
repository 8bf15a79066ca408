//! The parts of a composite policy.

use crate::dropper::BuiltInDropper;
use crate::params::Scope;
use crate::scheduler::BuiltInScheduler;

/// The parts of a composite policy, with their parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Orders the flows.
    pub scheduler: BuiltInScheduler,
    /// Drops and marks packets.
    pub dropper: BuiltInDropper,
    /// The queues that the dropper guards.
    pub scope: Scope,
}
