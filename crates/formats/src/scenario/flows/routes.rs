//! Routes of flows: the stated one, or the shortest.

use crate::error::{Complaint, Place, Report};
use crate::scenario::network::{Network, NodeKind};
use crate::scenario::routing::Router;
use crate::section::{Names, Placed};

/// Finds the routes of flows.
pub(super) struct Routes<'s> {
    pub(super) network: &'s Network,
    router: Router<'s>,
}

impl<'s> Routes<'s> {
    pub(super) fn new(network: &'s Network) -> Routes<'s> {
        Routes { network, router: Router::new(&network.nodes, &network.links) }
    }

    /// The links of a flow's route; `None` once a mistake has been reported.
    pub(super) fn of_flow(
        &mut self,
        stated: &Placed<Option<Names>>,
        from: usize,
        (place, to): (Place, usize),
        report: &mut Report,
    ) -> Option<Vec<usize>> {
        let Some(stops) = stated.as_deref().filter(|_| from != to) else {
            return self.shortest(from, to, place, report);
        };
        let nodes = &self.network.nodes;
        let (from_name, to_name) = (&nodes[from].name, &nodes[to].name);
        let mut way = Vec::with_capacity(stops.len());
        for (place, name) in stops {
            way.push((*place, self.network.find(name, *place, report)?));
        }
        let ends = (way.first().map(|(_, node)| *node), way.last().map(|(_, node)| *node));
        if ends != (Some(from), Some(to)) {
            let complaint = Complaint::new(format!("this route does not lead from {from_name} to {to_name}"));
            report.add(stated.place, complaint.help("name both ends and every switch between them"));
            return None;
        }
        self.links_along(&way, report)
    }

    /// The shortest route, or a complaint at the place of the destination.
    pub(super) fn shortest(
        &mut self,
        from: usize,
        to: usize,
        place: Place,
        report: &mut Report,
    ) -> Option<Vec<usize>> {
        let (from_name, to_name) = (&self.network.nodes[from].name, &self.network.nodes[to].name);
        if from == to {
            report.add(place, Complaint::new(format!("this flow goes from `{from_name}` to itself")));
            return None;
        }
        let found = self.router.shortest(from, to);
        if found.is_none() {
            let complaint = Complaint::new(format!("no route from {from_name} to {to_name}"))
                .help("only switches forward, and a link with duplex = false goes one way");
            report.add(place, complaint);
        }
        found
    }

    /// The route of a flow of answers: over the links of the other direction, or the shortest where
    /// one of them is missing. `None` after something was reported.
    pub(super) fn back(&mut self, place: Place, there: &[usize], report: &mut Report) -> Option<Vec<usize>> {
        let links = &self.network.links;
        let reverse = |link: &usize| self.router.direct(links[*link].to, links[*link].from);
        if let Some(back) = there.iter().rev().map(reverse).collect() {
            return Some(back);
        }
        let (from, to) = (links[*there.first()?].from, links[*there.last()?].to);
        let found = self.router.shortest(to, from);
        if found.is_none() {
            let nodes = &self.network.nodes;
            let message = format!(
                "acknowledgements have no route back from {} to {}",
                nodes[to].name, nodes[from].name
            );
            let complaint = Complaint::new(message).help("a link with duplex = false goes one way");
            report.add(place, complaint);
        }
        found
    }

    fn links_along(&self, way: &[(Place, usize)], report: &mut Report) -> Option<Vec<usize>> {
        let nodes = &self.network.nodes;
        let mut links = Vec::with_capacity(way.len());
        for (step, pair) in way.windows(2).enumerate() {
            let [(_, here), (place, next)] = [pair[0], pair[1]];
            let (here_name, next_name) = (&nodes[here].name, &nodes[next].name);
            let is_last = step + 2 == way.len();
            let complaint = if way[..=step].iter().any(|(_, node)| *node == next) {
                format!("this route passes `{next_name}` twice")
            } else if nodes[next].kind == NodeKind::Host && !is_last {
                format!("`{next_name}` is a host, and only switches forward")
            } else if let Some(link) = self.router.direct(here, next) {
                links.push(link);
                continue;
            } else {
                format!("there is no link from `{here_name}` to `{next_name}`")
            };
            report.add(place, Complaint::new(complaint));
            return None;
        }
        Some(links)
    }
}
