//! Credit-based flow control of links: its figures, and checks that it fits.

mod link;
mod memory;
mod outputs;
mod way;

pub use link::{CreditLinks, LinkCredit, OutputCredit};

use crate::error::{Complaint, Place, Report};
use crate::port::CreditSpec;
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::{Link, Node};
use crate::scenario::policies::ScenarioParts;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::credit::params::{LinkProperties, Per, PoolPer};
use tidegate_core::params::Key;
use tidegate_core::units::Span;

/// The number and the packet sizes of a link's flows.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    flows: u64,
    /// 0 when unknown.
    smallest: u32,
    largest: u32,
}

/// Checks the credit of every link; reports the first error of each place.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    let mut told = BTreeSet::new();
    let credits = parts.links.iter().filter_map(|link| link.port.stage_terms.get::<CreditSpec>());
    for credit in credits.filter(|credit| parts.admission.is_some() && credit.params.per == Per::Link) {
        let place = credit.place_of("per");
        if told.insert(place) {
            let message =
                "flows that are set up by signalling have credit each, and not as one VC of their link";
            report.add(place, Complaint::new(message).help("leave out `per`, or `admission`"));
        }
    }
    let planned: Vec<Planned> = plans(parts.links, parts.nodes, parts.groups, parts.loads).collect();
    for plan in &planned {
        if let Err((place, complaint)) = plan
            && told.insert(*place)
        {
            report.add(*place, complaint.clone());
        }
    }
    let credit: Vec<Option<&LinkCredit>> =
        planned.iter().map(|plan| plan.as_ref().ok().and_then(Option::as_ref)).collect();
    let mut pools = Vec::new();
    for plan in outputs::plans(parts.links, parts.groups, parts.loads, &credit) {
        match plan {
            Ok(pool) => pools.push(pool),
            Err((place, complaint)) if told.insert(place) => report.add(place, complaint),
            Err(_) => {}
        }
    }
    memory::check(parts, &credit, &pools, report);
}

impl Scenario {
    /// The plan of each link's credit, now that the load of each recording is known. Links that do
    /// not fit are left out: [`Scenario::check_recorded`] reports them.
    pub fn credit_plans(&self, loads: &[Load]) -> CreditLinks {
        let plans = plans(&self.links, &self.nodes, &self.groups, loads);
        let links: Vec<Option<LinkCredit>> = plans.map(|plan| plan.ok().flatten()).collect();
        let credit: Vec<Option<&LinkCredit>> = links.iter().map(Option::as_ref).collect();
        let outputs = outputs::plans(&self.links, &self.groups, loads, &credit);
        let outputs = outputs.into_iter().filter_map(Result::ok).collect();
        CreditLinks { links, outputs }
    }
}

/// Number of quantities recorded over time: of each link with credit its pool, of each output port
/// that has a pool this one, and of each VC three.
pub(super) fn series(links: &[Link], groups: &[FlowGroup]) -> u64 {
    let spec = |link: &usize| links[*link].port.stage_terms.get::<CreditSpec>();
    let has_credit = |link: &usize| spec(link).is_some();
    let is_pooled = |link: &usize| spec(link).is_some_and(|spec| spec.params.pool_per == PoolPer::Output);
    let vcs = |group: &FlowGroup| {
        u64::from(group.count) * group.route.iter().filter(|link| has_credit(link)).count() as u64
    };
    let hops = groups.iter().flat_map(|group| group.route.windows(2));
    let ports: BTreeSet<usize> = hops.filter(|hop| is_pooled(&hop[0])).map(|hop| hop[1]).collect();
    let pools = (0..links.len()).filter(has_credit).count() + ports.len();
    pools as u64 + 3 * groups.iter().map(vcs).sum::<u64>()
}

type Planned = Result<Option<LinkCredit>, (Place, Complaint)>;

fn plans<'s>(
    links: &'s [Link],
    nodes: &'s [Node],
    groups: &'s [FlowGroup],
    loads: &'s [Load],
) -> impl Iterator<Item = Planned> {
    let any = links.iter().any(|link| link.port.stage_terms.get::<CreditSpec>().is_some());
    let carried = if any { carried(groups, loads) } else { BTreeMap::new() };
    let back = if any { reverse(links) } else { BTreeMap::new() };
    links.iter().enumerate().map(move |(ix, link)| {
        let Some(credit) = link.port.stage_terms.get::<CreditSpec>() else { return Ok(None) };
        let on = OnLink { ix, credit, links, carried: &carried, back: &back };
        match &credit.to {
            None if credit.params.queueing > Span::ZERO => {
                let message = format!("link {} has `queueing`, which is for virtual links", link.name);
                let complaint = Complaint::new(message).help("state `to`, or leave out `queueing`");
                Err((credit.place_of("queueing"), complaint))
            }
            None => on.plan(&[]),
            Some(to) => match way::further(ix, to, credit, links, nodes, groups)? {
                Some(further) => on.plan(&further),
                // No flow uses the link.
                None => Ok(None),
            },
        }
    })
}

