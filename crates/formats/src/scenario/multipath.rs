//! Equal-cost multipath: the path of each flow among the shortest, or of each packet.
//!
//! Each node on the way takes one of the links that lead to the destination by the fewest hops;
//! parallel links count each. For a flow it hashes the flow's name with its own. For a packet it
//! takes any, so that the probability of a path is the product of those of its links.

use super::distances::Neighbours;
use super::network::{Link, Node};
use crate::error::Complaint;
use crate::keys::routing::Per;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_core::rng::Rng;

/// The most paths among which the packets of a flow are spread.
const MAX_PATHS: usize = 256;

/// Shortest paths between two nodes, of which each packet of a flow takes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    /// Number of links of each path.
    pub length: usize,
    /// The links of all paths, path after path, by their places in the route of the flow.
    pub places: Vec<u32>,
    /// The probability of each path.
    pub shares: Vec<f64>,
}

impl Paths {
    /// The probability that a packet passes the link at a place of the route.
    pub fn share_of(&self, place: usize) -> f64 {
        let paths = self.places.chunks(self.length).zip(&self.shares);
        let passing = paths.filter(|(path, _)| path.iter().any(|at| *at as usize == place));
        passing.map(|(_, share)| share).sum()
    }
}

/// The links that a flow's packets pass, and the paths over them if there are several.
pub(super) type Way = (Vec<usize>, Option<Arc<Paths>>);

/// Finds paths by equal-cost multipath.
#[derive(Clone, Debug)]
pub(super) struct Multipath<'n> {
    per: Per,
    nodes: &'n [Node],
    links: &'n [Link],
    seed: u64,
    is_weighted: bool,
    neighbours: Neighbours<'n>,
    /// By destination: links between each node and it.
    distances: BTreeMap<usize, Vec<Option<usize>>>,
    /// By source and destination: the ways found so far, for packets.
    ways: BTreeMap<(usize, usize), Way>,
}

impl<'n> Multipath<'n> {
    /// Paths of flows or of packets, by hashes with this seed; links are taken in proportion to
    /// their rates if they are weighted, and else alike.
    pub(super) fn new(
        nodes: &'n [Node],
        links: &'n [Link],
        per: Per,
        (seed, is_weighted): (u64, bool),
    ) -> Multipath<'n> {
        let neighbours = Neighbours::new(nodes, links);
        let (distances, ways) = (BTreeMap::new(), BTreeMap::new());
        Multipath { per, nodes, links, seed, is_weighted, neighbours, distances, ways }
    }

    /// The way of the flow with this name between two nodes that are joined.
    ///
    /// # Errors
    /// When there are too many paths for packets.
    pub(super) fn way(&mut self, flow: &str, from: usize, to: usize) -> Result<Way, Complaint> {
        if !self.distances.contains_key(&to) {
            self.distances.insert(to, self.neighbours.distances_to(to));
        }
        match self.per {
            Per::Flow => Ok((self.path(flow, from, to), None)),
            Per::Packet => match self.ways.get(&(from, to)) {
                Some(way) => Ok(way.clone()),
                None => {
                    let way = self.spread(from, to)?;
                    Ok(self.ways.entry((from, to)).or_insert(way).clone())
                }
            },
        }
    }

    /// The links that lead from a node on a shortest path to another one.
    fn nearer(&self, at: usize, to: usize) -> Vec<usize> {
        self.neighbours.nearer(at, to, &self.distances[&to]).collect()
    }

    /// The links of the path of the flow with this name.
    fn path(&self, flow: &str, from: usize, to: usize) -> Vec<usize> {
        let (mut at, mut path) = (from, Vec::new());
        while at != to {
            let Some(link) = self.choose(flow, at, &self.nearer(at, to)) else { break };
            path.push(link);
            at = self.links[link].to;
        }
        path
    }

    /// The way of packets that take any of the paths.
    fn spread(&self, from: usize, to: usize) -> Result<Way, Complaint> {
        // Paths as far as they were followed, each with its probability; all have the same length.
        let mut paths = vec![(Vec::new(), 1.0)];
        let mut route = Vec::new();
        while let Some(length) = paths.first().map(|(path, _): &(Vec<usize>, f64)| path.len()) {
            let end = |path: &[usize]| path.last().map_or(from, |link| self.links[*link].to);
            if end(&paths[0].0) == to {
                return Ok(self.found(route, length, &paths));
            }
            let mut longer = Vec::new();
            for (path, share) in paths {
                let onto = self.nearer(end(&path), to);
                let all: f64 = onto.iter().map(|link| self.weight(*link)).sum();
                longer.extend(onto.into_iter().map(|link| {
                    let share = share * self.weight(link) / all;
                    (path.iter().copied().chain([link]).collect::<Vec<_>>(), share)
                }));
            }
            if longer.len() > MAX_PATHS {
                let [from, to] = [from, to].map(|node| &self.nodes[node].name);
                let message = format!(
                    "from {from} to {to} there are more than {MAX_PATHS} shortest paths, too many for \
                     `per = \"packet\"`"
                );
                return Err(Complaint::new(message).help("state a `route`, or take `per = \"flow\"`"));
            }
            let next: BTreeSet<usize> = longer.iter().filter_map(|(path, _)| path.last().copied()).collect();
            route.extend(next);
            paths = longer;
        }
        Ok((route, None))
    }

    /// The way of these paths, which pass these links.
    fn found(&self, route: Vec<usize>, length: usize, paths: &[(Vec<usize>, f64)]) -> Way {
        if paths.len() == 1 {
            return (route, None);
        }
        let place: BTreeMap<usize, u32> = route.iter().copied().zip(0..).collect();
        let places = paths.iter().flat_map(|(path, _)| path.iter().map(|link| place[link])).collect();
        let shares = paths.iter().map(|(_, share)| *share).collect();
        (route, Some(Arc::new(Paths { length, places, shares })))
    }

    /// The weight of a link among others that lead to the destination.
    fn weight(&self, link: usize) -> f64 {
        if self.is_weighted { self.links[link].rate_bits as f64 } else { 1.0 }
    }

    /// The link among these that the node's hash of the flow selects; `None` without any.
    fn choose(&self, flow: &str, node: usize, among: &[usize]) -> Option<usize> {
        let (last, others) = among.split_last()?;
        if others.is_empty() {
            return Some(*last);
        }
        let all: f64 = among.iter().map(|link| self.weight(*link)).sum();
        let node = &self.nodes[node].name;
        let mut left = Rng::named(self.seed, &format!("ecmp/{node}/{flow}")).unit() * all;
        let chosen = others.iter().find(|link| {
            left -= self.weight(**link);
            left <= 0.0
        });
        Some(*chosen.unwrap_or(last))
    }
}
