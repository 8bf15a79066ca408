//! Construction of a world from a network: switches, links, flows, and events known from the start.

use super::aal5::Aal5;
use super::host_events::HostEvents;
use super::lives::lives;
use super::measuring::measures;
use super::pending::Pending;
use super::stages::{Placed, Sets, StageSetup, stages};
use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fabric::{After, Fabric, Hop, Link, NOWHERE, Node};
use crate::flights::Flights;
use crate::flow::Flow;
use crate::host::{Greedy, Outbox, Restrained, Restraint, Source};
use crate::network::{FlowSetup, Network, NodePlan};
use crate::packets::Packets;
use crate::probe::Probes;
use crate::source::{Emission, Traffic};
use crate::stage::Site;
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::EndpointSetup;
use tidegate_core::link::{Line, LinePlan};
use tidegate_core::packet::{Leg, Mark, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, Sharing, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// The mark of packets that are ECN-capable (RFC 3168, section 5).
const ECT_0: Mark = Mark::from_ip(0, 0b10);

impl<Q: EventQueue> World<Q> {
    /// Builds the network; every component's random stream comes from `seed` and its name.
    ///
    /// # Errors
    /// When a scheduler refuses a plan.
    pub fn new(network: &Network, seed: u64, probes: &Probes) -> Result<World<Q>, Refused> {
        let ports = network.ports();
        let reports = probes.log || !probes.workahead.is_empty();
        let mut fabric = fabric(network, seed, &ports, reports)?;
        let first_hops = network.first_hops();
        let stages = stages(&mut StageSetup {
            network,
            seed,
            ports: &ports,
            first_hops: &first_hops,
            fabric: &mut fabric,
        })?;
        let mut sets = Sets::new(&stages);
        let mut flows = Vec::with_capacity(network.flows.len());
        let mut events: Pending<Q> = Pending::new(network, stages.len());
        for (ix, (setup, life)) in network.flows.iter().zip(lives(network, seed)).enumerate() {
            let start = life.0;
            let mut flow = flow(network, ix, seed, life, fabric.hops.len() as u32);
            add_route(network, ix, &mut fabric, &mut sets, probes)?;
            let begins = match &mut flow.source {
                Source::Endpoint(endpoint) => {
                    let first = &mut fabric.links[setup.route[0]];
                    first.stepwise |= endpoint.watches_first_queue();
                    let switch = &fabric.nodes[first.node as usize].switch;
                    flow.tells_round_trip = switch.follows_round_trips(first.port);
                    start
                }
                Source::OpenLoop(emission) => {
                    let first = emission.next_packet();
                    flow.pending = first.map_or(0, |(_, len)| len);
                    first.map_or(Time::NEVER, |(gap, _)| start + gap)
                }
            };
            if begins < flow.stop {
                events.set(Event::Source(ix as u32), begins);
                flow.wakes_at = begins;
            }
            flows.push(flow);
        }
        fabric.stage_sets = sets.all;
        for (ix, Placed { stage, .. }) in (0..).zip(&stages) {
            events.stages.set(ix, stage.begin());
        }
        let mut world = World {
            events,
            now: Time::ORIGIN,
            // An event at infinity never occurs, even in an unbounded run.
            until: (Time::ORIGIN + network.duration).min(Time::NEVER.before(Span::TICK)),
            due_at: Time::NEVER,
            fabric,
            flows,
            packets: Packets::default(),
            stages,
            starts: Vec::new(),
            outbox: Outbox::default(),
            host_events: HostEvents::default(),
            aal5: Aal5::default(),
            measures: measures(network, probes)?,
            overflow: None,
        };
        world.count_in_traffic();
        world.set_due();
        Ok(world)
    }
}

/// Builds switches and links; `reports` is true if switches report the releases of shapers.
fn fabric(network: &Network, seed: u64, ports: &[PortIx], reports: bool) -> Result<Fabric, Refused> {
    let node = |node: &NodePlan| (format!("node/{}", node.name), node.buffer, Sharing::Complete);
    let gate = network.gate.as_ref();
    let gate = gate.map(|gate| ("gate".to_owned(), Some(gate.buffer), Sharing::Partitioned));
    let switches: Vec<_> = network.nodes.iter().map(node).chain(gate).collect();
    let mut plans = vec![SwitchPlan::default(); switches.len()];
    let mut links_of = vec![Vec::new(); switches.len()];
    for (ix, link) in network.links.iter().enumerate() {
        plans[network.switch_of(ix)].ports.push(link.port.clone());
        links_of[network.switch_of(ix)].push(ix as u32);
    }
    let mut nodes = Vec::with_capacity(plans.len());
    for ((mut plan, links), (name, buffer, sharing)) in plans.into_iter().zip(links_of).zip(switches) {
        (plan.buffer, plan.sharing, plan.push_out) = (buffer, sharing, network.push_out);
        let mut switch = Switch::new(Time::ORIGIN, &plan)?;
        switch.report_released(reports);
        nodes.push(Node { switch, rng: Rng::named(seed, &name), links });
    }
    let gate_node = network.gate.as_ref().map(|_| network.nodes.len() as u32);
    let reverse = network.reverse_links();
    let mut flights = Vec::new();
    let mut flights_of = BTreeMap::new();
    let mut flights_on = |line: &Line<Packet>| {
        let delay = line.only_delay().filter(|delay| *delay > Span::ZERO)?;
        Some(*flights_of.entry(delay).or_insert_with(|| {
            flights.push(Flights::new(delay));
            flights.len() as u32 - 1
        }))
    };
    let link = |(ix, link): (usize, &crate::network::LinkPlan)| {
        let plan = LinePlan {
            rate: link.rate,
            trace: link.trace.clone(),
            delay: link.delay,
            loss: link.loss,
            reordering: link.reordering,
        };
        let line = Line::new(Time::ORIGIN, &plan);
        Link {
            node: network.switch_of(ix) as u32,
            port: ports[ix],
            stepwise: link.trace.is_some(),
            starts_are_seen: link.trace.is_some(),
            waits_for_ties: {
                let classes = link.port.classes.iter().map(|class| &class.scheduler);
                std::iter::once(&link.port.scheduler).chain(classes).any(SchedulerKind::waits_for_ties)
            },
            start_is_due: false,
            rate: link.rate,
            flights: flights_on(&line),
            line,
            rng: Rng::named(seed, &format!("link/{}", link.name)),
            to: link.to as u32,
            reverse: reverse[ix],
            wake_at: Time::NEVER,
            waiting: Span::ZERO,
            waited: 0,
            before: Default::default(),
            control: None,
        }
    };
    let links = network.links.iter().enumerate().map(link).collect();
    Ok(Fabric {
        nodes,
        links,
        flights,
        hops: Vec::new(),
        forks: BTreeMap::new(),
        closing: BTreeMap::new(),
        destinations: BTreeMap::new(),
        gate: gate_node,
        stage_sets: Vec::new(),
        out: Vec::new(),
    })
}

/// Builds a flow whose hops begin at `first_hop`.
fn flow(network: &Network, ix: usize, seed: u64, (start, stop): (Time, Time), first_hop: u32) -> Flow {
    let setup = &network.flows[ix];
    let peer = setup.peer.map(|peer| peer as u32);
    let end = EndpointSetup {
        flow: ix as u32,
        peer,
        rng: Rng::named(seed, &format!("flow/{}", setup.name)),
        start,
        stop,
        rate: network.links[setup.route[0]].rate,
        data: None,
    };
    Flow {
        source: source(setup, end),
        first_hop,
        hops: setup.route.len() as u32,
        pending: 0,
        stop,
        wakes_at: Time::NEVER,
        next_sequence: 0,
        group: setup.group as u32,
        mark: Mark::NONE.coloured(setup.colour),
        aal5: setup.aal5,
        preparation: setup.preparation,
        tells_round_trip: false,
        peer,
    }
}

/// Builds the source of the flow, as planned.
fn source(setup: &FlowSetup, end: EndpointSetup) -> Source {
    let reserve = setup.plans.first().and_then(|plan| plan.contract.reserve);
    let restraint = Restraint::new(setup.when_warned, reserve);
    let mark = if setup.ecn_capable { ECT_0 } else { Mark::NONE };
    match &setup.traffic {
        Traffic::Endpoint(factory) => Source::Endpoint(factory.make(end)),
        Traffic::Greedy { window, sizes } => Source::Endpoint(Box::new(Greedy::new(
            *window,
            sizes.clone(),
            restraint,
            mark,
            setup.life.set_up,
            end,
        ))),
        traffic => {
            let (set_up, stop) = (setup.life.set_up, end.stop);
            let emission = Emission::new(traffic.clone(), end.rng);
            if set_up || restraint.heeds_warnings() || mark != Mark::NONE || setup.aal5 {
                Source::Endpoint(Box::new(Restrained::new(emission, restraint, mark, set_up, stop)))
            } else {
                Source::OpenLoop(emission)
            }
        }
    }
}

/// Opens the flow at the ports on its way, and adds its hops.
fn add_route(
    network: &Network,
    flow: usize,
    fabric: &mut Fabric,
    sets: &mut Sets<'_>,
    probes: &Probes,
) -> Result<(), Refused> {
    let setup = &network.flows[flow];
    let first = fabric.hops.len();
    for (ix, (link, plan)) in setup.route.iter().zip(&setup.plans).enumerate() {
        // The envelope is a shaper in front of the first port.
        let shaper = if ix == 0 { setup.envelope } else { None };
        let plan = FlowPlan { shaper, ..*plan };
        let Link { node, port, .. } = fabric.links[*link];
        let at_gate = network.gate.as_ref().is_some_and(|gate| gate.links.contains(link));
        let leg = match setup.life.set_up || at_gate {
            true => Leg { port, flow: NOWHERE },
            false => fabric.nodes[node as usize].switch.open(Time::ORIGIN, port, &plan)?,
        };
        let last = setup.is_last(ix);
        let (flow, hop) = (flow as u32, (first + ix) as u32);
        let from = setup.before(ix).map(|before| (first + before) as u32);
        let port_site = Site { flow, node, link: Some(*link as u32), from, to: Some(hop) };
        let end = fabric.links[*link].to;
        let destination = Site { flow, node: end, link: None, from: Some(hop), to: None };
        let stages = sets.set(&port_site, last.then_some(&destination))?;
        let set = &sets.all[usize::from(stages)];
        let forks = !setup.depths.is_empty();
        let received_plainly = setup.peer.is_none()
            && !setup.aal5
            && !matches!(setup.traffic, Traffic::Endpoint(_))
            && set.receive.is_empty()
            && probes.sample.is_none()
            && probes.watch.is_none()
            && probes.workahead.is_empty()
            && !probes.log;
        let followed = probes.watch.is_some() || probes.log;
        if !set.released.is_empty() {
            fabric.nodes[node as usize].switch.report_released(true);
        }
        let link = &mut fabric.links[*link];
        link.stepwise |=
            !set.leave.is_empty() || forks || followed || (ix == 0 && setup.preparation > Span::ZERO);
        link.starts_are_seen |= followed;
        let travels = !link.line.is_immediate() || (last && !received_plainly) || forks;
        fabric.hops.push(Hop {
            link: setup.route[ix] as u32,
            node,
            leg,
            attended: stages != 0 || forks || followed || !probes.workahead.is_empty(),
            followed: forks || followed || !probes.workahead.is_empty(),
            stages,
            after: match (travels, last) {
                (true, last) => After::Travel { last },
                (false, true) => After::Sink,
                (false, false) => After::Next,
            },
        });
    }
    add_forks(setup, first, fabric);
    Ok(())
}

/// Registers the forks in the route of a multicast flow, by the first of the hops that leave a
/// node, and the number of destinations behind each hop.
fn add_forks(setup: &FlowSetup, first: usize, fabric: &mut Fabric) {
    let mut siblings: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    // The last hop at each depth on the way to the present one.
    let mut way: Vec<usize> = Vec::new();
    for (ix, depth) in setup.depths.iter().enumerate() {
        let depth = usize::from(*depth);
        let eldest = match way.get(depth - 1) {
            // It leaves the node that the previous hop at this depth leaves.
            Some(eldest) => *eldest,
            None => ix,
        };
        way.truncate(depth - 1);
        way.push(eldest);
        siblings.entry(eldest).or_default().push((first + ix) as u32);
    }
    for (ix, destinations) in setup.destinations_behind().into_iter().enumerate() {
        fabric.destinations.insert((first + ix) as u32, destinations);
    }
    for (eldest, hops) in siblings.into_iter().filter(|(_, hops)| hops.len() > 1) {
        fabric.forks.insert((first + eldest) as u32, hops.into());
    }
}
