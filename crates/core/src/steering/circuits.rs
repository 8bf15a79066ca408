//! The state of every circuit, with or without a flow.

use super::rule::{Rule, Split};
use crate::switch::FlowCounters;
use alloc::vec;
use alloc::vec::Vec;

/// A circuit in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CircuitState {
    /// Its single flow, as one more than the index of the member; 0 for none, as where it is a class.
    member: u32,
    /// The counters of its closed flows.
    pub(super) closed: FlowCounters,
}

/// The circuits of a rule, all without a flow.
pub(super) fn of(rule: &Rule) -> Vec<CircuitState> {
    match &rule.split {
        Split::Circuits(circuits) => vec![CircuitState::default(); circuits.len()],
        Split::Together | Split::Each(_) => Vec::new(),
    }
}

impl CircuitState {
    /// The index of the member that is its flow.
    #[inline]
    pub(super) fn member(&self) -> Option<usize> {
        self.member.checked_sub(1).map(|at| at as usize)
    }

    pub(super) fn open(&mut self, at: usize) {
        self.member = at as u32 + 1;
    }

    /// Records that its flow, or one of its flows, is closed, with these counters.
    pub(super) fn close(&mut self, counters: FlowCounters) {
        *self = CircuitState { member: 0, closed: sum(self.closed, counters) };
    }
}

/// Returns the sum of the counters of two flows.
pub(super) fn sum(mut total: FlowCounters, more: FlowCounters) -> FlowCounters {
    for (total, more) in
        [(&mut total.arrived, more.arrived), (&mut total.sent, more.sent), (&mut total.dropped, more.dropped)]
    {
        total.packets += more.packets;
        total.bytes += more.bytes;
    }
    total
}
