//! The order of turns in Linux: a turn ends when the next packet is selected, behind flows that have
//! come meanwhile, and a flow has no packet left once its last one has been taken.

use super::flow::Turn;
use super::{Drr, DrrForm, head};
use crate::packet::FlowIx;
use crate::queues::Queues;

impl Drr {
    /// Ends the turn of a flow whose last packet has been taken.
    pub(super) fn leave_if_emptied(&mut self, flow: FlowIx, queues: &Queues) {
        if queues.len(flow) == 0 {
            self.served = None;
            self.leave(flow);
            self.flows[flow.ix()].forget_turn();
        }
    }

    /// Returns the flow whose turn ends when the next packet is selected.
    #[inline]
    pub(super) fn spent(&self, queues: &Queues) -> Option<FlowIx> {
        if self.params.form == DrrForm::LookAhead {
            return None;
        }
        let state = |flow: FlowIx| &self.flows[flow.ix()];
        let sends = self.turns.first().filter(|flow| state(*flow).turn == Turn::Sending)?;
        (!state(sends).may_send(head(sends, queues))).then_some(sends)
    }

    /// Returns a flow whose turn ends, if it may send again before the flows that rest.
    #[cold]
    pub(super) fn again(&self, spent: FlowIx, queues: &Queues) -> Option<FlowIx> {
        let turns = self.flows[spent.ix()].turns_for(u64::from(head(spent, queues)));
        let rests = self.resting.top().map(|((until, _), _)| until);
        let until = self.turns.round(spent).saturating_add(turns);
        rests.is_none_or(|rests| turns == 1 || until < rests).then_some(spent)
    }
}
