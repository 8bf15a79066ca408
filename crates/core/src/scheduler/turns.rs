//! The order of turns in a round, for the schedulers that serve flows in turn.
//!
//! A flow joins at the end, and moves to the end when its turn is over. Each flow has the number of
//! the round of its next turn; the numbers never decrease along the list, and those of its ends
//! differ by one at most.

use crate::packet::FlowIx;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct TurnLinks {
    next: u32,
    prev: u32,
    listed: bool,
    /// The round of its next turn. For a flow that is not in the list, the round of the turn that
    /// it would have taken.
    round: u64,
}

const AWAY: TurnLinks = TurnLinks { next: NONE, prev: NONE, listed: false, round: 0 };

/// The links of all flows, by their indexes: each flow is in one list at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(Vec<TurnLinks>);

impl Links {
    /// Makes room for every flow index below `flows`.
    pub(super) fn grow_to(&mut self, flows: u32) {
        if self.0.len() < flows as usize {
            self.0.resize(flows as usize, AWAY);
        }
    }

    /// Returns true if the flow takes turns.
    #[inline]
    pub(super) fn contains(&self, flow: FlowIx) -> bool {
        self.0[flow.ix()].listed
    }

    /// The round of the flow's next turn.
    #[inline]
    pub(super) fn round(&self, flow: FlowIx) -> u64 {
        self.0[flow.ix()].round
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<TurnLinks>()
    }
}

/// A list of flows, whose links are elsewhere: joining, leaving and ending a turn take a few steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    first: u32,
    last: u32,
    len: u32,
    /// The round of the latest flow to join or to end its turn.
    round: u64,
}

impl Default for Round {
    fn default() -> Round {
        Round { first: NONE, last: NONE, len: 0, round: 0 }
    }
}

impl Round {
    /// Returns the flow whose turn it is.
    #[inline]
    pub(super) fn first(&self) -> Option<FlowIx> {
        (self.first != NONE).then_some(FlowIx(self.first))
    }

    /// Number of flows that take turns.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The flows in the order of their turns.
    pub(super) fn iter(self, links: &Links) -> impl Iterator<Item = FlowIx> {
        let mut at = self.first;
        core::iter::from_fn(move || {
            let links = links.0.get(at as usize)?;
            Some(FlowIx(core::mem::replace(&mut at, links.next)))
        })
    }

    /// Puts a flow that takes no turns behind all others.
    #[inline]
    pub(super) fn join(&mut self, links: &mut Links, flow: FlowIx) {
        debug_assert!(!links.contains(flow));
        links.0[flow.ix()] = TurnLinks { next: NONE, prev: self.last, listed: true, round: self.round };
        match links.0.get_mut(self.last as usize) {
            Some(last) => last.next = flow.0,
            None => self.first = flow.0,
        }
        self.last = flow.0;
        self.len += 1;
    }

    /// Like [`join`](Self::join), with a turn in this round, which is not before that of any other.
    #[inline]
    pub(super) fn join_in(&mut self, links: &mut Links, flow: FlowIx, round: u64) {
        self.round = round;
        self.join(links, flow);
    }

    /// Removes the flow, if it takes turns.
    #[inline]
    pub(super) fn leave(&mut self, links: &mut Links, flow: FlowIx) {
        let TurnLinks { next, prev, listed, .. } = links.0[flow.ix()];
        if !listed {
            return;
        }
        match links.0.get_mut(prev as usize) {
            Some(prev) => prev.next = next,
            None => self.first = next,
        }
        match links.0.get_mut(next as usize) {
            Some(next) => next.prev = prev,
            None => self.last = prev,
        }
        links.0[flow.ix()].listed = false;
        self.len -= 1;
    }

    /// Ends the turn of the first flow: its next turn is in the next round, behind all others.
    #[inline]
    pub(super) fn end_turn(&mut self, links: &mut Links) {
        let Some(flow) = self.first() else { return };
        let own = &mut links.0[flow.ix()];
        self.round = own.round.saturating_add(1);
        own.round = self.round;
        let (next, last) = (own.next, self.last);
        if next == NONE {
            // It is the only one.
            return;
        }
        (own.next, own.prev) = (NONE, last);
        links.0[last as usize].next = flow.0;
        links.0[next as usize].prev = NONE;
        (self.first, self.last) = (next, flow.0);
    }

    /// Lets this number of rounds pass without a packet.
    pub(super) fn skip_rounds(&mut self, links: &mut Links, rounds: u64) {
        let mut at = self.first;
        while let Some(links) = links.0.get_mut(at as usize) {
            links.round = links.round.saturating_add(rounds);
            at = links.next;
        }
        self.round = self.round.saturating_add(rounds);
    }
}

/// Flows in the order of their turns, in one list.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    links: Links,
    list: Round,
}

