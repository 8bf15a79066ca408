//! Multicast: the tree of links to several destinations.

use super::routes::Routes;
use crate::error::{Complaint, Place, Report};
use crate::keys::flow::Flow;
use crate::scenario::gate;
use std::collections::{BTreeMap, BTreeSet};

/// A tree of links in preorder, each followed by all links behind it.
pub(super) struct Tree {
    /// Indexes of the links.
    pub links: Vec<usize>,
    /// Number of links from the source to the end of each, that link included.
    pub depths: Vec<u16>,
}

impl Routes<'_> {
    /// The shortest routes to several destinations as a tree. `None` once a mistake has been
    /// reported.
    pub(super) fn tree(
        &mut self,
        flow: &Flow,
        from: usize,
        to: &[(Place, usize)],
        report: &mut Report,
    ) -> Option<Tree> {
        if flow.route.given {
            let complaint =
                Complaint::new("a flow with several destinations takes the shortest routes to them");
            report.add(flow.route.place, complaint.help("leave out `route`"));
        }
        let (mut destinations, mut links) = (BTreeSet::new(), BTreeSet::new());
        // The links that follow each, by the one before them; in the order of the destinations.
        let mut behind: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        let mut ends = Vec::with_capacity(to.len());
        for &(place, node) in to {
            if !destinations.insert(node) {
                let name = &self.network.nodes[node].name;
                report.add(place, Complaint::new(format!("`{name}` is named twice")));
                return None;
            }
            let path = self.shortest(from, node, place, report)?;
            let mut before = None;
            for link in path {
                // Shortest routes from one node agree until they part: a link has one before it.
                if links.insert(link) {
                    behind.entry(before).or_default().push(link);
                }
                before = Some(link);
            }
            ends.push((place, node, before));
        }
        for (place, node, last) in ends {
            if behind.contains_key(&last) {
                let name = &self.network.nodes[node].name;
                let message = format!(
                    "`{name}` is on the way to another destination, and only the ends of the tree receive"
                );
                let complaint = Complaint::new(message);
                report.add(place, complaint.help(format!("give `{name}` a flow of its own")));
                return None;
            }
        }
        let tree = preorder(&behind);
        if tree.is_none() {
            let complaint = Complaint::new(format!("a route of this flow has more than {} links", u16::MAX));
            report.add(flow.to.place, complaint);
        }
        tree
    }

    /// Checks that every setting of a flow with several destinations works along its tree.
    pub(super) fn check_tree(&self, flow: &Flow, tree: &Tree, report: &mut Report) {
        if gate::crossing(&tree.links, &self.network.links).is_some() {
            let complaint = Complaint::new("a flow with several destinations cannot pass a gate");
            report.add(flow.to.place, complaint.help("give each destination a flow of its own"));
        }
        if flow.warned.given {
            let complaint = Complaint::new("a flow with several destinations cannot respond to warnings");
            report.add(flow.warned.place, complaint.help("leave out `warned`"));
        }
        if tree.depths.iter().filter(|depth| **depth == 1).count() == 1 {
            return;
        }
        // Each of these is for one first queue.
        let Flow { envelope, source, .. } = flow;
        for (key, place, needs_one) in [
            (envelope.key, envelope.place, envelope.given),
            (source.key, source.place, source.about().responsive),
        ] {
            if needs_one {
                let message = format!(
                    "this `{key}` needs one first link, and the routes of this flow fork at its source"
                );
                let complaint = Complaint::new(message);
                report.add(place, complaint.help("start at a host with one link"));
            }
        }
    }
}

/// The tree, from the followers of every link. `None` when it is too deep.
fn preorder(behind: &BTreeMap<Option<usize>, Vec<usize>>) -> Option<Tree> {
    let after = |link| behind.get(&link).into_iter().flatten().rev();
    let mut waiting: Vec<(usize, u16)> = after(None).map(|link| (*link, 1)).collect();
    let mut tree = Tree { links: Vec::new(), depths: Vec::new() };
    while let Some((link, depth)) = waiting.pop() {
        tree.links.push(link);
        tree.depths.push(depth);
        for next in after(Some(link)) {
            waiting.push((*next, depth.checked_add(1)?));
        }
    }
    Some(tree)
}
