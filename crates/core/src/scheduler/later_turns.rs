//! Flows in the order of their turns, of which some are many rounds later.
//!
//! A flow is given its turn a power of two of rounds later. The flows with the same number of rounds
//! stand in one list, in which rounds never decrease, so that a turn is given in a few steps, and the
//! first flow is that of as many lists as there are powers of two in use.

use super::turns::{Links, Round};
use crate::packet::FlowIx;
use alloc::vec::Vec;

/// Flows by round, and in a round in the order in which they were given their turns.
#[derive(Clone, Debug, Default)]
pub(super) struct LaterTurns {
    links: Links,
    /// The flows that were given their turns `2^n` rounds later, at `n`.
    lists: Vec<Round>,
    /// The list of each flow that has a turn.
    list_of: Vec<u8>,
    /// The round of the latest turn that has begun.
    round: u64,
    first: Option<FlowIx>,
}

impl LaterTurns {
    /// Makes room for every flow index below `flows`.
    pub(super) fn grow_to(&mut self, flows: u32) {
        self.links.grow_to(flows);
        if self.list_of.len() < flows as usize {
            self.list_of.resize(flows as usize, 0);
        }
    }

    /// Returns true if the flow has a turn.
    #[inline]
    pub(super) fn contains(&self, flow: FlowIx) -> bool {
        self.links.contains(flow)
    }

    /// Returns the flow whose turn is the next.
    #[inline]
    pub(super) fn first(&self) -> Option<FlowIx> {
        self.first
    }

    /// Returns the first flow for which this is true.
    pub(super) fn first_where(&self, is_meant: impl Fn(&FlowIx) -> bool) -> Option<FlowIx> {
        let firsts = self.lists.iter().filter_map(|list| list.iter(&self.links).find(&is_meant));
        firsts.rev().min_by_key(|flow| self.links.round(*flow))
    }

    /// The round of the flow's turn, or of the earliest that it can be given.
    #[inline]
    pub(super) fn round(&self, flow: FlowIx) -> u64 {
        if self.contains(flow) { self.links.round(flow) } else { self.round.saturating_add(1) }
    }

    /// Begins the turn of the first flow.
    #[inline]
    pub(super) fn begin(&mut self, first: FlowIx) {
        self.round = self.links.round(first);
    }

    /// Gives the flow its next turn, `2^doublings` rounds later.
    #[inline]
    pub(super) fn give(&mut self, flow: FlowIx, doublings: u32) {
        self.detach(flow);
        let nth = doublings as usize;
        if self.lists.len() <= nth {
            self.lists.resize(nth + 1, Round::default());
        }
        self.list_of[flow.ix()] = doublings as u8;
        self.lists[nth].join_in(&mut self.links, flow, self.round.saturating_add(1 << doublings));
        match self.first {
            Some(first) if first == flow => self.first = self.first_of_lists(),
            Some(first) if self.links.round(first) <= self.links.round(flow) => {}
            _ => self.first = Some(flow),
        }
    }

    /// Takes the flow's turn away, if it has one.
    #[inline]
    pub(super) fn leave(&mut self, flow: FlowIx) {
        self.detach(flow);
        if self.first == Some(flow) {
            self.first = self.first_of_lists();
        }
    }

    #[inline]
    fn detach(&mut self, flow: FlowIx) {
        if self.contains(flow) {
            self.lists[self.list_of[flow.ix()] as usize].leave(&mut self.links, flow);
        }
    }

    #[inline]
    fn first_of_lists(&self) -> Option<FlowIx> {
        let mut first = None;
        // For the same round, a longer wait was given earlier.
        for flow in self.lists.iter().rev().filter_map(Round::first) {
            let round = self.links.round(flow);
            if first.is_none_or(|(earlier, _)| round < earlier) {
                first = Some((round, flow));
            }
        }
        first.map(|(_, flow)| flow)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.links.memory() + self.lists.capacity() * size_of::<Round>() + self.list_of.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FLOWS: u32 = 9;

    proptest! {
        #[test]
        fn turns_come_in_the_order_of_rounds(steps in prop::collection::vec((0u8..5, 0u32..FLOWS, 0u32..9), 1..300)) {
            let (mut turns, mut model) = (LaterTurns::default(), Vec::<(u64, u32)>::new());
            let mut round = 0;
            turns.grow_to(FLOWS);
            for (what, flow, doublings) in steps {
                let first = model.iter().min_by_key(|(round, _)| *round).copied();
                prop_assert_eq!(turns.first(), first.map(|(_, flow)| FlowIx(flow)));
                let flow = match (what, first) {
                    (0, _) => {
                        turns.leave(FlowIx(flow));
                        model.retain(|(_, other)| *other != flow);
                        continue;
                    }
                    (1, _) => flow,
                    (_, Some((of_first, first))) => {
                        turns.begin(FlowIx(first));
                        round = of_first;
                        first
                    }
                    _ => continue,
                };
                turns.give(FlowIx(flow), doublings);
                model.retain(|(_, other)| *other != flow);
                model.push((round + (1 << doublings), flow));
                for flow in 0..FLOWS {
                    let own = model.iter().find(|(_, other)| *other == flow);
                    prop_assert_eq!(turns.contains(FlowIx(flow)), own.is_some());
                    prop_assert_eq!(turns.round(FlowIx(flow)), own.map_or(round + 1, |(round, _)| *round));
                }
                let odd = |flow: &u32| flow % 2 == 1;
                let first = model.iter().filter(|(_, flow)| odd(flow)).min_by_key(|(round, _)| *round);
                let found = turns.first_where(|flow| odd(&flow.0));
                prop_assert_eq!(found, first.map(|(_, flow)| FlowIx(*flow)));
            }
        }
    }
}
