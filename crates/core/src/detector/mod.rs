//! Which flows do not respond to congestion?
//!
//! A detector gets the drops of a node's dropper, and the arrivals of the flows that it has named.

pub mod drop_history;

use crate::params::{PolicyParams, PolicyRecord, registry};
use drop_history::{DropHistory, DropHistoryParams};

// The registry: one line a detector.
registry! {
    /// A built-in detector with its parameters.
    pub enum BuiltInDetector {
        DropHistory(DropHistoryParams),
    }
}

/// The detector that a table without a kind is.
pub const DEFAULT: &PolicyRecord = &DropHistoryParams::RECORD;

impl BuiltInDetector {
    /// A new detector, which has seen no packet.
    pub(crate) fn build(&self) -> DropHistory {
        match self {
            BuiltInDetector::DropHistory(params) => DropHistory::new(params),
        }
    }
}
