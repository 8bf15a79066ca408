//! Pairs of hosts that the connections of a group join.

use super::matrix::{self, Demand};
use crate::error::{Complaint, Place, Report};
use crate::keys::connection::{Among, Connection, Pairs};
use crate::scenario::network::{Network, NodeKind};
use crate::section::Placed;
use std::collections::BTreeSet;
use std::path::Path;
use tidegate_core::rng::Rng;

/// The node that sends and the one that receives of each connection of a group; at least one pair,
/// and the first again for connections beyond the last.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pairs: Vec<(usize, usize)>,
    /// The place where the destination is named.
    pub place: Place,
}

impl Ends {
    /// The ends of all flows of a group.
    pub(super) fn one(from: usize, to: usize, place: Place) -> Ends {
        Ends { pairs: vec![(from, to)], place }
    }

    /// The ends of a flow for each demand.
    pub(super) fn of_demands(demands: &[Demand], place: Place) -> Ends {
        Ends { pairs: demands.iter().map(|(from, to, _)| (*from, *to)).collect(), place }
    }

    /// The ends of the connection with this number.
    pub(super) fn of(&self, member: u32) -> (usize, usize) {
        self.pairs[member as usize % self.pairs.len()]
    }

    /// Returns true if all connections have the same ends.
    pub(super) fn are_one(&self) -> bool {
        self.pairs.len() == 1
    }

    /// The ends of a group's connections, or `None` once a mistake has been reported.
    pub(super) fn read(
        stated: &Placed<Connection>,
        network: &Network,
        (seed, base_dir): (u64, &Path),
        report: &mut Report,
    ) -> Option<Ends> {
        let Connection { from, to, among, .. } = &**stated;
        let name = |end: &Placed<Option<crate::section::Name>>, report: &mut Report| {
            network.find(end.as_ref()?.as_str(), end.place, report)
        };
        let Some(keys) = among.as_ref() else {
            for end in [from, to].into_iter().filter(|end| !end.given) {
                let message = format!("connection `{}` needs `{}`", stated.name, end.key);
                let complaint =
                    Complaint::new(message).help("name a node, or state `among` which hosts it is");
                report.add(stated.place, complaint);
            }
            let (sender, receiver) = (name(from, report), name(to, report));
            return Some(Ends::one(sender?, receiver?, to.place));
        };
        if let Some(end) = [from, to].into_iter().find(|end| end.given) {
            let message = format!("`{}` and `among` both say which nodes the connections join", end.key);
            report.add(end.place, Complaint::new(message).help("leave out one of them"));
            return None;
        }
        let mut rng = Rng::named(seed, &format!("group/{}/pairs", stated.name));
        if (*keys.pairs == Pairs::Matrix) != keys.matrix.given {
            let message = "`pairs = \"matrix\"` and `matrix` go together";
            report.add(among.place, Complaint::new(message).help("state both, or neither"));
            return None;
        }
        if let Some(matrix) = keys.matrix.as_ref() {
            if keys.hosts.given {
                let complaint = Complaint::new("a `matrix` names its nodes itself");
                report.add(keys.hosts.place, complaint.help("leave out `hosts`"));
                return None;
            }
            let demands = matrix::read(matrix, keys.matrix.place, network, base_dir, report)?;
            let pairs = (0..*stated.count).map(|_| by_demand(&demands, &mut rng)).collect();
            return Some(Ends { pairs, place: among.place });
        }
        let hosts = hosts(keys, among.place, network, report)?;
        let pairs = match *keys.pairs {
            Pairs::AllToAll | Pairs::Matrix => {
                (0..*stated.count).map(|_| any_pair(&hosts, &mut rng)).collect()
            }
            Pairs::Permutation => permutation(&hosts, &mut rng),
            Pairs::Incast => {
                let receiver = match keys.to.as_ref() {
                    Some(to) => network.find(to.as_str(), keys.to.place, report)?,
                    None => hosts[0],
                };
                hosts.into_iter().filter(|host| *host != receiver).map(|host| (host, receiver)).collect()
            }
        };
        if keys.to.given && *keys.pairs != Pairs::Incast {
            let complaint = Complaint::new("`to` has no effect unless `pairs = \"incast\"`");
            report.add(keys.to.place, complaint.help("leave it out"));
        }
        Some(Ends { pairs, place: among.place })
    }
}

/// The hosts among which the connections are, at least two.
fn hosts(keys: &Among, place: Place, network: &Network, report: &mut Report) -> Option<Vec<usize>> {
    let hosts: Vec<usize> = match keys.hosts.as_ref() {
        Some(names) => {
            let found: Vec<_> =
                names.iter().map(|(place, name)| network.find(name, *place, report)).collect();
            found.into_iter().collect::<Option<_>>()?
        }
        None => (0..network.nodes.len()).filter(|node| network.nodes[*node].kind == NodeKind::Host).collect(),
    };
    let different: BTreeSet<usize> = hosts.iter().copied().collect();
    if different.len() < hosts.len() || hosts.len() < 2 {
        let message = match hosts.len() {
            0 | 1 => "connections are among two hosts at least".to_owned(),
            _ => "a host is named twice".to_owned(),
        };
        report.add(place, Complaint::new(message));
        return None;
    }
    Some(hosts)
}

/// Two different hosts, each pair with the same probability.
fn any_pair(hosts: &[usize], rng: &mut Rng) -> (usize, usize) {
    let from = rng.below(hosts.len() as u64) as usize;
    let to = rng.below(hosts.len() as u64 - 1) as usize;
    (hosts[from], hosts[if to < from { to } else { to + 1 }])
}

/// Two nodes, each pair with a probability in proportion to its demand.
fn by_demand(demands: &[Demand], rng: &mut Rng) -> (usize, usize) {
    let total: f64 = demands.iter().map(|(.., demand)| demand).sum();
    let mut left = rng.unit() * total;
    for (from, to, demand) in demands {
        left -= demand;
        if left < 0.0 {
            return (*from, *to);
        }
    }
    // Rounding has left a little.
    let (from, to, _) = demands[demands.len() - 1];
    (from, to)
}

/// Every host sends to another one and receives from another one: one cycle through all of them
/// (Sattolo's algorithm).
fn permutation(hosts: &[usize], rng: &mut Rng) -> Vec<(usize, usize)> {
    let mut to = hosts.to_vec();
    for place in (1..to.len()).rev() {
        to.swap(place, rng.below(place as u64) as usize);
    }
    hosts.iter().copied().zip(to).collect()
}
