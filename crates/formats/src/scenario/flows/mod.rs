//! Flows: traffic from one node to others, its route and its contract.

mod adaptation;
mod connections;
pub(crate) mod group;
mod life;
mod multicast;
mod routes;

pub(crate) use connections::ANSWERS;
pub use group::{ChangeSpec, Flow, FlowGroup, WhenWarned};

use crate::colour;
use crate::error::{Complaint, Place, Report};
use crate::policy::Chosen;
use crate::port::classes::{self, Class};
use crate::port::{ContractSpec, check_warnings};
use crate::record::MAX_FLOWS;
use crate::scenario::gate;
use crate::scenario::headers::HeadersSpec;
use crate::scenario::limits::Memory;
use crate::scenario::network::Network;
use crate::scenario::profiles::{self, Profile};
use crate::source;
use crate::values::Values;
use multicast::Tree;
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
    pub base_dir: &'s Path,
}

/// Builds the flows, then those of the connections. `None` once a mistake has been reported.
pub(super) fn build(
    flows: &[Values],
    connections: &[Values],
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
    };
    let mut names = BTreeSet::new();
    let mut groups = Vec::with_capacity(flows.len() + 2 * connections.len());
    let (mut total, mut memory, mut sound) = (0, Memory::default(), true);
    let flows = flows.iter().map(|values| (values, 1));
    for (values, directions) in flows.chain(connections.iter().map(|values| (values, 2))) {
        if report.is_full() {
            break;
        }
        let name = values.text("name")?;
        if !names.insert(name) {
            report.add(values.place_of("name"), Complaint::new(format!("there is already a flow `{name}`")));
        }
        total += directions * values.integer("count")?;
        if total > MAX_FLOWS {
            let complaint = Complaint::new(format!("with `{name}` there are more than {MAX_FLOWS} flows"));
            report.add(values.place_of("count"), complaint);
            return None;
        }
        let made = match directions {
            1 => builder.group(values, report).map(|group| vec![group]),
            _ => builder.connection(values, report),
        };
        sound &= made.is_some();
        let made = made.unwrap_or_default();
        if let Some(complaint) = made.iter().find_map(|group| memory.add(group)) {
            report.add(values.place_of("count"), complaint);
            return None;
        }
        groups.extend(made);
    }
    sound.then_some(groups)
}

struct Builder<'s> {
    around: &'s Surroundings<'s>,
    routes: Routes<'s>,
    classes: BTreeMap<&'s str, usize>,
    /// Classes that have classes in them.
    inner: Vec<usize>,
}

/// A flow's declaration to the ports on its route, in the form of [`FlowGroup`].
struct Terms {
    contract: ContractSpec,
    profile: Option<usize>,
    weight: Option<u32>,
    colour: Colour,
    /// `None` once a mistake has been reported.
    class: Option<Option<usize>>,
    ceiling: Option<u64>,
}

