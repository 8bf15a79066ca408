//! Bounds on the delay and the backlog of the flows of a network, before it runs.
//!
//! A flow has a bound where its traffic is within a stated contract: it is a CBR source, it passes an
//! envelope that delays or drops its excess, or it plays a recording and reserves a rate. Delays
//! are from its first port, behind the envelope. [`Bounds`](analysis::Bounds) has the analyses.

mod conforming;
mod effects;
mod places;
mod stages;
mod voids;

use crate::network::{FlowSetup, Network};
use conforming::arrivals;
use places::Places;
use tidegate_core::bounds::analysis::{self, FlowBound};
use tidegate_core::bounds::network::{Flow, Network as Calculus, Unbounded};
use tidegate_core::curves::{ArrivalCurve, Exact, whole};
use tidegate_core::params::Limit;
use tidegate_core::shaper::{Ceiling, Excess};

/// Bounds of a network.
#[derive(Clone, Debug)]
pub struct NetworkBounds {
    /// Bounds of each flow, or the reason for which there is none.
    pub flows: Vec<Result<FlowBound, String>>,
    /// Most bytes at the port of each link, the packet on its way out included: a buffer that loses
    /// nothing. `None` where there is no bound.
    pub ports: Vec<Option<Exact>>,
}

/// Returns the bound on the traffic of each flow at its first port, or the reason for which there is
/// none.
pub fn contracts(network: &Network) -> Vec<Result<ArrivalCurve, &'static str>> {
    network.flows.iter().map(|flow| arrivals(network, flow)).collect()
}

/// Computes the bounds of all flows of a network.
pub fn bounds(network: &Network) -> NetworkBounds {
    let places = Places::of(network);
    let sources = contracts(network);
    let flows = network.flows.iter().zip(&sources).map(|(flow, source)| Flow {
        route: places.route(flow),
        contracts: flow.plans.iter().map(|plan| plan.contract).collect(),
        ceilings: flow.plans.iter().map(|plan| plan.ceiling.map(Ceiling::new)).collect(),
        largest: flow.largest().max(flow.traffic.sizes().map_or(0, |sizes| sizes.largest)),
        smallest: smallest(flow),
        arrivals: source.as_ref().ok().cloned(),
    });
    let effects = stages::effects(network);
    let ports = places.ports(network, effects.as_ref().map(|effects| &effects.ports[..]));
    let windows = effects.as_ref().map_or_else(Vec::new, |effects| effects.windows.clone());
    let calculus = Calculus { ports, flows: flows.collect(), windows };
    let found = analysis::bounds_of(&calculus);
    let ports: Vec<Option<Exact>> = (0..network.links.len())
        .map(|link| places.of_link(link).map(|place| found.ports[place].clone()).sum())
        .collect();
    let overflows = overflows(network, &found.flows, &ports);
    let flows = found.flows.into_iter().enumerate().map(|(ix, bound)| {
        let flow = &network.flows[ix];
        let bound = bound.map_err(|why| match (why, &sources[ix]) {
            (Unbounded::Source, Err(why)) => (*why).to_owned(),
            (why, _) => words(network, &places, why),
        })?;
        match flow.route.iter().find(|link| overflows[network.links[**link].from]) {
            Some(link) => {
                let node = &network.nodes[network.links[*link].from].name;
                Err(format!("the buffer of {node} may be too small"))
            }
            None => Ok(bound),
        }
    });
    NetworkBounds { flows: flows.collect(), ports }
}

/// The nodes whose memory may not hold all packets.
fn overflows(
    network: &Network,
    flows: &[Result<FlowBound, Unbounded>],
    ports: &[Option<Exact>],
) -> Vec<bool> {
    let mut needed: Vec<Option<Exact>> = vec![Some(whole(0)); network.nodes.len()];
    for (ix, link) in network.links.iter().enumerate() {
        let bytes = match network.nodes[link.from].buffer {
            None => Some(whole(0)),
            Some(Limit::Bytes(_)) => ports[ix].clone(),
            Some(Limit::Packets(_)) => packets(network, flows, ix),
        };
        let sum = needed[link.from].take().zip(bytes).map(|(sum, bytes)| sum + bytes);
        needed[link.from] = sum;
    }
    let may = |(node, needed): (&crate::network::NodePlan, Option<Exact>)| {
        let room = node.buffer.map(|buffer| match buffer {
            Limit::Bytes(most) | Limit::Packets(most) => whole(most),
        });
        room.is_some_and(|room| needed.is_none_or(|needed| needed > room))
    };
    let mut may: Vec<bool> = network.nodes.iter().zip(needed).map(may).collect();
    // Packets that wait in an envelope are in the memory of the first node.
    let waits = |flow: &&FlowSetup| {
        network.is_enveloped(flow) && flow.envelope.is_some_and(|envelope| envelope.excess == Excess::Wait)
    };
    for flow in network.flows.iter().filter(waits) {
        let first = network.links[flow.route[0]].from;
        may[first] |= network.nodes[first].buffer.is_some();
    }
    may
}

/// The smallest packet of a flow.
fn smallest(flow: &FlowSetup) -> u32 {
    flow.traffic.sizes().map_or(1, |sizes| sizes.smallest)
}

/// Most packets at a port; `None` if a flow has no bound.
fn packets(network: &Network, flows: &[Result<FlowBound, Unbounded>], link: usize) -> Option<Exact> {
    let mut sum = whole(0);
    for (flow, bound) in network.flows.iter().zip(flows) {
        if let Some(hop) = flow.route.iter().position(|at| *at == link) {
            let bytes = &bound.as_ref().ok()?.hops.get(hop)?.backlog;
            sum += (bytes / whole(smallest(flow).max(1))).floor();
        }
    }
    Some(sum)
}

/// The reason in words, with the names of the network.
fn words(network: &Network, places: &Places, why: Unbounded) -> String {
    let port = |place: usize| places.name(network, place);
    let name = |flow: usize| {
        let flow: &FlowSetup = &network.flows[flow];
        &flow.name
    };
    match why {
        Unbounded::Source => "its source states no bound".to_owned(),
        Unbounded::Promise { port: ix, why } => format!("{}: {why}", port(ix)),
        Unbounded::Beside { port: ix, flow } => {
            format!("{}: the traffic of {} is not bounded there", port(ix), name(flow))
        }
        Unbounded::Window { port: ix, places, needs } => {
            format!("{}: its credit of {places} packets may run out, and it needs {needs}", port(ix))
        }
        Unbounded::Overload { port: ix } => format!("{}: more may arrive than it carries", port(ix)),
        Unbounded::Cycle { port: ix } => {
            format!("{}: the bounds of a cycle of ports raise each other", port(ix))
        }
    }
}
