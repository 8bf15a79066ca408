//! Flows: traffic from one node to others, its route and its contract.

mod adaptation;
mod connections;
mod life;
mod multicast;
mod routes;

pub(crate) use connections::ANSWERS;

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
use crate::source::{self, Source};
use crate::values::Values;
use multicast::Tree;
use routes::Routes;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tidegate_core::aal5;
use tidegate_core::abr::SourceTerms;
use tidegate_core::packet::Colour;
use tidegate_core::shaper::BuiltInShaper;
use tidegate_core::units::Span;

/// The largest packet, in bytes.
const LARGEST_PACKET: u64 = 1 << 20;

/// One `[[flow]]`, or one direction of a `[[connection]]`: `count` identical flows.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    /// Its name, unique among groups.
    pub name: String,
    /// Number of flows that it stands for, at least 1.
    pub count: u32,
    /// Index of the node that sends.
    pub from: usize,
    /// Indexes of the nodes that receive, at least one.
    pub to: Vec<usize>,
    /// Indexes of the links on the way: the stated route, or else the shortest. With several nodes
    /// that receive, the links of a tree in preorder, each followed by all links behind it.
    pub route: Vec<usize>,
    /// With several nodes that receive, the number of links from the source to the end of each link
    /// of the route, that link included; empty with one.
    pub depths: Vec<u16>,
    /// Its contract with the ports on its way.
    pub contract: ContractSpec,
    /// Index of the profile that its packets are metered against; `None` for its own contract.
    pub profile: Option<usize>,
    /// The weight of each member among all flows of the profile, which is then divided by weights;
    /// `None` where they use it together.
    pub weight: Option<u32>,
    /// Colour that its source gives its packets.
    pub colour: Colour,
    /// Index of the class that it belongs to.
    pub class: Option<usize>,
    /// Rate that the flow never exceeds at a switch port, in bit/s.
    pub ceiling: Option<u64>,
    /// Packet sizes in bytes, drawn with equal chance; empty when the source brings its own.
    pub sizes: Vec<u32>,
    /// True if its packets are sent as ATM cells, by AAL5.
    pub aal5: bool,
    /// Time that the host takes for each packet before its cells.
    pub preparation: Span,
    /// The terms of the ABR VC that carries its cells; `None` for none.
    pub vc: Option<SourceTerms>,
    /// Time at which it starts to send.
    pub start: Span,
    /// Time at which it stops sending; `None` for the end of the run.
    pub stop: Option<Span>,
    /// Mean time from one member's start to the next one's; `None` when all start at once.
    pub every: Option<Span>,
    /// Mean time from its start to its stop; `None` when `stop` says it.
    pub lasts: Option<Span>,
    /// Time at which the destination tears it down.
    pub hangup: Option<Span>,
    /// The response of its source to a warning.
    pub warned: WhenWarned,
    /// True if its packets are ECN-capable, though its source heeds no mark. For a connection its
    /// transport decides.
    pub ecn: bool,
    /// Changes of its contract, in chronological order.
    pub changes: Vec<ChangeSpec>,
    /// The headers of its packets; `None` unless it passes a gate and is not a capture.
    pub headers: Option<HeadersSpec>,
    /// The source of its traffic.
    pub source: Source,
    /// Shaper between the source and the network.
    pub envelope: Option<Chosen<BuiltInShaper>>,
    /// Place of its statement in the file.
    pub place: Place,
    /// Place of its reservation (of the group, when it has none).
    pub reserve_place: Place,
    /// Place of its average interval (of the group, when it has none).
    pub interval_place: Place,
    /// Place of its maximum workahead (of the group, when it has none).
    pub workahead_place: Place,
}

/// The response of a source to a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenWarned {
    /// The source continues as before.
    Ignore,
    /// The source is silent until it is no longer ahead, and then keeps to its reservation.
    Slow,
    /// The source sends smaller packets at the same times.
    Shrink,
}

/// A change of a flow's reservation, requested while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeSpec {
    /// Time from the start of the run.
    pub at: Span,
    /// The new reservation, in bit/s.
    pub reserve: u64,
    /// The new average interval; `None` leaves it unchanged.
    pub interval: Option<Span>,
    /// The source's rate from then on, in bit/s; `None` leaves it unchanged.
    pub rate: Option<u64>,
}

/// One flow: a member of a group.
#[derive(Clone, Debug)]
pub struct Flow<'s> {
    /// The group's name, with `/1`, `/2` and so on when the group has several members.
    pub name: Cow<'s, str>,
    /// Index of its group.
    pub group_index: usize,
    /// Its number in the group, from 0.
    pub member: u32,
    /// Everything that it shares with the rest of its group.
    pub group: &'s FlowGroup,
}

impl FlowGroup {
    /// The name of the member with this number, from 0.
    pub fn member_name(&self, member: u32) -> Cow<'_, str> {
        match self.count {
            1 => Cow::Borrowed(&self.name),
            _ => Cow::Owned(format!("{}/{}", self.name, u64::from(member) + 1)),
        }
    }

    /// The sizes of its packets on links, or of their cells when they are sent as cells; empty when
    /// the source has sizes of its own.
    pub fn link_sizes(&self) -> &[u32] {
        if self.aal5 { &[aal5::CELL] } else { &self.sizes }
    }

    /// Returns true if its packets on links have only the stated sizes.
    pub(super) fn states_sizes(&self) -> bool {
        let decides =
            matches!(self.source, Source::Sender { .. } | Source::Receiver { .. } | Source::Video { .. });
        self.aal5 || !decides
    }

    pub(super) fn members(&self, group_index: usize) -> impl Iterator<Item = Flow<'_>> {
        (0..self.count).map(move |member| Flow {
            name: self.member_name(member),
            group_index,
            member,
            group: self,
        })
    }
}

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
