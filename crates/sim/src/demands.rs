//! Demands of flows and capacities of links: the input of a max-min allocation for a scenario's
//! network.
//!
//! A capacity is that of a link, or the ceiling of a class at a port, which the flows of the class
//! share.

use crate::network::{FlowSetup, Network};
use crate::stage_plans;
use tidegate_core::shaper::Excess;
use tidegate_core::units::{Rate, Span};
use tidegate_formats::{NodeKind, Scenario, Source};

/// A capacity that flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Its name: that of the link, or `class on link`.
    pub name: String,
    /// Index of the link.
    pub link: usize,
    /// Rate in bit/s; for a link with a trace, its mean.
    pub rate: f64,
    /// True if a switch sends on the link, not a host.
    pub switched: bool,
    /// Utilization that the stage at its port aims at; 1 without one that does.
    pub target: f64,
}

/// The rate that a flow asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asks {
    /// As much as it gets: a greedy source, or a connection with endless data.
    Everything,
    /// The mean rate of its source, in bit/s.
    Rate(f64),
    /// Not stated: a recording, finite or intermittent data of a connection.
    Unknown,
    /// Nothing: it answers the data of a connection.
    Nothing,
}

/// The demand of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Indexes of the capacities that it shares, each once.
    pub capacities: Vec<usize>,
    /// The part of its rate that each of these carries: all of it, unless its packets take several
    /// paths.
    pub parts: Vec<f64>,
    /// The rate that it asks for.
    pub asks: Asks,
    /// The lowest of its ceilings in bit/s: at switches, of its envelope, by the terms that it has
    /// with stages.
    pub ceiling: Option<f64>,
    /// Start time.
    pub start: Span,
    /// Stop time; `None` at the end of the run.
    pub stop: Option<Span>,
    /// True if its start or its stop is drawn from the seed.
    pub drawn: bool,
    /// True if its sending time or rate is only known in a run: granted by admission, or changed.
    pub varies: bool,
}

/// Returns the capacities of a scenario's network, links first and in their order, and the demand
/// of each of its flows.
pub fn demands(scenario: &Scenario, network: &Network) -> (Vec<Capacity>, Vec<Demand>) {
    let mut capacities: Vec<Capacity> = network
        .links
        .iter()
        .enumerate()
        .map(|(ix, link)| {
            let own = link.rate.bits_per_second();
            let rate = link.port.ceiling.map_or(own, |ceiling| ceiling.bits_per_second().min(own));
            let switched = scenario.nodes[link.from].kind == NodeKind::Switch;
            let target = stage_plans::target_utilisation(&scenario.links[ix]);
            Capacity { name: link.name.clone(), link: ix, rate, switched, target }
        })
        .collect();
    let mut of_class = vec![vec![None; network.classes.len()]; network.links.len()];
    for (link, plan) in network.links.iter().enumerate() {
        for (class, ceiling) in plan.port.classes.iter().map(|class| class.ceiling).enumerate() {
            // The classes of a gate are defined in its own file.
            let Some(ceiling) = ceiling.filter(|_| scenario.links[link].gate.is_none()) else { continue };
            of_class[link][class] = Some(capacities.len());
            let name = format!("{} on {}", network.classes[class], plan.name);
            let rate = ceiling.bits_per_second();
            capacities.push(Capacity { name, link, rate, switched: true, target: 1.0 });
        }
    }
    let demand = |flow: &FlowSetup| {
        let part = |place: usize| flow.paths.as_ref().map_or(1.0, |paths| paths.share_of(place));
        let shared = flow.route.iter().zip(&flow.plans).enumerate().flat_map(|(place, (link, plan))| {
            let classes = &network.links[*link].port.classes;
            let parent = |class: &u16| classes.get(*class as usize)?.parent;
            let ceilings = core::iter::successors(plan.class, parent)
                .filter_map(|class| of_class[*link].get(class as usize).copied().flatten());
            core::iter::once(*link).chain(ceilings).map(move |capacity| (capacity, part(place)))
        });
        let (capacities, parts) = shared.unzip();
        let life = &flow.life;
        Demand {
            capacities,
            parts,
            asks: asks(&scenario.groups[flow.part].source, flow),
            ceiling: ceiling(flow, network),
            start: life.start,
            stop: life.stop,
            drawn: life.every.is_some() || life.lasts.is_some(),
            varies: life.set_up || life.changes.iter().any(|change| change.pace.is_some()),
        }
    };
    let demands = network.flows.iter().map(demand).collect();
    (capacities, demands)
}

fn asks(source: &Source, flow: &FlowSetup) -> Asks {
    match source {
        Source::Greedy { .. } => Asks::Everything,
        Source::Sender { application, .. } if application.is_endless() => Asks::Everything,
        Source::Receiver { .. } => Asks::Nothing,
        _ => flow.traffic.mean_bits_per_second().map_or(Asks::Unknown, Asks::Rate),
    }
}

fn ceiling(flow: &FlowSetup, network: &Network) -> Option<f64> {
    let at_switches = flow.plans.iter().filter_map(|plan| plan.ceiling);
    let envelope =
        flow.envelope.iter().filter(|envelope| envelope.excess != Excess::Mark).map(|one| one.rate);
    let stated = at_switches.chain(envelope).map(Rate::bits_per_second);
    stated.chain(stage_plans::ceilings(flow, network)).min_by(f64::total_cmp)
}
