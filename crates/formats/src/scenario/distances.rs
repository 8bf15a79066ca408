//! Shortest paths by hops to a node: how far each other node is, and which links lead nearer.

use super::network::{Link, Node, NodeKind};
use std::collections::VecDeque;

/// The links of a network by the nodes at their ends.
#[derive(Clone, Debug)]
pub(super) struct Neighbours<'n> {
    nodes: &'n [Node],
    links: &'n [Link],
    /// Links by the node that they leave, and by the node to which they lead, in order.
    outgoing: Vec<Vec<usize>>,
    incoming: Vec<Vec<usize>>,
}

impl<'n> Neighbours<'n> {
    pub(super) fn new(nodes: &'n [Node], links: &'n [Link]) -> Neighbours<'n> {
        let (mut outgoing, mut incoming) = (vec![Vec::new(); nodes.len()], vec![Vec::new(); nodes.len()]);
        for (index, link) in links.iter().enumerate() {
            outgoing[link.from].push(index);
            incoming[link.to].push(index);
        }
        Neighbours { nodes, links, outgoing, incoming }
    }

    /// The least number of links from each node to this one; `None` for a node that does not lead
    /// there. Only switches forward.
    pub(super) fn distances_to(&self, to: usize) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.nodes.len()];
        distances[to] = Some(0);
        let mut waiting = VecDeque::from([to]);
        while let Some(node) = waiting.pop_front() {
            if node != to && self.nodes[node].kind != NodeKind::Switch {
                continue;
            }
            let next = distances[node].map(|links| links + 1);
            for link in &self.incoming[node] {
                let from = self.links[*link].from;
                if distances[from].is_none() {
                    distances[from] = next;
                    waiting.push_back(from);
                }
            }
        }
        distances
    }

    /// The links that leave a node on a shortest path to the destination of these distances.
    pub(super) fn nearer(
        &self,
        node: usize,
        to: usize,
        distances: &[Option<usize>],
    ) -> impl Iterator<Item = usize> {
        let is_nearer = move |link: &usize| {
            let next = self.links[*link].to;
            let forwards = next == to || self.nodes[next].kind == NodeKind::Switch;
            forwards && distances[next].is_some_and(|links| Some(links + 1) == distances[node])
        };
        self.outgoing[node].iter().copied().filter(is_nearer)
    }
}
