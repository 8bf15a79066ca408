//! Flows: who sends what to whom, by which way and under which contract.

use crate::error::{Complaint, Place, Report};
use crate::record::MOST_FLOWS;
use crate::routing::Router;
use crate::scenario::classes::{self, Class};
use crate::scenario::gate;
use crate::scenario::headers::HeadersSpec;
use crate::scenario::network::{Network, NodeKind};
use crate::source::{self, Source};
use crate::units::show_time;
use crate::values::Values;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_core::contract::Contract;
use tidegate_core::params::{CONTRACT, Choice, Value};
use tidegate_core::units::{Rate, Span};

/// The largest packet, in bytes.
const LARGEST_PACKET: u64 = 1 << 20;

/// The most links that all groups' routes pass: beyond, routes fill the memory before a packet is sent.
const MOST_HOPS: usize = 20_000_000;

/// One `[[flow]]`: `count` flows alike.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    /// Its name, unique among groups.
    pub name: String,
    /// How many flows it stands for, at least 1.
    pub count: u32,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Indexes of the links on the way: the route that was given, or else the shortest.
    pub route: Vec<usize>,
    /// What it states to the ports on its way.
    pub contract: ContractSpec,
    /// Index of the class that it belongs to.
    pub class: Option<usize>,
    /// Bits per second that the flow never exceeds at a switch port.
    pub ceiling: Option<u64>,
    /// Packet sizes in bytes, drawn with equal chance; empty when the source brings its own.
    pub sizes: Vec<u32>,
    /// When it starts to send.
    pub start: Span,
    /// When it stops to send; `None` at the end of the run.
    pub stop: Option<Span>,
    /// Mean time from one member's start to the next one's; `None` when all start at once.
    pub every: Option<Span>,
    /// Mean time from its start to its stop; `None` when `stop` says it.
    pub lasts: Option<Span>,
    /// When the destination tears it down.
    pub hangup: Option<Span>,
    /// What its source does when it is warned.
    pub warned: WhenWarned,
    /// Changes of its contract, in the order of time.
    pub changes: Vec<ChangeSpec>,
    /// What its packets look like; `None` unless it passes a gate and is no capture.
    pub headers: Option<HeadersSpec>,
    /// What is sent when.
    pub source: Source,
    /// Shaper between the source and the network.
    pub envelope: Option<Choice>,
    /// Where it was stated.
    pub place: Place,
    /// Where its reservation was stated (the group, when it has none).
    pub reserve_place: Place,
}

/// What a source does when it is warned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenWarned {
    /// It goes on as before.
    Ignore,
    /// It is silent until it is not ahead any more, and then keeps to what it reserves.
    Slow,
    /// It sends smaller packets at the same times.
    Shrink,
}

/// A change of what a flow reserves, asked for while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeSpec {
    /// When, from the start of the run.
    pub at: Span,
    /// Bits per second.
    pub reserve: u64,
    /// The average interval; `None` for the one that it has.
    pub interval: Option<Span>,
    /// Bits per second of the source from then on; `None` for as before.
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

    pub(super) fn members(&self, group_index: usize) -> impl Iterator<Item = Flow<'_>> {
        (0..self.count).map(move |member| Flow {
            name: self.member_name(member),
            group_index,
            member,
            group: self,
        })
    }
}

/// What a flow or a class states about itself: the keys of [`CONTRACT`], defaults included.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractSpec {
    /// Values by their key; a key without default that was not given is absent.
    pub values: Vec<(&'static str, Value)>,
}

impl ContractSpec {
    pub(crate) fn read(values: &Values) -> ContractSpec {
        let mut all = values.settings();
        all.retain(|(name, _)| CONTRACT.iter().any(|param| param.name == *name));
        ContractSpec { values: all }
    }

    /// The same for a scheduler. A rate that was read is in range.
    pub fn contract(&self) -> Contract {
        Contract {
            reserve: self.reserve_bits().and_then(Rate::from_bits_per_second),
            interval: self.interval(),
            priority: self.priority(),
            level: self.level(),
        }
    }

    /// The value of a key, if it was set or has a default.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Reserved average rate in bit/s; `None` for a datagram flow.
    pub fn reserve_bits(&self) -> Option<u64> {
        match self.value("reserve")? {
            Value::Rate(bits) => Some(*bits),
            _ => None,
        }
    }

