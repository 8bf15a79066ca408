//! What is kept of every circuit, whether it has a flow or not.

use super::{Rule, Split, Steering, sum};
use crate::packet::Leg;
use crate::switch::{FlowCounters, Switch};

/// A circuit in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// Its flow, as one more than the index of the member; 0 for none.
    member: u32,
    /// What its forgotten flows have sent and lost.
    gone: FlowCounters,
}

/// The circuits of a rule, all without a flow.
pub(super) fn of(rule: &Rule) -> Vec<Line> {
    match &rule.split {
        Split::Circuits(circuits) => vec![Line::default(); circuits.len()],
        Split::Together | Split::Each(_) => Vec::new(),
    }
}

impl Line {
    /// The index of the member that is its flow.
    #[inline]
    pub(super) fn member(&self) -> Option<usize> {
        self.member.checked_sub(1).map(|at| at as usize)
    }

    pub(super) fn begin(&mut self, at: usize) {
        self.member = at as u32 + 1;
    }

    /// Its flow is forgotten, and has sent and lost this.
    pub(super) fn end(&mut self, counters: FlowCounters) {
        *self = Line { member: 0, gone: sum(self.gone, counters) };
    }
}

impl Steering {
    /// The circuits of a rule that have a flow at this moment, by their numbers.
    pub fn circuits(&self, rule: usize) -> impl Iterator<Item = (u32, Leg)> {
        let lines = self.lines.get(rule).map(Vec::as_slice).unwrap_or_default();
        lines.iter().zip(0..).filter_map(|(line, circuit)| Some((circuit, self.members[line.member()?].leg)))
    }

    /// What a circuit of a rule has sent and lost at the port, in all; zeros for one that is not there.
    pub fn circuit_counters(&self, switch: &Switch, rule: usize, circuit: u32) -> FlowCounters {
        let line = self.lines.get(rule).and_then(|lines| lines.get(circuit as usize));
        let gone = line.map(|line| line.gone).unwrap_or_default();
        self.circuit_leg(rule, circuit).map_or(gone, |leg| sum(gone, switch.counters(leg)))
    }

    /// The flow that a circuit of a rule has at this moment.
    pub fn circuit_leg(&self, rule: usize, circuit: u32) -> Option<Leg> {
        let at = self.lines.get(rule)?.get(circuit as usize)?.member()?;
        Some(self.members[at].leg)
    }
}