/// A link with credit, among the others.
struct OnLink<'a> {
    ix: usize,
    credit: &'a CreditSpec,
    links: &'a [Link],
    carried: &'a BTreeMap<usize, Carried>,
    back: &'a BTreeMap<usize, usize>,
}

impl OnLink<'_> {
    /// The plan for its credit, when the receiver is at the end of the last of the `further` links
    /// after it.
    fn plan(&self, further: &[usize]) -> Planned {
        let OnLink { ix, credit, links, carried, back } = *self;
        let mistake =
            |message: String, help: &str| Err((credit.place_of(""), Complaint::new(message).help(help)));
        let way: Vec<usize> = [ix].into_iter().chain(further.iter().copied()).collect();
        let mut back_links = Vec::new();
        for on in &way {
            let link = &links[*on];
            let Some(back) = back.get(on) else {
                let what = if *on == ix { "has" } else { "is part of a virtual link with" };
                let message = format!(
                    "link {} {what} credit, and there is no link back for its credit cells",
                    link.name
                );
                return mistake(message, "make the link duplex, or add one in the other direction");
            };
            if link.reordering.happens() {
                let message =
                    format!("link {} has credit and reorders packets, which would count as lost", link.name);
                return mistake(message, "leave out `reorder`: the cells of a VC come in order");
            }
            if !link.has_one_delay() {
                let message = format!("link {} has credit and a delay that differs", link.name);
                return mistake(
                    message,
                    "leave out `jitter` and changes of `delay`: buffers and times are by the delay",
                );
            }
            if let Some(link) = [link, &links[*back]].into_iter().find(|link| link.framing.happens()) {
                let message = format!("link {} carries cells of credit and has overhead", link.name);
                return mistake(
                    message,
                    "leave out `overhead`, `mpu` and `atm`: buffers are in bytes of cells",
                );
            }
            back_links.push(*back);
        }
        let of = |link: usize| carried.get(&link).copied().unwrap_or_default();
        let loses = |link: &usize| links[*link].loss.happens();
        let there = of(ix);
        let known = LinkProperties {
            rate: way.iter().map(|link| links[*link].rate).min().unwrap_or(links[ix].rate),
            further: further.iter().map(|link| links[*link].rate).collect(),
            back: back_links.iter().map(|link| (links[*link].rate, of(*link).largest)).collect(),
            propagation: way.iter().chain(&back_links).fold(Span::ZERO, |sum, link| sum + links[*link].delay),
            flows: u32::try_from(there.flows).unwrap_or(u32::MAX),
            smallest: if there.flows == 0 { 1 } else { there.smallest },
            largest: there.largest,
            loses: !further.is_empty() || way.iter().chain(&back_links).any(loses),
            is_unsure: !further.is_empty()
                || back_links.iter().any(loses)
                || way.iter().chain(&back_links).any(|link| !links[*link].pace.is_steady()),
        };
        let vcs = if credit.params.per == Per::Link { 1 } else { there.flows };
        let planned = credit.params.plan(&known);
        planned.map(|plan| Some(LinkCredit { plan, vcs, further: further.to_vec() })).map_err(|fault| {
            let (Key::Param(key) | Key::Member { key, .. }) = fault.key;
            (credit.place_of(key), Complaint::new(format!("{} on link {}", fault.message, links[ix].name)))
        })
    }
}

/// The number and the packet sizes of the flows on each link.
fn carried(groups: &[FlowGroup], loads: &[Load]) -> BTreeMap<usize, Carried> {
    let mut carried = BTreeMap::<usize, Carried>::new();
    for load in loads {
        let group = &groups[load.group];
        let smallest = group.link_sizes().iter().copied().min().unwrap_or(0);
        for link in &group.route {
            let here = carried.entry(*link).or_default();
            here.flows += load.count;
            here.largest = here.largest.max(load.largest);
            here.smallest = match (here.smallest, smallest) {
                (0, smallest) | (smallest, 0) => smallest,
                (one, other) => one.min(other),
            };
        }
    }
    carried
}

/// For each link the one in the other direction, by their places among those between the same
/// nodes.
fn reverse(links: &[Link]) -> BTreeMap<usize, usize> {
    let mut between: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut places = Vec::with_capacity(links.len());
    for (ix, link) in links.iter().enumerate() {
        let alike = between.entry((link.from, link.to)).or_default();
        places.push(alike.len());
        alike.push(ix);
    }
    let back = |(ix, link): (usize, &Link)| {
        let back = between.get(&(link.to, link.from))?.get(places[ix])?;
        Some((ix, *back))
    };
    links.iter().enumerate().filter_map(back).collect()
}
