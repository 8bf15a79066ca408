//! From a network to a world: switches, links, flows, and what is known to happen from the start.

use super::agenda::{Agenda, Deed};
use super::conduct::Conduct;
use super::flow_network::{NOWHERE, Standing};
use super::meters::FlowMeters;
use super::pending::Pending;
use super::wires::{Wire, Wires};
use super::{Around, Event, Flow, Gate, HopEntry, Link, Node, World};
use crate::event_queue::EventQueue;
use crate::fingerprint::Fingerprint;
use crate::network::{FlowSetup, Network, NodePlan};
use crate::probe::{Probes, Series};
use crate::record::{DelayCounts, FlowRecord};
use crate::traffic::{Emission, Traffic};
use std::collections::VecDeque;
use tidegate_core::admission::Ledger;
use tidegate_core::contract::Refused;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::stats::Moments;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    /// Builds the network; every component's random stream comes from `seed` and its name.
    ///
    /// # Errors
    /// When a scheduler refuses a plan.
    pub fn new(network: &Network, seed: u64, probes: &Probes) -> Result<World<Q>, Refused> {
        let ports = network.ports();
        let node = |node: &NodePlan| (format!("node/{}", node.name), node.buffer);
        let gate = network.gate.as_ref().map(|gate| ("gate".to_owned(), Some(gate.buffer)));
        let switches: Vec<_> = network.nodes.iter().map(node).chain(gate).collect();
        let mut plans = vec![SwitchPlan::default(); switches.len()];
        let mut links_of = vec![Vec::new(); switches.len()];
        for (ix, link) in network.links.iter().enumerate() {
            plans[network.switch_of(ix)].ports.push(link.port.clone());
            links_of[network.switch_of(ix)].push(ix as u32);
        }
        let mut nodes = Vec::with_capacity(plans.len());
        for ((mut plan, links), (name, buffer)) in plans.into_iter().zip(links_of).zip(switches) {
            plan.buffer = buffer;
            let switch = Switch::new(Time::ORIGIN, &plan)?;
            nodes.push(Node { switch, rng: Rng::named(seed, &name), links });
        }
        let gate = match &network.gate {
            Some(plan) => Some(Box::new(Gate::new(plan, &ports, &mut nodes)?)),
            None => None,
        };
        let link = |(ix, link): (usize, &crate::network::LinkPlan)| Link {
            node: network.switch_of(ix) as u32,
            port: ports[ix],
            rate: link.rate,
            delay: link.delay,
            in_flight: VecDeque::new(),
            unusual: link.trace.is_some(),
            waiting: Span::ZERO,
            dropped: 0,
            waited: 0,
            before: Default::default(),
        };
        let groups = network.groups.len();
        let mut world = World {
            events: Pending::new(network),
            now: Time::ORIGIN,
            // What never happens does not happen in a run without end either.
            until: (Time::ORIGIN + network.duration).min(Time::NEVER.before(Span::from_ticks(1))),
            warm_at: Time::ORIGIN + network.warmup,
            warm: network.warmup == Span::ZERO,
            due_at: Time::NEVER,
            links: network.links.iter().enumerate().map(link).collect(),
            wires: Wires::new(network, seed),
            flows: Vec::with_capacity(network.flows.len()),
            records: vec![FlowRecord::default(); network.flows.len()],
            hops: Vec::new(),
            bodies: Vec::new(),
            free_bodies: Vec::new(),
            out: Vec::new(),
            fingerprint: Fingerprint::default(),
            packet_hops: 0,
            group_counts: vec![DelayCounts::default(); if probes.delays { groups } else { 0 }],
            flow_counts: vec![
                DelayCounts::default();
                if probes.flow_delays { network.flows.len() } else { 0 }
            ],
            group_delays: Vec::new(),
            flow_delays: Vec::new(),
            series: probes.sample.map(|spacing| Series::new(spacing, network.links.len(), groups)),
            watch: probes.watch.clone(),
            envelopes: match network.flows.iter().any(|flow| flow.envelope.is_some()) {
                true => vec![Moments::default(); network.flows.len()],
                false => Vec::new(),
            },
            agenda: Agenda::default(),
            conducts: Vec::with_capacity(network.flows.len()),
            meters: vec![FlowMeters::default(); network.flows.len()],
            standings: Vec::with_capacity(network.flows.len()),
            first_gaps: Vec::with_capacity(network.flows.len()),
            ledgers: network.policies.iter().map(|policy| Ledger::new(*policy)).collect(),
            setups: if network.policies.is_empty() { Vec::new() } else { network.flows.clone() },
            signals: Vec::new(),
            has_meters: network.links.iter().any(|link| !link.port.meters.is_empty()),
            probed: probes.sample.is_some() || probes.watch.is_some(),
            attended: probes.watch.is_some() || gate.is_some(),
            gate,
            nodes,
        };
        let mut arrivals = Arrivals::new(network, seed);
        for setup in &network.flows {
            let start = Time::ORIGIN + arrivals.next(setup);
            world.add_flow(setup, seed, start)?;
        }
        world.set_due();
        Ok(world)
    }

    fn add_flow(&mut self, setup: &FlowSetup, seed: u64, start: Time) -> Result<(), Refused> {
        let first = self.hops.len() as u32;
        for (ix, (link, plan)) in setup.route.iter().zip(&setup.plans).enumerate() {
            // The envelope is a shaper in front of the first port.
            let shaper = if ix == 0 { setup.envelope } else { None };
            let plan = FlowPlan { shaper, ..*plan };
            let Link { node, port, delay, .. } = self.links[*link];
            let loses = self.wires.of[*link].as_ref().is_some_and(Wire::loses);
            let at_gate = self.gate.as_ref().is_some_and(|gate| gate.has(*link));
            let leg = match setup.life.set_up || at_gate {
                true => Leg { port, flow: NOWHERE },
                false => self.nodes[node as usize].switch.open(Time::ORIGIN, port, &plan)?,
            };
            let tops_up = ix == 0 && matches!(setup.traffic, Traffic::Greedy { .. });
            self.links[*link].unusual |= tops_up;
            self.hops.push(HopEntry {
                link: *link as u32,
                node,
                leg,
                tops_up,
                around: match setup.envelope {
                    _ if at_gate => Around::Gate,
                    Some(_) if ix == 0 => Around::Envelope,
                    _ => Around::Nothing,
                },
                flies: delay > Span::ZERO || loses,
                last: ix + 1 == setup.route.len(),
            });
        }
        if let Some(gate) = &mut self.gate {
            gate.expect(setup.headers);
        }
        let rng = Rng::named(seed, &format!("flow/{}", setup.name));
        let mut emission = Emission::new(setup.traffic.clone(), rng);
        let stop = match setup.life.lasts {
            Some(mean) => start + Rng::named(seed, &format!("flow/{}/lasts", setup.name)).exponential(mean),
            None => setup.life.stop.map_or(Time::NEVER, |stop| Time::ORIGIN + stop),
        };
        let first_packet = if emission.window() > 0 { Some((Span::ZERO, 0)) } else { emission.next_packet() };
        let flow = self.flows.len() as u32;
        if setup.life.set_up {
            self.plan_signals(setup, flow, start, stop);
        } else if let Some((gap, _)) = first_packet
            && start + gap < stop
        {
            self.events.set(Event::Source(flow), start + gap);
        }
        self.standings.push(if setup.life.set_up { Standing::New } else { Standing::Given });
        self.first_gaps.push(first_packet.map_or(Span::ZERO, |(gap, _)| gap));
        let reserve = setup.plans.first().and_then(|plan| plan.contract.reserve);
        self.conducts.push(Conduct::new(setup.when_warned, reserve));
        self.flows.push(Flow {
            plain: emission.window() == 0,
            emission,
            first_hop: first,
            pending: first_packet.map_or(0, |(_, len)| len),
            in_first_queue: 0,
            stop,
            next_sequence: 0,
            group: setup.group as u32,
        });
        Ok(())
    }

    /// What is known from the start about a flow that is set up.
    fn plan_signals(&mut self, setup: &FlowSetup, flow: u32, start: Time, stop: Time) {
        if start >= stop {
            // Its turn in the group came too late.
            return;
        }
        self.agenda.note(start, flow, Deed::SetUp);
        if stop < Time::NEVER {
            self.agenda.note(stop, flow, Deed::Finish);
        }
        if let Some(at) = setup.life.hangup {
            self.agenda.note(Time::ORIGIN + at, flow, Deed::HangUp);
        }
        for (nth, change) in setup.life.changes.iter().enumerate() {
            self.agenda.note(Time::ORIGIN + change.at, flow, Deed::Change(nth));
        }
    }
}

/// When flows start, group by group.
struct Arrivals {
    groups: Vec<(Rng, Option<Span>)>,
}

impl Arrivals {
    fn new(network: &Network, seed: u64) -> Arrivals {
        let group = |name: &String| (Rng::named(seed, &format!("group/{name}")), None);
        Arrivals { groups: network.groups.iter().map(group).collect() }
    }

    fn next(&mut self, setup: &FlowSetup) -> Span {
        let Some(mean) = setup.life.every else { return setup.life.start };
        let (rng, before) = &mut self.groups[setup.group];
        let at = before.unwrap_or(setup.life.start) + rng.exponential(mean);
        *before = Some(at);
        at
    }
}