    /// Average interval AI; `None` for a flow that is not monitored.
    pub fn interval(&self) -> Option<Span> {
        match self.value("interval")? {
            Value::Time(interval) => Some(*interval),
            _ => None,
        }
    }

    /// Head start P.
    pub fn priority(&self) -> Span {
        match self.value("priority") {
            Some(Value::Time(priority)) => *priority,
            _ => Span::ZERO,
        }
    }

    /// Priority level, 0 (the most urgent) to 7.
    pub fn level(&self) -> u8 {
        match self.value("level") {
            Some(Value::Integer(level)) => u8::try_from(*level).unwrap_or(0),
            _ => 0,
        }
    }
}

/// What flows refer to.
pub(super) struct Surroundings<'s> {
    pub network: &'s Network,
    pub classes: &'s [Class],
    pub base_dir: &'s Path,
}

/// Builds the flows. `None` after something was reported.
pub(super) fn build(
    tables: &[Values],
    around: &Surroundings<'_>,
    report: &mut Report,
) -> Option<Vec<FlowGroup>> {
    let mut builder = Builder {
        around,
        router: Router::new(&around.network.nodes, &around.network.links),
        classes: around
            .classes
            .iter()
            .enumerate()
            .map(|(index, class)| (class.name.as_str(), index))
            .collect(),
        inner: around.classes.iter().filter_map(|class| class.parent).collect(),
    };
    let mut names = BTreeMap::new();
    let mut groups = Vec::with_capacity(tables.len());
    let (mut total, mut hops) = (0, 0);
    for (index, values) in tables.iter().enumerate() {
        if report.is_full() {
            break;
        }
        let name = values.text("name")?;
        if names.insert(name, index).is_some() {
            report.say(values.place_of("name"), Complaint::new(format!("there is already a flow `{name}`")));
        }
        total += values.integer("count")?;
        if total > MOST_FLOWS {
            let complaint = Complaint::new(format!("with `{name}` there are more than {MOST_FLOWS} flows"));
            report.say(values.place_of("count"), complaint);
            return None;
        }
        let group = builder.group(values, report);
        hops += group.as_ref().map_or(0, |group| group.route.len());
        if hops > MOST_HOPS {
            let message =
                format!("with the route of `{name}`, routes pass more than {MOST_HOPS} links in all");
            report.say(values.place, Complaint::new(message));
            return None;
        }
        groups.push(group);
    }
    groups.into_iter().collect()
}

struct Builder<'s> {
    around: &'s Surroundings<'s>,
    router: Router<'s>,
    classes: BTreeMap<&'s str, usize>,
    /// Classes that have classes in them.
    inner: Vec<usize>,
}