impl Builder<'_> {
    /// The node with the name under a key, or a complaint.
    fn end(&self, values: &Values, key: &str, report: &mut Report) -> Option<usize> {
        self.around.network.find(values.text(key)?, values.place_of(key), report)
    }

    /// The destinations, and the place where each was named. `None` once a mistake has been
    /// reported.
    fn destinations(&self, values: &Values, report: &mut Report) -> Option<Vec<(Place, usize)>> {
        let find =
            |(place, name): &(Place, String)| Some((*place, self.around.network.find(name, *place, report)?));
        let found: Vec<_> = values.texts("to")?.iter().map(find).collect();
        found.into_iter().collect()
    }

    /// Reads a flow's declaration.
    fn terms(&self, values: &Values, report: &mut Report) -> Terms {
        let class = match values.text("class") {
            None => Some(None),
            Some(name) => {
                classes::leaf(&self.classes, &self.inner, name, values.place_of("class"), report).map(Some)
            }
        };
        let profile = values
            .text("profile")
            .and_then(|name| profiles::find(self.around.profiles, name, values.place_of("profile"), report));
        let contract = ContractSpec::read(values);
        let ceiling = values.rate("ceiling");
        classes::check_ceiling(values, &contract, ceiling, report);
        let weight = values.integer("weight").and_then(|weight| u32::try_from(weight).ok());
        if weight.is_some() && !values.given("profile") {
            let complaint = Complaint::new("`weight` has no effect on a flow without a `profile`");
            report.add(values.place_of("weight"), complaint.help("name the [[profile]] that is divided"));
        }
        let colour = values.text("colour").and_then(colour::named).unwrap_or(Colour::Green);
        Terms { contract, profile, weight, colour, class, ceiling }
    }

    /// The links to one node that receives, or to several, with their depths. `None` after
    /// something was reported.
    fn way(
        &mut self,
        values: &Values,
        from: usize,
        to: &[(Place, usize)],
        report: &mut Report,
    ) -> Option<Tree> {
        let [(_, only)] = to else {
            let tree = self.routes.tree(values, from, to, report)?;
            self.routes.check_tree(values, &tree, report);
            return Some(tree);
        };
        let links = self.routes.of_flow(values, from, *only, report)?;
        Some(Tree { links, depths: Vec::new() })
    }

    fn group(&mut self, values: &Values, report: &mut Report) -> Option<FlowGroup> {
        let name = values.text("name")?;
        let count = u32::try_from(values.integer("count")?).ok()?;
        let from = self.end(values, "from", report);
        let to = self.destinations(values, report);
        let Terms { contract, profile, weight, colour, class, ceiling } = self.terms(values, report);
        let (start, stop) = life::start_and_stop(values, report)?;
        let in_aggregates =
            values.given("warned") && self.around.network.links.iter().any(|link| link.profile.is_some());
        check_warnings(values, &contract, in_aggregates, report);
        let (every, lasts, hangup) = (values.time("every"), values.time("lasts"), values.time("hangup"));
        life::check_comings_and_goings(values, report);
        let changes = life::changes(values, start, report)?;
        let warned = match values.text("warned")? {
            "slow" => WhenWarned::Slow,
            "shrink" => WhenWarned::Shrink,
            _ => WhenWarned::Ignore,
        };
        let sizes = self.sizes(values, report);
        let given = values.table("source")?;
        let (peak, base_dir) = (values.rate("peak"), self.around.base_dir);
        let source = sizes.as_ref().and_then(|sizes| source::build(given, sizes, peak, base_dir, report));
        if count > 1 && given.section.name == "capture" && !given.given("flow") {
            let complaint = Complaint::new("a capture that has its own flows cannot have a `count`")
                .help("name one of its flows with `flow`, or leave out `count`");
            report.add(values.place_of("count"), complaint);
        }
        if let Some(source) = &source {
            life::check_paces(values, source, report);
        }
        let envelope = Chosen::read(values, "envelope", report);
        let to = to?;
        let way = self.way(values, from?, &to, report);
        let headers = match &way {
            Some(way) => self.headers(values, &way.links, count, report),
            None => None,
        };
        let Tree { links, depths } = way?;
        let aal5 = adaptation::of_flow(values, &links, &self.around.network.links, report);
        Some(FlowGroup {
            name: name.to_owned(),
            count,
            from: from?,
            to: to.into_iter().map(|(_, node)| node).collect(),
            route: links,
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
            vc: None,
            start,
            stop,
            every,
            lasts,
            hangup,
            warned,
            ecn: values.text("ecn")? == "on",
            changes,
            headers,
            source: source?,
            envelope,
            place: values.place,
            reserve_place: values.place_of("reserve"),
            interval_place: values.place_of("interval"),
            workahead_place: values.place_of("workahead"),
        })
    }

    /// The headers that a gate on the route sees; `None` also once a mistake has been reported.
    fn headers(
        &self,
        values: &Values,
        route: &[usize],
        count: u32,
        report: &mut Report,
    ) -> Option<HeadersSpec> {
        let links = &self.around.network.links;
        gate::check_flow(values, route, links, report);
        HeadersSpec::read(values.table("headers")?, count, gate::crossing(route, links)?, report)
    }

    /// The packet sizes: none when the source has its own.
    fn sizes(&self, values: &Values, report: &mut Report) -> Option<Vec<u32>> {
        let given = values.table("source")?;
        let Some(sizes) = values.sizes("size") else {
            if source::brings_sizes(given) {
                return Some(Vec::new());
            }
            let message = format!("flow `{}` needs `size`", values.text("name")?);
            report.add(
                values.place,
                Complaint::new(message).help("Size of its packets, as in size = \"250B\""),
            );
            return None;
        };
        if source::brings_sizes(given) {
            let message = format!("a `{}` has packet sizes of its own", given.section.name);
            report.add(values.place_of("size"), Complaint::new(message).help("leave out `size`"));
            return None;
        }
        if sizes.iter().any(|size| *size > LARGEST_PACKET) {
            report.add(values.place_of("size"), Complaint::new("`size` is above 1 MiB (1048576B)"));
            return None;
        }
        sizes.into_iter().map(|size| u32::try_from(size).ok()).collect()
    }
}
