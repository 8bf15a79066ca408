//! Credit-based flow control of links: what it comes to, and whether it fits.

use crate::error::{Complaint, Place, Report};
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::Link;
use crate::scenario::policies::Parts;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::credit::params::{CreditLink, CreditPlan, Per};
use tidegate_core::params::Key;

/// Which packets the flows of a link have.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    flows: u64,
    /// 0 when it is not known.
    smallest: u32,
    largest: u32,
}

/// Checks the credit of every link; reports the first error of each place.
pub(super) fn check(parts: &Parts<'_>, report: &mut Report) {
    let mut told = BTreeSet::new();
    let credits = parts.links.iter().filter_map(|link| link.port.credit.as_ref());
    for credit in credits.filter(|credit| parts.admission.is_some() && credit.params.per == Per::Link) {
        let place = credit.place_of("per");
        if told.insert(place) {
            let message =
                "flows that are set up by signalling have credit each, and not as one VC of their link";
            report.add(place, Complaint::new(message).help("leave out `per`, or `admission`"));
        }
    }
    for plan in plans(parts.links, parts.groups, parts.loads) {
        if let Err((place, complaint)) = plan
            && told.insert(place)
        {
            report.add(place, complaint);
        }
    }
}

impl Scenario {
    /// What the credit of each link comes to, now that it is known what each recording brings; `None` for a link without.
    /// What does not fit is left out: [`Scenario::check_recorded`] says so.
    pub fn credit_plans(&self, loads: &[Load]) -> Vec<Option<CreditPlan>> {
        plans(&self.links, &self.groups, loads).map(|plan| plan.ok().flatten()).collect()
    }
}

type Planned = Result<Option<CreditPlan>, (Place, Complaint)>;

fn plans<'s>(links: &'s [Link], groups: &'s [FlowGroup], loads: &'s [Load]) -> impl Iterator<Item = Planned> {
    let any = links.iter().any(|link| link.port.credit.is_some());
    let carried = if any { carried(groups, loads) } else { BTreeMap::new() };
    let back = if any { reverse(links) } else { BTreeMap::new() };
    links.iter().enumerate().map(move |(ix, link)| plan(ix, link, links, &carried, &back))
}

fn plan(
    ix: usize,
    link: &Link,
    links: &[Link],
    carried: &BTreeMap<usize, Carried>,
    back: &BTreeMap<usize, usize>,
) -> Planned {
    let Some(credit) = &link.port.credit else { return Ok(None) };
    let mistake =
        |message: String, help: &str| Err((credit.place_of(""), Complaint::new(message).help(help)));
    let Some(back) = back.get(&ix) else {
        let message =
            format!("link {} has credit, and there is no link back for its credit cells", link.name);
        return mistake(message, "make the link duplex, or add one in the other direction");
    };
    if link.reordering.happens() {
        let message =
            format!("link {} has credit and reorders packets, which would count as lost", link.name);
        return mistake(message, "leave out `reorder`: the cells of a VC come in order");
    }
    let of = |link: usize| carried.get(&link).copied().unwrap_or_default();
    let (there, opposite) = (of(ix), &links[*back]);
    let known = CreditLink {
        rate: link.rate,
        back: opposite.rate,
        propagation: link.delay + opposite.delay,
        flows: u32::try_from(there.flows).unwrap_or(u32::MAX),
        smallest: if there.flows == 0 { 1 } else { there.smallest },
        largest: there.largest,
        largest_back: of(*back).largest,
        loses: link.loss.happens() || opposite.loss.happens(),
    };
    credit.params.plan(&known).map(Some).map_err(|fault| {
        let (Key::Param(key) | Key::Member { key, .. }) = fault.key;
        (credit.place_of(key), Complaint::new(format!("{} on link {}", fault.message, link.name)))
    })
}

/// What flows bring to each link.
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

/// For each link the one in the other direction, by their places among those between the same nodes.
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
