//! Pools of output ports: the VCs that share each, over whichever links they come, and its plan.

use super::link::{LinkCredit, OutputCredit};
use crate::error::{Complaint, Place};
use crate::port::CreditSpec;
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::Link;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::credit::output_pool::OutputProperties;
use tidegate_core::credit::params::{CreditParams, CreditTerms};
use tidegate_core::params::{Key, Parameters, Value};
use tidegate_core::units::{Rate, Span};

/// Place at which VCs leave a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// By this link.
    Port(usize),
    /// They end there, and came over this link.
    End(usize),
}

/// VCs that share a pool, and the links over which they come.
#[derive(Debug, Default)]
struct Sharing {
    links: BTreeSet<usize>,
    vcs: u64,
}

type Planned = Result<OutputCredit, (Place, Complaint)>;

/// The pools of output ports, when `credit` is that of each link.
pub(super) fn plans(
    links: &[Link],
    groups: &[FlowGroup],
    loads: &[Load],
    credit: &[Option<&LinkCredit>],
) -> Vec<Planned> {
    let mut pools: BTreeMap<Way, Sharing> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for load in loads {
        let group = &groups[load.group];
        for (place, link) in group.route.iter().enumerate() {
            let Some((spec, there)) = spec(&links[*link]).zip(credit[*link]) else { continue };
            if terms(there).is_none() {
                continue;
            }
            if !group.depths.is_empty() {
                mistakes.push(Err(multicast(group, &links[*link], spec)));
                continue;
            }
            let way = group.route.get(place + there.further.len() + 1);
            let pool = pools.entry(way.map_or(Way::End(*link), |port| Way::Port(*port))).or_default();
            pool.links.insert(*link);
            pool.vcs += load.count;
        }
    }
    mistakes.extend(pools.into_iter().map(|(way, sharing)| plan(way, &sharing, links, credit)));
    mistakes
}

/// Terms that a link with pools of output ports contributes to them: its smallest packet, and the
/// longest time until a record has its effect.
fn terms(credit: &LinkCredit) -> Option<(u32, Span)> {
    match credit.plan.terms {
        CreditTerms::Output { cell, delay, .. } => Some((cell, delay)),
        _ => None,
    }
}

fn spec(link: &Link) -> Option<&CreditSpec> {
    link.port.stage_terms.get::<CreditSpec>()
}

fn multicast(group: &FlowGroup, link: &Link, spec: &CreditSpec) -> (Place, Complaint) {
    let message =
        format!("`{}` is a multicast flow, and link {} has pools of output ports", group.name, link.name);
    (
        spec.place_of("pool_per"),
        Complaint::new(message).help("leave out `pool_per`: its packets leave by several ports"),
    )
}

fn plan(way: Way, sharing: &Sharing, links: &[Link], credit: &[Option<&LinkCredit>]) -> Planned {
    let sharers: Vec<(&Link, &CreditSpec, &LinkCredit)> = sharing
        .links
        .iter()
        .filter_map(|link| Some((&links[*link], spec(&links[*link])?, credit[*link]?)))
        .collect();
    let (first, rest) = sharers.split_first().expect("a pool is shared by VCs of a link");
    let (link, stated, _) = *first;
    for (other, theirs, _) in rest {
        if let Some(key) = differs(&stated.params, &theirs.params) {
            let message = format!(
                "links {} and {} share pools at output ports, and state different `{key}`",
                link.name, other.name
            );
            return Err((theirs.place_of(key), Complaint::new(message)));
        }
    }
    let bits = |rates: u64, link: &Link| rates.saturating_add(link.rate.bits_per_second().round() as u64);
    let arriving = sharers.iter().fold(0, |rates, (link, ..)| bits(rates, link));
    let arriving = Rate::from_bits_per_second(arriving).unwrap_or(link.rate);
    let of_links = || sharers.iter().filter_map(|(_, _, credit)| Some((credit.plan.rtt, terms(credit)?)));
    let properties = OutputProperties {
        rate: match way {
            Way::Port(port) => links[port].rate.min(arriving),
            Way::End(_) => arriving,
        },
        cell: of_links().map(|(_, (cell, _))| cell).min().unwrap_or(1),
        rtt: of_links().map(|(rtt, _)| rtt).max().unwrap_or(Span::ZERO),
        delay: of_links().map(|(_, (_, delay))| delay).max().unwrap_or(Span::ZERO),
        vcs: u32::try_from(sharing.vcs).unwrap_or(u32::MAX),
        links: sharers.len() as u32,
    };
    let plan = stated.params.output_pool(&properties).map_err(|fault| {
        let (Key::Param(key) | Key::Member { key, .. }) = fault.key;
        let at = match way {
            Way::Port(port) => format!("at the output port of link {}", links[port].name),
            Way::End(_) => format!("for the VCs that end after link {}", link.name),
        };
        (stated.place_of(key), Complaint::new(format!("{} {at}", fault.message)))
    })?;
    Ok(OutputCredit {
        plan,
        node: match way {
            Way::Port(port) => links[port].from,
            Way::End(link) => credit[link]
                .and_then(|credit| credit.further.last())
                .map_or(links[link].to, |last| links[*last].to),
        },
        port: match way {
            Way::Port(port) => Some(port),
            Way::End(_) => None,
        },
        links: sharing.links.iter().copied().collect(),
        vcs: sharing.vcs,
    })
}

/// The key of a pool that two links state differently.
fn differs(one: &CreditParams, other: &CreditParams) -> Option<&'static str> {
    let (one, other) = (one.values(), other.values());
    let value = |of: &[(&'static str, Value)], key: &str| of.iter().find(|(name, _)| *name == key).cloned();
    ["pool", "divided", "interval", "n2"].into_iter().find(|key| value(&one, key) != value(&other, key))
}