impl Builder<'_> {
    fn group(&mut self, values: &Values, report: &mut Report) -> Option<FlowGroup> {
        let name = values.text("name")?;
        let count = u32::try_from(values.integer("count")?).ok()?;
        let end = |key, report: &mut Report| {
            self.around.network.find(values.text(key)?, values.place_of(key), report)
        };
        let (from, to) = (end("from", report), end("to", report));
        let class = match values.text("class") {
            None => Some(None),
            Some(name) => {
                leaf_class(&self.classes, &self.inner, name, values.place_of("class"), report).map(Some)
            }
        };
        let contract = ContractSpec::read(values);
        let ceiling = values.rate("ceiling");
        classes::check_ceiling(values, &contract, ceiling, report);
        let (start, stop) = (values.time("start")?, values.time("stop"));
        if stop.is_some_and(|stop| stop <= start) {
            report.say(values.place_of("stop"), Complaint::new("`stop` is not later than `start`"));
        }
        check_contract(values, &contract, report);
        let (every, lasts, hangup) = (values.time("every"), values.time("lasts"), values.time("hangup"));
        check_comings_and_goings(values, report);
        let changes = changes(values, start, report)?;
        let warned = match values.text("warned")? {
            "slow" => WhenWarned::Slow,
            "shrink" => WhenWarned::Shrink,
            _ => WhenWarned::Ignore,
        };
        let sizes = self.sizes(values, report);
        let given = values.table("source")?;
        let source =
            sizes.as_ref().and_then(|sizes| source::build(given, sizes, self.around.base_dir, report));
        if count > 1 && given.section.name == "capture" && !given.given("flow") {
            let complaint = Complaint::new("a capture that brings its own flows cannot have a `count`")
                .help("name one of its flows with `flow`, or leave out `count`");
            report.say(values.place_of("count"), complaint);
        }
        let envelope = values.policy("envelope");
        if let Some(sizes) = &sizes {
            check_burst(values, sizes, report);
            check_interval(values, &contract, sizes, report);
        }
        let route = self.route(values, from?, to?, report);
        let headers = match &route {
            Some(route) => self.headers(values, route, count, report),
            None => None,
        };
        Some(FlowGroup {
            name: name.to_owned(),
            count,
            from: from?,
            to: to?,
            route: route?,
            contract,
            class: class?,
            ceiling,
            sizes: sizes?,
            start,
            stop,
            every,
            lasts,
            hangup,
            warned,
            changes,
            headers,
            source: source?,
            envelope,
            place: values.place,
            reserve_place: values.place_of("reserve"),
        })
    }

    /// What a gate on the way sees; `None` also after something was reported.
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

    /// The packet sizes: none when the source brings them.
    fn sizes(&self, values: &Values, report: &mut Report) -> Option<Vec<u32>> {
        let given = values.table("source")?;
        let Some(sizes) = values.sizes("size") else {
            if source::brings_sizes(given) {
                return Some(Vec::new());
            }
            let message = format!("flow `{}` needs `size`", values.text("name")?);
            report.say(
                values.place,
                Complaint::new(message).help("Size of its packets, as in size = \"250B\""),
            );
            return None;
        };
        if source::brings_sizes(given) {
            let message = format!("a `{}` brings the sizes of its packets", given.section.name);
            report.say(values.place_of("size"), Complaint::new(message).help("leave out `size`"));
            return None;
        }
        if sizes.iter().any(|size| *size > LARGEST_PACKET) {
            report.say(values.place_of("size"), Complaint::new("`size` is above 1 MiB (1048576B)"));
            return None;
        }
        sizes.into_iter().map(|size| u32::try_from(size).ok()).collect()
    }

    fn route(&mut self, values: &Values, from: usize, to: usize, report: &mut Report) -> Option<Vec<usize>> {
        let nodes = &self.around.network.nodes;
        let (from_name, to_name) = (&nodes[from].name, &nodes[to].name);
        if from == to {
            let complaint = Complaint::new(format!("this flow goes from `{from_name}` to itself"));
            report.say(values.place_of("to"), complaint);
            return None;
        }
        let Some(stops) = values.texts("route") else {
            let found = self.router.shortest(from, to);
            if found.is_none() {
                let complaint = Complaint::new(format!("no route from {from_name} to {to_name}"))
                    .help("only switches forward, and a link with duplex = false goes one way");
                report.say(values.place_of("to"), complaint);
            }
            return found;
        };
        let mut way = Vec::with_capacity(stops.len());
        for (place, name) in stops {
            way.push((*place, self.around.network.find(name, *place, report)?));
        }
        let ends = (way.first().map(|(_, node)| *node), way.last().map(|(_, node)| *node));
        if ends != (Some(from), Some(to)) {
            let complaint = Complaint::new(format!("this route does not lead from {from_name} to {to_name}"));
            report.say(
                values.place_of("route"),
                complaint.help("name both ends and every switch between them"),
            );
            return None;
        }
        self.links_along(&way, report)
    }

    fn links_along(&self, way: &[(Place, usize)], report: &mut Report) -> Option<Vec<usize>> {
        let nodes = &self.around.network.nodes;
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
            report.say(place, Complaint::new(complaint));
            return None;
        }
        Some(links)
    }
}

/// The class in which a flow is to be; `inner` are those that have classes in them. Flows compete with flows,
/// and classes with classes: a class has only one of the two in it.
pub(crate) fn leaf_class(
    classes: &BTreeMap<&str, usize>,
    inner: &[usize],
    name: &str,
    place: Place,
    report: &mut Report,
) -> Option<usize> {
    let class = classes::find(classes, name, place, report)?;
    if inner.contains(&class) {
        let complaint = Complaint::new(format!("class `{name}` has classes in it, so no flow can be in it"))
            .help("put the flow into one of those classes");
        report.say(place, complaint);
    }
    Some(class)
}

