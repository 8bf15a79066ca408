//! The state of every circuit, whether it has a flow or not.

use super::flows::sum;
use super::{Rule, Split, Steering};
use crate::packet::Leg;
use crate::switch::{FlowCounters, Switch};

/// A circuit in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CircuitState {
    /// Its flow, as one more than the index of the member; 0 for none.
    member: u32,
    /// The counters of its closed flows.
    closed: FlowCounters,
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

    /// Its flow is closed, with these counters.
    pub(super) fn close(&mut self, counters: FlowCounters) {
        *self = CircuitState { member: 0, closed: sum(self.closed, counters) };
    }
}

impl Steering {
    /// The circuits of a rule that have a flow at this moment, by their numbers.
    pub fn circuits(&self, rule: usize) -> impl Iterator<Item = (u32, Leg)> {
        let circuits = self.circuits.get(rule).map(Vec::as_slice).unwrap_or_default();
        circuits
            .iter()
            .zip(0..)
            .filter_map(|(state, circuit)| Some((circuit, self.members[state.member()?].leg)))
    }

    /// The counters of a circuit of a rule at the port, those of its closed flows included; zeros for a number
    /// that no circuit has.
    pub fn circuit_counters(&self, switch: &Switch, rule: usize, circuit: u32) -> FlowCounters {
        let state = self.circuits.get(rule).and_then(|circuits| circuits.get(circuit as usize));
        let closed = state.map(|state| state.closed).unwrap_or_default();
        self.circuit_leg(rule, circuit).map_or(closed, |leg| sum(closed, switch.counters(leg)))
    }

    /// The flow that a circuit of a rule has at this moment.
    pub fn circuit_leg(&self, rule: usize, circuit: u32) -> Option<Leg> {
        let at = self.circuits.get(rule)?.get(circuit as usize)?.member()?;
        Some(self.members[at].leg)
    }
}
