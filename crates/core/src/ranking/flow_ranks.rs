//! Flows by rank, for any number of flows: the structure in which schedulers look up the next flow
//! at every packet.
//!
//! A few flows are sorted in a short [prefix](crate::ranking::sorted_prefix). More flows are kept
//! in a [tournament](crate::ranking::flow_tournament), or in a
//! [ladder](crate::ranking::flow_ladder) if more flows are open than the processor's nearest caches
//! can hold ranks of.

use crate::packet::FlowIx;
use crate::ranking::flow_ladder::FlowLadder;
use crate::ranking::flow_tournament::FlowTournament;
use crate::ranking::sorted_prefix::{Rank, RankedFlow, SortedPrefix};
use alloc::boxed::Box;

/// Greatest number of flows of a tournament.
const MOST: u32 = 4096;
/// Greatest number of flows of the prefix: beyond this, a match of the tournament is cheaper than a
/// step of the prefix.
const SHORT: usize = 8;
/// The flows move from the tournament back into the prefix when no more than this many are left.
const BACK: usize = SHORT / 2;

/// The structure that holds the flows. The prefix is empty unless it is that structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Structure {
    #[default]
    Prefix,
    Tournament,
    Ladder,
}

/// Flows by rank. Each flow is in it at most once.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRanks {
    structure: Structure,
    prefix: SortedPrefix,
    tournament: FlowTournament,
    ladder: Option<Box<FlowLadder>>,
}

impl FlowRanks {
    /// Makes room for every flow index below `flows`.
    pub(crate) fn grow_to(&mut self, flows: u32) {
        if let Some(ladder) = &mut self.ladder {
            return ladder.grow_to(flows);
        }
        if flows <= MOST {
            return self.tournament.grow_to(flows);
        }
        let mut ladder = Box::<FlowLadder>::default();
        ladder.grow_to(flows);
        while let Some(entry) = self.prefix.pop_last() {
            ladder.insert(FlowIx(entry.flow), entry.rank);
        }
        while let Some((flow, rank)) = self.tournament.pop() {
            ladder.insert(flow, rank);
        }
        *self = FlowRanks { structure: Structure::Ladder, ladder: Some(ladder), ..FlowRanks::default() };
    }

    /// Returns the flow with the smallest rank.
    #[inline(always)]
    pub(crate) fn top(&self) -> Option<FlowIx> {
        match self.prefix.first() {
            Some(first) => Some(FlowIx(first.flow)),
            None => self.top_elsewhere(),
        }
    }

    /// Like [`top`](Self::top), when the prefix is empty.
    #[inline]
    fn top_elsewhere(&self) -> Option<FlowIx> {
        match self.structure {
            Structure::Prefix => None,
            Structure::Tournament => self.tournament.top(),
            Structure::Ladder => self.ladder.as_ref().and_then(|ladder| ladder.top()),
        }
    }

    /// Inserts the flow with this rank, or changes its rank.
    #[inline(always)]
    pub(crate) fn set(&mut self, flow: FlowIx, rank: Rank) {
        match self.prefix.first() {
            // The most frequent case: the flow that has just sent.
            Some(first) if first.flow == flow.0 => {
                self.prefix.pop_first();
                self.prefix.insert(RankedFlow { rank, flow: flow.0, generation: 0 });
            }
            _ => self.set_elsewhere(flow, rank),
        }
    }

    /// Like [`set`](Self::set), when the flow is not the first of the prefix.
    #[inline]
    fn set_elsewhere(&mut self, flow: FlowIx, rank: Rank) {
        if self.structure == Structure::Tournament {
            return self.tournament.set(flow, rank);
        }
        self.remove(flow);
        self.insert(flow, rank);
    }

    /// Inserts a flow that is not ranked yet.
    #[inline(always)]
    pub(crate) fn insert(&mut self, flow: FlowIx, rank: Rank) {
        if self.structure != Structure::Prefix || self.prefix.len == SHORT {
            return self.insert_among_many(flow, rank);
        }
        self.prefix.insert(RankedFlow { rank, flow: flow.0, generation: 0 });
    }

