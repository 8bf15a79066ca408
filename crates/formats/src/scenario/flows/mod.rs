//! Flows: traffic from one node to others, its route and its contract.

mod abr;
mod adaptation;
mod connections;
pub(crate) mod group;
mod life;
mod matrix;
mod multicast;
mod pairs;
mod parts;
mod routes;
mod stages;

pub(crate) use connections::ANSWERS;
pub use group::{ChangeSpec, Flow, FlowGroup, WhenWarned};

use crate::error::{Complaint, Place, Report};
use crate::keys::connection::Connection;
use crate::keys::flow::{self as keys, MAX_FLOWS, Toggle};
use crate::keys::routing::Routing;
use crate::keys::source::Source;
use crate::policy::Chosen;
use crate::port::classes::{self, Class};
use crate::port::{ContractSpec, check_warnings};
use crate::scenario::gate;
use crate::scenario::headers::HeadersSpec;
use crate::scenario::limits::Memory;
use crate::scenario::multipath::Multipath;
use crate::scenario::network::Network;
use crate::scenario::profiles::{self, Profile};
use crate::section::Placed;
use crate::source;
use crate::stage_terms::StageTerms;
use multicast::Tree;
use pairs::Ends;
use routes::Routes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tidegate_core::packet::Colour;
use tidegate_core::units::Span;

/// The largest packet, in bytes.
const LARGEST_PACKET: u64 = 1 << 20;

/// The parts of a scenario that flows refer to.
pub(super) struct Surroundings<'s> {
    pub network: &'s Network,
    pub classes: &'s [Class],
    pub profiles: &'s [Profile],
    pub routing: &'s Routing,
    pub seed: u64,
    pub base_dir: &'s Path,
}

/// Builds the flows, then those of the connections. `None` once a mistake has been reported.
pub(super) fn build(
    flows: &[Placed<keys::Flow>],
    connections: &[Placed<Connection>],
    around: &Surroundings<'_>,
    report: &mut Report,
) -> Option<Vec<FlowGroup>> {
    let mut builder = Builder {
        around,
        routes: Routes::new(around.network),
        classes: around
            .classes
            .iter()
            .enumerate()
            .map(|(index, class)| (class.name.as_str(), index))
            .collect(),
        inner: around.classes.iter().filter_map(|class| class.parent).collect(),
        multipath: match around.routing {
            Routing::ShortestPath(_) => None,
            Routing::Ecmp(keys) => {
                let Network { nodes, links, .. } = around.network;
                Some(Multipath::new(nodes, links, *keys.per, (*keys.seed, *keys.weighted)))
            }
        },
    };
    let mut names = BTreeSet::new();
    let mut groups = Vec::with_capacity(flows.len() + 2 * connections.len());
    let (mut total, mut memory, mut sound) = (0, Memory::default(), true);
    let entries = flows.iter().map(FlowOrConnection::Flow);
    for entry in entries.chain(connections.iter().map(FlowOrConnection::Connection)) {
        if report.is_full() {
            break;
        }
        let (name, count, directions) = match entry {
            FlowOrConnection::Flow(flow) => (&flow.name, &flow.count, 1),
            FlowOrConnection::Connection(connection) => (&connection.name, &connection.count, 2),
        };
        if !names.insert(name.as_str()) {
            report.add(name.place, Complaint::new(format!("there is already a flow `{name}`")));
        }
        total += directions * i64::from(**count);
        if total > MAX_FLOWS {
            let complaint = Complaint::new(format!("with `{name}` there are more than {MAX_FLOWS} flows"));
            report.add(count.place, complaint);
            return None;
        }
        let made = match entry {
            FlowOrConnection::Flow(flow) => builder.group(flow, report),
            FlowOrConnection::Connection(connection) => builder.connection(connection, report),
        };
        sound &= made.is_some();
        let made = made.unwrap_or_default();
        if matches!(entry, FlowOrConnection::Flow(flow) if flow.matrix.given) {
            total += made.len() as i64;
        }
        if let Some(complaint) = made.iter().find_map(|group| memory.add(group)) {
            report.add(count.place, complaint);
            return None;
        }
        groups.extend(made);
    }
    for group in connections.iter().map(|connection| &connection.group) {
        if let Some(name) = group.as_ref()
            && names.contains(name.as_str())
        {
            let complaint = Complaint::new(format!("there is already a flow `{name}`"));
            report.add(group.place, complaint.help("a group of connections has a name of its own"));
        }
    }
    sound.then_some(groups)
}

