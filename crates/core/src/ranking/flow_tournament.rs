//! Flows by rank, for up to some thousands of flows: a tournament in which the flow with the
//! smaller rank wins a match.
//!
//! A flow's leaf is given by its index. When the rank changes, the matches on the path from the
//! leaf to the root are replayed, one for each doubling of the number of flows. Every address read
//! follows from the flow's index: no read waits for another, and no branch depends on the winner.

use crate::packet::FlowIx;
use crate::ranking::sorted_prefix::Rank;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// The key of a flow that is absent, and of a present flow with the largest key; the order then
/// decides.
const LAST: u64 = u64::MAX;
/// The order of an absent flow: no order of arrival reaches this value.
const OUT: u64 = u64::MAX;

/// The winner of a match with its rank; at a leaf, the flow itself.
#[derive(Clone, Copy, Debug)]
struct Winner {
    key: u64,
    flow: u32,
}

/// Flows by rank. Each flow is in the tournament at most once.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTournament {
    /// The root is at 1. The matches that lead to match `n` are at `2n` and `2n + 1`, the flows in
    /// the second half.
    winners: Vec<Winner>,
    /// The order of arrival of each flow's packet.
    orders: Vec<u64>,
    /// Number of flows in the tournament.
    len: usize,
}

/// Returns the flow whose packet arrived first, of two flows with equal keys. Rare: few keys are
/// equal.
#[cold]
fn earlier(orders: &[u64], one: u32, other: u32) -> u32 {
    if orders[other as usize] < orders[one as usize] { other } else { one }
}

/// Returns the winner of a match.
#[inline(always)]
fn play(orders: &[u64], one: Winner, other: Winner) -> Winner {
    if one.key == other.key {
        return Winner { flow: earlier(orders, one.flow, other.flow), ..one };
    }
    let flow = select_unpredictable(other.key < one.key, other.flow, one.flow);
    Winner { key: one.key.min(other.key), flow }
}

impl FlowTournament {
    /// Makes room for every flow index below `flows`.
    pub(crate) fn grow_to(&mut self, flows: u32) {
        let leaves = (flows as usize).next_power_of_two();
        let before = self.orders.len();
        if leaves <= before {
            return;
        }
        let flows: Vec<Winner> = self.winners.split_off(before);
        self.orders.resize(leaves, OUT);
        self.winners.clear();
        self.winners.resize(leaves, Winner { key: LAST, flow: 0 });
        self.winners.extend(flows);
        self.winners.extend((before..leaves).map(|flow| Winner { key: LAST, flow: flow as u32 }));
        for at in (1..leaves).rev() {
            self.winners[at] = play(&self.orders, self.winners[2 * at], self.winners[2 * at + 1]);
        }
    }

    /// Number of flows in the tournament.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the flow with the smallest rank.
    #[inline(always)]
    pub(crate) fn top(&self) -> Option<FlowIx> {
        if self.len > 0 { self.winners.get(1).map(|winner| FlowIx(winner.flow)) } else { None }
    }

    /// Removes the flow with the smallest rank.
    pub(crate) fn pop(&mut self) -> Option<(FlowIx, Rank)> {
        let flow = self.top()?;
        let rank = (self.winners[1].key, self.orders[flow.ix()]);
        self.remove(flow);
        Some((flow, rank))
    }

    /// Inserts the flow with this rank, or changes its rank.
    pub(crate) fn set(&mut self, flow: FlowIx, (key, order): Rank) {
        let before = core::mem::replace(&mut self.orders[flow.ix()], order);
        self.len = self.len.wrapping_add(usize::from(before == OUT));
        let leaf = self.orders.len() | flow.ix();
        self.winners[leaf].key = key;
        self.replay(flow.ix());
    }

    /// Removes the flow, if it is in the tournament.
    pub(crate) fn remove(&mut self, flow: FlowIx) {
        if self.orders[flow.ix()] != OUT {
            self.set(flow, (LAST, OUT));
            self.len = self.len.wrapping_sub(1);
        }
    }

    /// Plays the flow's matches again: its rank has changed.
    #[inline]
    fn replay(&mut self, flow: usize) {
        let orders = self.orders.as_slice();
        let winners = self.winners.as_mut_slice();
        let mut at = orders.len() | flow;
        let mut winner = winners[at];
        while at > 1 {
            winner = play(orders, winner, winners[at ^ 1]);
            at >>= 1;
            winners[at] = winner;
        }
    }

    /// Bytes of memory held, for the memory report.
    pub(crate) fn memory(&self) -> usize {
        self.winners.capacity() * size_of::<Winner>() + self.orders.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_sorted_map() {
        for seed in 0..60u64 {
            let mut rng = Rng::named(seed, "tournament");
            // Few values: many keys are equal, the largest among them.
            let spread = [3, 1 << 20][seed as usize % 2];
            let (mut tournament, mut ranks) = (FlowTournament::default(), BTreeMap::new());
            let mut open = 1;
            for order in 0..3_000u64 {
                if order % 100 == 0 {
                    open += rng.below(60) as u32;
                    tournament.grow_to(open);
                }
                let flow = FlowIx(rng.below(u64::from(open)) as u32);
                match rng.below(10) {
                    0..6 => {
                        let rank = (u64::MAX - rng.below(spread), order);
                        tournament.set(flow, rank);
                        ranks.insert(flow, rank);
                    }
                    6..8 => {
                        tournament.remove(flow);
                        ranks.remove(&flow);
                    }
                    _ => {
                        let least = ranks.iter().map(|(flow, rank)| (*rank, *flow)).min();
                        assert_eq!(tournament.pop(), least.map(|(rank, flow)| (flow, rank)));
                        least.map(|(_, flow)| ranks.remove(&flow));
                    }
                }
                let least = ranks.iter().min_by_key(|(_, rank)| **rank).map(|(flow, _)| *flow);
                assert_eq!((tournament.top(), tournament.len()), (least, ranks.len()), "seed {seed}");
            }
        }
    }
}
