//! Equal-cost multipath: the path of each flow among the shortest, by a hash of its name.
//!
//! Each node on the way hashes the flow's name with its own, and takes one of the links that lead to
//! the destination by the fewest hops; parallel links count each. A flow's packets take one path.

use super::distances::Neighbours;
use super::network::{Link, Node};
use std::collections::BTreeMap;
use tidegate_core::rng::Rng;

/// Finds paths by equal-cost multipath.
#[derive(Clone, Debug)]
pub(super) struct Multipath<'n> {
    nodes: &'n [Node],
    links: &'n [Link],
    seed: u64,
    is_weighted: bool,
    neighbours: Neighbours<'n>,
    /// By destination: links between each node and it.
    distances: BTreeMap<usize, Vec<Option<usize>>>,
}

impl<'n> Multipath<'n> {
    /// Paths by hashes with this seed; links are taken in proportion to their rates if they are
    /// weighted, and else alike.
    pub(super) fn new(nodes: &'n [Node], links: &'n [Link], seed: u64, is_weighted: bool) -> Multipath<'n> {
        let neighbours = Neighbours::new(nodes, links);
        Multipath { nodes, links, seed, is_weighted, neighbours, distances: BTreeMap::new() }
    }

    /// The links of the path of the flow with this name; `None` where there is none.
    pub(super) fn path(&mut self, flow: &str, from: usize, to: usize) -> Option<Vec<usize>> {
        if !self.distances.contains_key(&to) {
            self.distances.insert(to, self.neighbours.distances_to(to));
        }
        let distances = &self.distances[&to];
        let (mut at, mut path) = (from, Vec::new());
        while at != to {
            let link =
                self.choose(flow, at, &self.neighbours.nearer(at, to, distances).collect::<Vec<_>>())?;
            path.push(link);
            at = self.links[link].to;
        }
        Some(path)
    }

    /// The link among these that the node's hash of the flow selects; `None` without any.
    fn choose(&self, flow: &str, node: usize, among: &[usize]) -> Option<usize> {
        let (last, others) = among.split_last()?;
        if others.is_empty() {
            return Some(*last);
        }
        let weight = |link: &usize| if self.is_weighted { self.links[*link].rate_bits as f64 } else { 1.0 };
        let all: f64 = among.iter().map(weight).sum();
        let node = &self.nodes[node].name;
        let mut left = Rng::named(self.seed, &format!("ecmp/{node}/{flow}")).unit() * all;
        let chosen = others.iter().find(|link| {
            left -= weight(link);
            left <= 0.0
        });
        Some(*chosen.unwrap_or(last))
    }
}