impl Turns {
    /// Makes room for every flow index below `flows`.
    pub(super) fn grow_to(&mut self, flows: u32) {
        self.links.grow_to(flows);
    }

    /// Returns the flow whose turn it is.
    #[inline]
    pub(super) fn first(&self) -> Option<FlowIx> {
        self.list.first()
    }

    /// Number of flows that take turns.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.list.len()
    }

    /// Returns true if the flow takes turns.
    #[inline]
    pub(super) fn contains(&self, flow: FlowIx) -> bool {
        self.links.contains(flow)
    }

    /// The round of the flow's next turn.
    #[inline]
    pub(super) fn round(&self, flow: FlowIx) -> u64 {
        self.links.round(flow)
    }

    /// Returns the round of the first turn of a flow that joins now.
    #[inline]
    pub(super) fn next_round(&self) -> u64 {
        self.list.round
    }

    /// The flows in the order of their turns.
    pub(super) fn iter(&self) -> impl Iterator<Item = FlowIx> {
        self.list.iter(&self.links)
    }

    /// Puts a flow that takes no turns behind all others.
    #[inline]
    pub(super) fn join(&mut self, flow: FlowIx) {
        self.list.join(&mut self.links, flow);
    }

    /// Lets a flow that takes no turns join and leave at once.
    #[inline]
    pub(super) fn pass(&mut self, flow: FlowIx) {
        debug_assert!(!self.contains(flow));
        self.links.0[flow.ix()].round = self.list.round;
    }

    /// Puts a flow that takes no turns in front of all others.
    pub(super) fn join_first(&mut self, flow: FlowIx) {
        let Some(first) = self.first() else { return self.join(flow) };
        let links = TurnLinks { next: first.0, prev: NONE, listed: true, round: self.round(first) };
        self.links.0[flow.ix()] = links;
        self.links.0[first.ix()].prev = flow.0;
        self.list.first = flow.0;
        self.list.len += 1;
    }

    /// Removes the flow, if it takes turns.
    #[inline]
    pub(super) fn leave(&mut self, flow: FlowIx) {
        self.list.leave(&mut self.links, flow);
    }

    /// Ends the turn of the first flow: its next turn is in the next round, behind all others.
    #[inline]
    pub(super) fn end_turn(&mut self) {
        self.list.end_turn(&mut self.links);
    }

    /// Lets this number of rounds pass without a packet.
    pub(super) fn skip_rounds(&mut self, rounds: u64) {
        self.list.skip_rounds(&mut self.links, rounds);
    }

    /// Lets rounds pass until this one, when no flow takes turns.
    pub(super) fn advance_to(&mut self, round: u64) {
        self.list.round = self.list.round.max(round);
    }

    /// Counts rounds from zero again, when nothing is queued and so no flow's round matters. At
    /// most one flow takes turns.
    #[inline]
    pub(super) fn restart(&mut self) {
        debug_assert!(self.len() <= 1);
        self.list.round = 0;
        if let Some(first) = self.first() {
            self.links.0[first.ix()].round = 0;
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.links.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const FLOWS: u32 = 9;

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec((0u8..6, 0u32..FLOWS), 1..300)) {
            let (mut turns, mut model) = (Turns::default(), VecDeque::<(u32, u64)>::new());
            let mut next = 0;
            turns.grow_to(FLOWS);
            for (what, flow) in steps {
                let away = !turns.contains(FlowIx(flow));
                prop_assert_eq!(away, model.iter().all(|(other, _)| *other != flow));
                match what {
                    0 => {
                        turns.leave(FlowIx(flow));
                        model.retain(|(other, _)| *other != flow);
                    }
                    1 if away => {
                        turns.join_first(FlowIx(flow));
                        model.push_front((flow, model.front().map_or(next, |(_, round)| *round)));
                    }
                    2 => {
                        turns.skip_rounds(u64::from(flow));
                        model.iter_mut().for_each(|(_, round)| *round += u64::from(flow));
                        next += u64::from(flow);
                    }
                    3 | 4 => {
                        turns.end_turn();
                        if let Some((first, round)) = model.pop_front() {
                            next = round + 1;
                            model.push_back((first, next));
                        }
                    }
                    _ if away => {
                        turns.join(FlowIx(flow));
                        model.push_back((flow, next));
                    }
                    _ => {}
                }
                let listed: Vec<_> = turns.iter().map(|flow| (flow.0, turns.round(flow))).collect();
                prop_assert_eq!(&listed, &model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!((turns.len() as usize, turns.next_round()), (model.len(), next));
                prop_assert_eq!(turns.first().map(|flow| flow.0), model.front().map(|(flow, _)| *flow));
                let (first, last) = (listed.first(), listed.last());
                prop_assert!(listed.windows(2).all(|pair| pair[0].1 <= pair[1].1));
                prop_assert!(first.zip(last).is_none_or(|(first, last)| last.1 - first.1 <= 1));
            }
        }
    }
}
