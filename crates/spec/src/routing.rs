//! Which way packets go: the shortest path by hops through switches.

use crate::scenario::{Link, Node, NodeKind, Scenario};
use std::collections::VecDeque;

/// The links of the shortest path by hops from one node to another; `None` when there is none, empty
/// when they are the same. Only switches forward. Of several shortest paths it is the one whose first
/// link has the lowest index, then whose second has, and so on.
pub fn route(scenario: &Scenario, from: usize, to: usize) -> Option<Vec<usize>> {
    Router::new(&scenario.nodes, &scenario.links).shortest(from, to)
}

/// Finds routes in one network; asking it for many routes is cheaper than [`route`].
#[derive(Clone, Debug)]
pub struct Router<'n> {
    nodes: &'n [Node],
    links: &'n [Link],
    /// Links by the node that they leave, each in the order of their indexes.
    leaving: Vec<Vec<usize>>,
    /// By node: the search that last reached it, and the link by which it did.
    reached: Vec<(u64, usize)>,
    searches: u64,
}

impl<'n> Router<'n> {
    /// A router for these nodes and links; the links' ends are indexes into `nodes`.
    pub fn new(nodes: &'n [Node], links: &'n [Link]) -> Router<'n> {
        let mut leaving = vec![Vec::new(); nodes.len()];
        for (index, link) in links.iter().enumerate() {
            leaving[link.from].push(index);
        }
        Router { nodes, links, leaving, reached: vec![(0, 0); nodes.len()], searches: 0 }
    }

    /// As [`route`].
    pub fn shortest(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        self.searches += 1;
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            if node == to {
                return Some(self.walk_back(from, to));
            }
            if node != from && self.nodes[node].kind == NodeKind::Host {
                continue;
            }
            for &link in &self.leaving[node] {
                let next = self.links[link].to;
                if next != from && self.reached[next].0 != self.searches {
                    self.reached[next] = (self.searches, link);
                    waiting.push_back(next);
                }
            }
        }
        None
    }

    /// The first link from one node straight to another.
    pub fn direct(&self, from: usize, to: usize) -> Option<usize> {
        self.leaving[from].iter().copied().find(|&link| self.links[link].to == to)
    }

    fn walk_back(&self, from: usize, to: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let link = self.reached[node].1;
            path.push(link);
            node = self.links[link].from;
        }
        path.reverse();
        path
    }
}