/// An interval or a head start without a rate means nothing.
pub(crate) fn check_promise(values: &Values, reserves: bool, report: &mut Report) {
    if values.time("interval") == Some(Span::ZERO) {
        report.say(values.place_of("interval"), Complaint::new("`interval` is zero"));
    }
    if !reserves {
        for key in ["interval", "priority"] {
            if values.given(key) {
                let message = format!("`{key}` says nothing of a flow without a reservation");
                report.say(values.place_of(key), Complaint::new(message).help("give it a `reserve`"));
            }
        }
    }
}

/// An interval without a rate, or a warning without an interval, means nothing.
fn check_contract(values: &Values, contract: &ContractSpec, report: &mut Report) {
    check_promise(values, contract.reserve_bits().is_some(), report);
    if contract.interval().is_none() && values.given("warned") {
        let complaint = Complaint::new("a flow without `interval` is not monitored, and never warned");
        report.say(values.place_of("warned"), complaint.help("give it an `interval`"));
    }
    let is_greedy = values.table("source").is_some_and(|source| source.section.name == "greedy");
    if values.text("warned") == Some("shrink") && is_greedy {
        let complaint = Complaint::new("a greedy source has no times of its own to send smaller packets at");
        report.say(values.place_of("warned"), complaint.help("use \"slow\""));
    }
}

/// 1/AR ≤ AI: in an average interval at least one packet may be sent.
fn check_interval(values: &Values, contract: &ContractSpec, sizes: &[u32], report: &mut Report) {
    let (Some(interval), Some(bits)) = (contract.interval(), contract.reserve_bits()) else { return };
    let (Some(rate), Some(largest)) = (Rate::from_bits_per_second(bits), sizes.iter().copied().max()) else {
        return;
    };
    let least = rate.time_for(largest);
    if Span::ZERO < interval && interval < least {
        let message = format!(
            "`interval` ({}) is shorter than a packet's time at `reserve` (1/AR), {}",
            show_time(interval),
            show_time(least)
        );
        report.say(values.place_of("interval"), Complaint::new(message));
    }
}

fn check_comings_and_goings(values: &Values, report: &mut Report) {
    if values.given("stop") && values.given("lasts") {
        let complaint = Complaint::new("`stop` and `lasts` both say when the flow ends");
        report.say(values.place_of("lasts"), complaint.help("leave out one of them"));
    }
    for key in ["every", "lasts"] {
        if values.time(key) == Some(Span::ZERO) {
            report.say(values.place_of(key), Complaint::new(format!("`{key}` is zero")));
        }
    }
    if values.time("hangup").is_some_and(|at| Some(at) <= values.time("start")) {
        report.say(values.place_of("hangup"), Complaint::new("`hangup` is not later than `start`"));
    }
}

fn changes(values: &Values, start: Span, report: &mut Report) -> Option<Vec<ChangeSpec>> {
    let mut changes = Vec::new();
    let mut before = start;
    for change in values.tables("change") {
        let at = change.time("at")?;
        if at <= before {
            let complaint = Complaint::new("`at` is not later than the flow's `start` and the change before");
            report.say(change.place_of("at"), complaint);
        }
        before = at;
        let (interval, rate) = (change.time("interval"), change.rate("rate"));
        changes.push(ChangeSpec { at, reserve: change.rate("reserve")?, interval, rate });
    }
    Some(changes)
}

/// A packet larger than the bucket is deep would never conform.
fn check_burst(values: &Values, sizes: &[u32], report: &mut Report) {
    let Some(envelope) = values.table("envelope") else { return };
    let Some((_, Value::Size(burst))) = envelope.settings().into_iter().find(|(name, _)| *name == "burst")
    else {
        return;
    };
    let largest = sizes.iter().copied().max().unwrap_or(0);
    if burst < u64::from(largest) {
        let message = format!("`burst` ({burst}B) is smaller than the largest packet ({largest}B)");
        report.say(envelope.place_of("burst"), Complaint::new(message));
    } else if u32::try_from(burst).is_err() {
        report.say(envelope.place_of("burst"), Complaint::new("`burst` is above 4 GiB (4294967295B)"));
    }
}
