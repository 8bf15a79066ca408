//! The weights of flows, from which their quanta follow, and the effects of their changes.

use super::flow::{STALE, Turn};
use super::{Drr, head};
use crate::packet::FlowIx;
use crate::queues::Queues;

impl Drr {
    /// Sets the weight of a flow.
    pub(super) fn weigh(&mut self, flow: FlowIx, weight: u64) {
        let state = &mut self.flows[flow.ix()];
        if core::mem::replace(&mut state.weight, weight) == weight {
            return;
        }
        state.scale = STALE;
        if weight <= self.largest {
            self.rest_anew(flow);
            if self.turns.contains(flow) {
                self.changed.push(flow);
            }
            return;
        }
        (self.largest, self.scale) = (weight, self.scale + 1);
        if self.resting.top().is_some() {
            (0..self.flows.len() as u32).for_each(|flow| self.rest_anew(FlowIx(flow)));
        }
        self.changed.clear();
        self.changed.extend(self.turns.iter());
    }

    /// Sees to changes of weights, if there are any.
    #[inline]
    pub(super) fn see_to_changes(&mut self, queues: &Queues) {
        if !self.changed.is_empty() {
            self.fit_turns(queues);
        }
    }

    /// Lets flows that take turns rest if their changed quanta make their next turns too short.
    #[cold]
    fn fit_turns(&mut self, queues: &Queues) {
        let mut changed = core::mem::take(&mut self.changed);
        if changed.len() > 1 {
            let is_outdated = |flow: &FlowIx| self.flows[flow.ix()].scale != self.scale;
            changed = self.turns.iter().filter(is_outdated).collect();
        }
        for flow in changed {
            // A selection reads the quantum of a flow whose turn ends.
            self.renewed(flow);
            if self.turns.contains(flow) && self.flows[flow.ix()].turn == Turn::Ahead {
                self.rest_if_it_must(flow, head(flow, queues));
            }
        }
    }

    /// Restarts the rest of a flow whose quantum has changed: it has had turns of the old quantum,
    /// and waits for those of the new one.
    fn rest_anew(&mut self, flow: FlowIx) {
        if let Some(from) = self.flows[flow.ix()].rests_from {
            let from = from.max(self.round());
            self.end_rest(flow, from);
            self.rest_on(flow, from);
        }
    }
}
