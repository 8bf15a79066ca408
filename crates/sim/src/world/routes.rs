//! Construction of the routes of flows: their hops, the stages there, and forks.

use super::stages::{Placed, Sets};
use crate::fabric::{After, Fabric, Hop, Link, NOWHERE, Path, Spread};
use crate::network::{FlowSetup, Network};
use crate::source::Traffic;
use crate::stage::Site;
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::Time;

/// Registers the forks in the routes of multicast flows, by the first of the hops that leave a
/// node, and the number of destinations behind each hop.
pub(super) fn add_forks(network: &Network, first_hops: &[u32], fabric: &mut Fabric) {
    for (setup, first) in network.flows.iter().zip(first_hops).filter(|(flow, _)| !flow.depths.is_empty()) {
        let mut siblings: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        // The last hop at each depth on the way to the present one.
        let mut way: Vec<u32> = Vec::new();
        for (hop, depth) in (*first..).zip(&setup.depths) {
            let depth = usize::from(*depth);
            // It leaves the node that the previous hop at this depth leaves.
            let eldest = way.get(depth - 1).copied().unwrap_or(hop);
            way.truncate(depth - 1);
            way.push(eldest);
            siblings.entry(eldest).or_default().push(hop);
        }
        fabric.destinations.extend((*first..).zip(setup.destinations_behind()));
        let forks = siblings.into_iter().filter(|(_, hops)| hops.len() > 1);
        fabric.forks.extend(forks.map(|(eldest, hops)| (eldest, hops.into())));
    }
}

/// Registers the flows whose packets take one of several paths.
pub(super) fn add_spreads(network: &Network, seed: u64, fabric: &mut Fabric) {
    for (ix, setup) in (0..).zip(&network.flows) {
        if let Some(paths) = &setup.paths {
            let rng = Rng::named(seed, &format!("paths/{}", setup.name));
            fabric.spreads.insert(ix, Spread { paths: paths.clone(), rng });
        }
    }
}

/// Opens the priority lanes of links over which stages send cells.
pub(super) fn open_lanes(stages: &[Placed], fabric: &mut Fabric) {
    for (ix, Placed { stage, .. }) in (0..).zip(stages) {
        for link in stage.cell_links() {
            let link = &mut fabric.links[link as usize];
            link.line.open_lane();
            link.cell_stage = ix;
            link.path = link.path.max(Path::Stepwise);
        }
    }
}

/// Returns the set of stages of each hop.
///
/// # Errors
/// When there are more sets than can be told apart.
pub(super) fn stage_sets(
    network: &Network,
    first_hops: &[u32],
    sets: &mut Sets<'_>,
) -> Result<Vec<u16>, Refused> {
    let mut of_hops = Vec::new();
    for ((flow, setup), first) in (0..).zip(&network.flows).zip(first_hops) {
        for (hop, place) in setup.hops().enumerate() {
            let link = &setup.route[place];
            let to = first + hop as u32;
            let from = setup.before(hop).map(|before| first + before as u32);
            let node = network.switch_of(*link) as u32;
            let port = Site { flow, node, link: Some(*link as u32), from, to: Some(to) };
            let end = network.links[*link].to as u32;
            let destination = Site { flow, node: end, link: None, from: Some(to), to: None };
            of_hops.push(sets.set(&port, setup.is_last(hop).then_some(&destination))?);
        }
    }
    Ok(of_hops)
}

/// Reserves memory for the hops of all flows, and for the flows of each port that are open from the
/// start.
pub(super) fn reserve(network: &Network, fabric: &mut Fabric) {
    fabric.hops.reserve_exact(network.flows.iter().map(FlowSetup::hop_count).sum());
    let mut flows = vec![0; fabric.links.len()];
    let open = network.flows.iter().filter(|setup| !setup.life.set_up);
    open.flat_map(|setup| &setup.route).for_each(|link| flows[*link] += 1);
    for (Link { node, port, .. }, flows) in fabric.links.iter().zip(flows) {
        fabric.nodes[*node as usize].switch.reserve(*port, flows);
    }
}

/// Opens a flow at the ports on its way, and adds its hops, which have these sets of stages.
/// `is_sampled` is true if samples are taken of received packets.
///
/// # Errors
/// When a scheduler refuses the flow.
pub(super) fn add_route(
    network: &Network,
    setup: &FlowSetup,
    sets: &[u16],
    fabric: &mut Fabric,
    is_sampled: bool,
) -> Result<(), Refused> {
    // The place of a flow with several paths at the port in front of each link, which paths share.
    let mut shared: BTreeMap<usize, Leg> = BTreeMap::new();
    for (ix, (place, stages)) in setup.hops().zip(sets).enumerate() {
        let (link, plan) = (&setup.route[place], &setup.plans[place]);
        // The envelope is a shaper in front of the first port.
        let shaper = if ix == 0 { setup.envelope } else { None };
        let plan = FlowPlan { shaper, ..*plan };
        let Link { node, port, .. } = fabric.links[*link];
        let at_gate = network.gate.as_ref().is_some_and(|gate| gate.links.contains(link));
        let leg = match (setup.life.set_up || at_gate, shared.get(link)) {
            (true, _) => Leg { port, flow: NOWHERE },
            (false, Some(leg)) => *leg,
            (false, None) => fabric.nodes[node as usize].switch.open(Time::ORIGIN, port, &plan)?,
        };
        if setup.paths.is_some() {
            shared.insert(*link, leg);
        }
        let set = &fabric.stage_sets[usize::from(*stages)];
        if !set.released.is_empty() {
            fabric.nodes[node as usize].switch.report_released(true);
        }
        let line = &mut fabric.links[*link];
        if !set.start.is_empty() {
            line.path = line.path.max(Path::SeenStarts);
        }
        if !set.leave.is_empty() {
            line.path = line.path.max(Path::Stepwise);
        }
        let last = setup.is_last(ix);
        let is_only_counted = setup.peer.is_none()
            && !setup.aal5
            && !matches!(setup.traffic, Traffic::Endpoint(_))
            && set.receive.is_empty()
            && setup.depths.is_empty()
            && fabric.observers.is_empty()
            && !is_sampled;
        let flies = !line.line.is_immediate() || (last && !is_only_counted) || !setup.depths.is_empty();
        let after = match (flies, last) {
            (false, false) => After::Next,
            (false, true) => After::Sink,
            (true, false) => After::Flight,
            (true, true) if is_only_counted => After::FlightToSink,
            (true, true) => After::FlightToHost,
        };
        fabric.hops.push(Hop { link: *link as u32, node, leg, stages: *stages, after });
    }
    Ok(())
}