    #[inline(never)]
    fn insert_among_many(&mut self, flow: FlowIx, rank: Rank) {
        if self.structure == Structure::Prefix {
            while let Some(RankedFlow { rank, flow, .. }) = self.prefix.pop_last() {
                self.tournament.set(FlowIx(flow), rank);
            }
            self.structure = Structure::Tournament;
        }
        match &mut self.ladder {
            Some(ladder) => ladder.insert(flow, rank),
            None => self.tournament.set(flow, rank),
        }
    }

    /// Removes the flow, if it is ranked.
    #[inline(always)]
    pub(crate) fn remove(&mut self, flow: FlowIx) {
        match self.prefix.first() {
            Some(first) if first.flow == flow.0 => self.prefix.pop_first(),
            _ if self.structure == Structure::Prefix => self.remove_within_run(flow),
            _ => self.remove_from_many(flow),
        }
    }

    #[inline(never)]
    fn remove_within_run(&mut self, flow: FlowIx) {
        if let Some(nth) = self.prefix.find(flow) {
            self.prefix.remove(nth);
        }
    }

    #[inline(never)]
    fn remove_from_many(&mut self, flow: FlowIx) {
        if let Some(ladder) = &mut self.ladder {
            return ladder.remove(flow);
        }
        self.tournament.remove(flow);
        if self.tournament.len() > BACK {
            return;
        }
        while let Some((flow, rank)) = self.tournament.pop() {
            self.prefix.push_last(RankedFlow { rank, flow: flow.0, generation: 0 });
        }
        self.structure = Structure::Prefix;
    }

    /// Returns the next flows to be on top, if several have just moved up together
    /// ([`FlowLadder::take_near`]).
    #[inline(always)]
    pub(crate) fn take_near(&mut self) -> Option<&[FlowIx]> {
        if self.structure == Structure::Ladder { self.ladder.as_mut()?.take_near() } else { None }
    }

    /// Bytes of memory held, for the memory report.
    pub(crate) fn memory(&self) -> usize {
        let ladder = self.ladder.as_ref().map_or(0, |ladder| size_of::<FlowLadder>() + ladder.memory());
        self.prefix.memory() + self.tournament.memory() + ladder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::BTreeMap;

    /// Passes through all three structures, and back from the tournament into the prefix: flows
    /// come, most of them go, and more are opened than a tournament holds.
    #[test]
    fn agrees_with_a_sorted_map() {
        for seed in 0..12u64 {
            let mut rng = Rng::named(seed, "ranks");
            let (mut few, mut ranks) = (FlowRanks::default(), BTreeMap::new());
            let most = [6, 40, 3_000, 9_000][seed as usize % 4];
            let (mut open, mut structures) = (0, Vec::new());
            for order in 0..8_000u64 {
                if open < most && order % 20 == 0 {
                    open = most.min(open + 1 + rng.below(u64::from(most) / 50 + 1) as u32);
                    few.grow_to(open);
                }
                let flow = FlowIx(rng.below(u64::from(open)) as u32);
                let rank = (rng.below(1 << 20) + 100 * order, order);
                // Some hundreds of steps in which flows come, then as many in which they go.
                match (rng.below(10), order / 400 % 2) {
                    (0..5, 0) | (0..1, _) => {
                        few.set(flow, rank);
                        ranks.insert(flow, rank);
                    }
                    (5..6, _) if !ranks.contains_key(&flow) => {
                        few.insert(flow, rank);
                        ranks.insert(flow, rank);
                    }
                    (6..7, _) => {
                        few.remove(flow);
                        ranks.remove(&flow);
                    }
                    _ => {
                        if let Some(top) = few.top() {
                            few.remove(top);
                            ranks.remove(&top);
                        }
                    }
                }
                let least = ranks.iter().min_by_key(|(_, rank)| **rank).map(|(flow, _)| *flow);
                assert_eq!(few.top(), least, "seed {seed}, step {order}");
                structures.push(few.structure);
            }
            structures.dedup();
            let expected: &[Structure] = match seed % 4 {
                0 => &[Structure::Prefix],
                1 | 2 => &[Structure::Prefix, Structure::Tournament, Structure::Prefix],
                _ => &[Structure::Prefix, Structure::Tournament],
            };
            assert!(structures.starts_with(expected), "seed {seed}: {structures:?}");
            assert_eq!(
                structures.last() == Some(&Structure::Ladder),
                seed % 4 == 3,
                "seed {seed}: {structures:?}"
            );
        }
    }
}
