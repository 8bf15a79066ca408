//! Routes of packets: the shortest path by hops through switches.

use crate::scenario::{Link, Node, NodeKind, Scenario};
use std::collections::{BTreeMap, VecDeque};

/// The links of the shortest path by hops from one node to another; `None` when there is none,
/// empty when they are the same. Only switches forward. Of several shortest paths it is the one
/// whose first link has the lowest index, then whose second has, and so on.
pub fn route(scenario: &Scenario, from: usize, to: usize) -> Option<Vec<usize>> {
    Router::new(&scenario.nodes, &scenario.links).shortest(from, to)
}

/// Finds routes in one network; asking it for many routes is cheaper than [`route`].
#[derive(Clone, Debug)]
pub struct Router<'n> {
    links: &'n [Link],
    /// Links that lead to a switch, by the node that they leave, in the order of their indexes.
    /// Only these are searched: a switch may have very many hosts.
    onward: Vec<Vec<usize>>,
    /// The first link between two nodes.
    direct: BTreeMap<(usize, usize), usize>,
    /// By node: the search that last reached it, and the link by which it did.
    reached: Vec<(u64, usize)>,
    searches: u64,
}

impl<'n> Router<'n> {
    /// A router for these nodes and links; the links' ends are indexes into `nodes`.
    pub fn new(nodes: &'n [Node], links: &'n [Link]) -> Router<'n> {
        let mut onward = vec![Vec::new(); nodes.len()];
        let mut direct = BTreeMap::new();
        for (index, link) in links.iter().enumerate() {
            direct.entry((link.from, link.to)).or_insert(index);
            if nodes[link.to].kind == NodeKind::Switch {
                onward[link.from].push(index);
            }
        }
        Router { links, onward, direct, reached: vec![(0, 0); nodes.len()], searches: 0 }
    }

    /// Like [`route`].
    pub fn shortest(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        if from == to {
            return Some(Vec::new());
        }
        self.searches += 1;
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            // Nodes come in the order of their paths, so the first that has a link to the end is
            // the right one.
            if let Some(last) = self.direct(node, to) {
                let mut path = self.walk_back(from, node);
                path.push(last);
                return Some(path);
            }
            for &link in &self.onward[node] {
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
        self.direct.get(&(from, to)).copied()
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