/// One entry of a scenario's traffic.
enum FlowOrConnection<'k> {
    Flow(&'k Placed<keys::Flow>),
    Connection(&'k Placed<Connection>),
}

struct Builder<'s> {
    around: &'s Surroundings<'s>,
    routes: Routes<'s>,
    classes: BTreeMap<&'s str, usize>,
    /// Classes that have classes in them.
    inner: Vec<usize>,
    /// Paths of flows without a stated route; `None` for the shortest ones.
    multipath: Option<Multipath<'s>>,
}

/// The nodes that receive, each with the place where it was named.
type Destinations = Vec<(Place, usize)>;

/// A flow's declaration to the ports on its route, in the form of [`FlowGroup`].
struct Declaration {
    contract: ContractSpec,
    profile: Option<usize>,
    weight: Option<u32>,
    colour: Colour,
    /// `None` once a mistake has been reported.
    class: Option<Option<usize>>,
    ceiling: Option<u64>,
}

impl Builder<'_> {
    /// The node that sends and the destinations of a flow, and the place where each of these was
    /// named. `None` once a mistake has been reported.
    fn ends(&self, stated: &Placed<keys::Flow>, report: &mut Report) -> Option<(usize, Destinations)> {
        let keys::Flow { name, from, to, .. } = &**stated;
        for (key, _) in [(from.key, from.given), (to.key, to.given)].into_iter().filter(|end| !end.1) {
            let complaint = Complaint::new(format!("flow `{name}` needs `{key}`"));
            report.add(stated.place, complaint.help("name a node, or state a `matrix`"));
        }
        let network = self.around.network;
        let sender = from.as_ref().and_then(|name| network.find(name.as_str(), from.place, report));
        let find = |(place, name): &(Place, String)| Some((*place, network.find(name, *place, report)?));
        let found: Vec<_> = to.iter().flat_map(|names| names.iter()).map(find).collect();
        let found: Option<Destinations> = found.into_iter().collect();
        Some((sender?, found.filter(|found| !found.is_empty())?))
    }

    /// Reads a flow's declaration.
    fn declaration(&self, keys: &keys::Declaration, report: &mut Report) -> Declaration {
        let keys::Declaration { contract, profile, weight, colour, class, ceiling } = keys;
        let class = match class.as_deref() {
            None => Some(None),
            Some(name) => classes::leaf(&self.classes, &self.inner, name, class.place, report).map(Some),
        };
        let found = profile
            .as_deref()
            .and_then(|name| profiles::find(self.around.profiles, name, profile.place, report));
        let contract = ContractSpec::read(contract);
        classes::check_ceiling(ceiling, &contract, report);
        if weight.is_some() && !profile.given {
            let complaint = Complaint::new("`weight` has no effect on a flow without a `profile`");
            report.add(weight.place, complaint.help("name the [[profile]] that is divided"));
        }
        Declaration {
            contract,
            profile: found,
            weight: **weight,
            colour: **colour,
            class,
            ceiling: **ceiling,
        }
    }

    /// The links to one node that receives, or to several, with their depths. `None` after
    /// something was reported.
    fn way(
        &mut self,
        flow: &keys::Flow,
        from: usize,
        to: &[(Place, usize)],
        report: &mut Report,
    ) -> Option<Tree> {
        let [(_, only)] = to else {
            let tree = self.routes.tree(flow, from, to, report)?;
            self.routes.check_tree(flow, &tree, report);
            return Some(tree);
        };
        let links = self.routes.of_flow(&flow.route, from, (flow.to.place, *only), report)?;
        Some(Tree { links, depths: Vec::new() })
    }

    fn group(&mut self, stated: &Placed<keys::Flow>, report: &mut Report) -> Option<Vec<FlowGroup>> {
        let keys = &**stated;
        let demands = match keys.matrix.as_ref() {
            Some(_) => Some(matrix::of_flow(keys, self.around.network, self.around.base_dir, report)?),
            None => None,
        };
        let count = demands.as_ref().map_or(*keys.count, |demands| demands.len() as u32);
        let ends = match &demands {
            Some(demands) => Some((demands[0].0, vec![(keys.matrix.place, demands[0].1)])),
            None => self.ends(stated, report),
        };
        let declared = &keys.declaration.contract;
        let Declaration { contract, profile, weight, colour, class, ceiling } =
            self.declaration(&keys.declaration, report);
        let in_aggregates =
            keys.warned.given && self.around.network.links.iter().any(|link| link.profile.is_some());
        check_warnings(keys, &contract, in_aggregates, report);
        life::check(&keys.life, report);
        life::check_hangup(keys, report);
        let changes = life::changes(keys, report);
        let sizes = sizes(stated, report);
        let (peak, base_dir) = (contract.peak_bits(), self.around.base_dir);
        let source =
            sizes.as_ref().and_then(|sizes| source::build(&keys.source, sizes, peak, base_dir, report));
        if let Source::Capture(capture) = &*keys.source
            && count > 1
            && !capture.flow.given
        {
            let complaint = Complaint::new("a capture that has its own flows cannot have a `count`")
                .help("name one of its flows with `flow`, or leave out `count`");
            report.add(keys.count.place, complaint);
        }
        if let Some(source) = &source {
            life::check_paces(keys, source, report);
        }
        let envelope = Chosen::read(keys.envelope.as_ref(), report);
        let (from, to) = ends?;
        let way = self.way(keys, from, &to, report);
        let headers = match &way {
            Some(way) => self.headers(stated, &way.links, report),
            None => None,
        };
        let Tree { links, depths } = way?;
        let aal5 = adaptation::of_flow(keys, &links, &self.around.network.links, report);
        let ends = match &demands {
            Some(demands) => Ends::of_demands(demands, keys.matrix.place),
            None => Ends::one(from, to.first()?.1, keys.to.place),
        };
        let group = FlowGroup {
            name: keys.name.to_string(),
            group: None,
            count,
            first: 0,
            of: count,
            from,
            to: to.into_iter().map(|(_, node)| node).collect(),
            route: links,
            paths: None,
            load_rate: 1,
            depths,
            contract,
            profile,
            weight,
            colour,
            class: class?,
            ceiling,
            sizes: sizes?,
            aal5,
            preparation: Span::ZERO,
            stage_terms: StageTerms::default(),
            start: *keys.life.start,
            stop: *keys.life.stop,
            every: *keys.life.every,
            lasts: *keys.life.lasts,
            hangup: *keys.hangup,
            warned: *keys.warned,
            ecn: *keys.ecn == Toggle::On,
            changes,
            headers,
            source: source?,
            envelope,
            place: stated.place,
            reserve_place: declared.place_of("reserve"),
            interval_place: declared.place_of("interval"),
            workahead_place: declared.place_of("workahead"),
        };
        let mut parts = self.in_parts(vec![group], &ends, keys.route.given, report)?;
        if let Some(demands) = demands {
            matrix::divide(&mut parts, &demands, keys, report)?;
        }
        Some(parts)
    }

    /// The headers that a gate on the route sees; `None` also once a mistake has been reported.
    fn headers(
        &self,
        flow: &Placed<keys::Flow>,
        route: &[usize],
        report: &mut Report,
    ) -> Option<HeadersSpec> {
        let links = &self.around.network.links;
        gate::check_flow(flow, route, links, report);
        HeadersSpec::read(flow.headers.as_ref()?, *flow.count, gate::crossing(route, links)?, report)
    }
}

/// The packet sizes: none when the source has its own.
fn sizes(flow: &Placed<keys::Flow>, report: &mut Report) -> Option<Vec<u32>> {
    let keys::Flow { name, size, source, .. } = &**flow;
    if !size.given {
        if source::brings_sizes(source) {
            return Some(Vec::new());
        }
        let message = format!("flow `{name}` needs `size`");
        report.add(flow.place, Complaint::new(message).help("Size of its packets, as in size = \"250B\""));
        return None;
    }
    if source::brings_sizes(source) {
        let message = format!("a `{}` has packet sizes of its own", source.about().name);
        report.add(size.place, Complaint::new(message).help("leave out `size`"));
        return None;
    }
    if size.iter().any(|size| *size > LARGEST_PACKET) {
        report.add(size.place, Complaint::new("`size` is above 1 MiB (1048576B)"));
        return None;
    }
    size.iter().map(|size| u32::try_from(*size).ok()).collect()
}
