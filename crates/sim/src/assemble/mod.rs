//! Assembly of a network that can run from a scenario.

mod assurance;
mod checks;
mod rates;
mod shares;
mod sources;
mod stages;
mod transfers;

pub use checks::loads;

use crate::network::{FlowChange, FlowSetup, FlowTerms, GatePlan, Life, LinkPlan, Network, NodePlan};
use crate::source::Traffic;
use crate::stage_plans;
use rates::{fail, rate, rate_of};
use sources::{Recordings, Sending};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::aal5;
use tidegate_core::admission::Policy;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Contract;
use tidegate_core::shaper::ShaperPlan;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, MAX_METERS, PacketSizes, PortPlan, Shared};
use tidegate_core::units::{Rate, Span};
use tidegate_formats::{
    ChangeSpec, Class, ContractSpec, FlowGroup, FormatError, GateFile, Link, NodeKind, PortSpec, Scenario,
    Source, StageTerms,
};

/// Builds the network of a scenario, reading the traces and captures that it names.
///
/// # Errors
/// When there is no flow, a trace or capture cannot be used, a capture does not hold the flow that
/// is asked for, its flows together reserve more than a link carries or has slots for, or a value
/// is beyond what a policy takes.
pub fn assemble(scenario: &Scenario) -> Result<Network, Box<FormatError>> {
    checks::flows(scenario)?;
    let mut recordings = Recordings::default();
    let groups = Names::of(scenario, FlowGroup::result_group);
    let entries = Names::of(scenario, |part| &part.name);
    let mut network = Network {
        nodes: scenario
            .nodes
            .iter()
            .map(|node| NodePlan { name: node.name.clone(), buffer: node.buffer })
            .collect(),
        links: Vec::with_capacity(scenario.links.len()),
        push_out: scenario.push_out,
        gate: scenario.gate.as_ref().map(|file| gate(file, scenario)),
        groups: groups.names,
        entries: entries.names,
        classes: scenario.classes.iter().map(|class| class.name.clone()).collect(),
        profiles: scenario.profiles.iter().map(|profile| profile.name.clone()).collect(),
        flows: Vec::with_capacity(scenario.flow_count()),
        policies: policies(scenario),
        datagram_window: scenario.admission.and_then(|admission| admission.datagram_window),
        stage_terms: StageTerms::default(),
        stages: Vec::new(),
        notes: Vec::new(),
        duration: scenario.duration,
        warmup: scenario.warmup,
        assurance: None,
    };
    let stated = ContractSpec::stated(scenario.contracts());
    let gate_ports = scenario.gate.as_ref().map(|file| file.switch_plan().ports).unwrap_or_default();
    for link in &scenario.links {
        // Classes order the packets that switches forward; a host sends only its own.
        let forwards = scenario.nodes[link.from].kind == NodeKind::Switch;
        let port = match link.gate.and_then(|direction| gate_ports.get(direction as usize)) {
            Some(port) => port.clone().into(),
            None => shared(
                PortPlan {
                    classes: match forwards {
                        true => classes_at(scenario, &link.port),
                        false => Vec::new(),
                    },
                    profiles: scenario.profiles.iter().map(|profile| profile.contract.contract()).collect(),
                    ceiling: rate_of(link.port.ceiling, scenario, link.place)?,
                    ..link.port.plan(link.rate, &stated)
                },
                &network.links,
            ),
        };
        network.links.push(LinkPlan {
            name: link.name.clone(),
            from: link.from,
            to: link.to,
            line: link.line.clone(),
            framing: link.framing,
            port,
        });
    }
    for flow in scenario.flows() {
        for Sending { name, traffic, headers } in sources::traffic(&flow, scenario, &mut recordings)? {
            let before = network.flows.last().filter(|before| {
                before.part == flow.group_index
                    && before.traffic.sizes() == traffic.sizes()
                    && before.traffic.mean_bits_per_second() == traffic.mean_bits_per_second()
            });
            let shared = match before {
                Some(before) => Arc::clone(&before.shared),
                None => {
                    let every = recordings.sizes.every(flow.group, scenario)?;
                    let part = flow.group_index;
                    let indexes = (groups.of_part[part], entries.of_part[part], part);
                    Arc::new(terms(flow.group, indexes, every, &traffic, scenario)?)
                }
            };
            let headers = headers.map(Box::new);
            network.flows.push(FlowSetup { name, peer: None, traffic, headers, shared });
        }
    }
    network.notes = recordings.notes;
    join_connections(scenario, &mut network.flows);
    shares::divide(scenario, &mut network)?;
    network.assurance = assurance::plan(scenario, &network);
    let loads = checks::recorded(scenario, &network)?;
    stage_plans::plan(scenario, &loads, &mut network);
    stages::place(scenario, &mut network)?;
    Ok(network)
}

/// Names that parts of a scenario share, each once.
struct Names {
    names: Vec<String>,
    /// Index of the name of each part.
    of_part: Vec<usize>,
}

impl Names {
    fn of(scenario: &Scenario, name: impl Fn(&FlowGroup) -> &str) -> Names {
        let mut names = Names { names: Vec::new(), of_part: Vec::new() };
        let mut known = BTreeMap::new();
        for name in scenario.groups.iter().map(name) {
            let index = *known.entry(name).or_insert(names.names.len());
            if index == names.names.len() {
                names.names.push(name.to_owned());
            }
            names.of_part.push(index);
        }
        names
    }
}

/// Returns a plan for the next link: that of one of the latest links if it is equal, so that it is
/// stored once. Links of one kind are often stated together, or alternate with their reverse links.
fn shared(plan: PortPlan, links: &[LinkPlan]) -> Shared<PortPlan> {
    const LATEST: usize = 8;
    let mut latest = links.iter().rev().take(LATEST).map(|link| &link.port);
    latest.find(|other| ***other == plan).cloned().unwrap_or_else(|| plan.into())
}

/// Returns the classes at a port.
fn classes_at(scenario: &Scenario, port: &PortSpec) -> Vec<ClassPlan> {
    let plan = |class: &Class| class.plan(&class.droppers_above(|ix| &scenario.classes[ix], port));
    scenario.classes.iter().map(plan).collect()
}

/// Joins each flow of answers with its flow of data as the two directions of a connection: the
/// group of answers follows that of its data, member by member.
fn join_connections(scenario: &Scenario, flows: &mut [FlowSetup]) {
    for ix in 0..flows.len() {
        let group = &scenario.groups[flows[ix].part];
        if let Source::Receiver { .. } = group.source {
            let data = ix - group.count as usize;
            (flows[ix].peer, flows[data].peer) = (Some(data), Some(ix));
        }
    }
}

/// Returns the plan of the scenario's gate, which replaces two of its links.
fn gate(file: &GateFile, scenario: &Scenario) -> GatePlan {
    let link = |direction| scenario.links.iter().position(|link| link.gate == Some(direction));
    GatePlan {
        links: Direction::BOTH.map(|direction| link(direction).unwrap_or_default()),
        buffer: file.buffer,
        edges: Direction::BOTH.map(|direction| file.edge_plan(direction)),
        names: file.flows.iter().map(|flow| flow.name.clone()).collect(),
    }
}

/// Returns the admission policy of each link, if flows are set up by signalling.
fn policies(scenario: &Scenario) -> Vec<Policy> {
    let Some(admission) = scenario.admission else { return Vec::new() };
    let policy = |link: &Link| Policy {
        reservable: admission.reservable(link),
        longest_interval: admission.longest_interval,
    };
    scenario.links.iter().map(policy).collect()
}

/// Returns the terms of the flows of a group with this traffic and this mean time from one start
/// to the next.
fn terms(
    group: &FlowGroup,
    (index, entry, part): (usize, usize, usize),
    every: Option<Span>,
    traffic: &Traffic,
    scenario: &Scenario,
) -> Result<FlowTerms, Box<FormatError>> {
    let contract = group.contract.contract();
    let ceiling = rate_of(group.ceiling, scenario, group.place)?;
    let cells = PacketSizes { smallest: aal5::CELL, largest: aal5::CELL };
    let sizes = if group.aal5 { Some(cells) } else { traffic.sizes() };
    let reserves = contract.reserve.is_some() || !group.changes.is_empty();
    let plan = |link: &usize| {
        let link = &scenario.links[*link];
        let forwards = scenario.nodes[link.from].kind == NodeKind::Switch;
        FlowPlan {
            class: group.class.map(|class| class as u16).filter(|_| forwards),
            contract,
            sizes: sizes.filter(|_| reserves).map(|sizes| sizes.charged(link.framing)),
            ceiling: ceiling.filter(|_| forwards),
            profiles: [link.profile.or(group.profile).map(|profile| profile as u16); MAX_METERS],
            ..FlowPlan::default()
        }
    };
    let envelope = group.envelope.as_ref().map(|shaper| shaper.policy.build(&contract)).transpose();
    let envelope = envelope.map_err(|refused| fail(scenario, group.place, refused.to_string(), None))?;
    let mean = traffic.mean_bits_per_second();
    // A change without an interval of its own keeps the interval of the previous change.
    let mut interval = contract.interval;
    let change = |spec: &ChangeSpec| -> Result<FlowChange, Box<FormatError>> {
        let reserve = rate(spec.reserve as f64, scenario, group.place)?;
        interval = spec.interval.or(interval);
        // An envelope follows the reservation: rate AR, burst AR × AI, and the same ratio of peak
        // rate to AR.
        let peak = |envelope: &ShaperPlan| {
            let times = envelope.peak?.bits_per_second() / envelope.rate.bits_per_second();
            Rate::from_bits_per_second((times * reserve.bits_per_second()).round() as u64)
        };
        let follow = |envelope: ShaperPlan| ShaperPlan {
            rate: reserve,
            burst: interval.map_or(envelope.burst, |interval| {
                u32::try_from(reserve.bytes_in_about(interval)).unwrap_or(u32::MAX)
            }),
            peak: peak(&envelope),
            ..envelope
        };
        Ok(FlowChange {
            at: spec.at,
            contract: Contract { reserve: Some(reserve), interval, ..contract },
            envelope: envelope.map(follow),
            pace: spec.rate.zip(mean).map(|(bits, mean)| bits as f64 / mean),
        })
    };
    Ok(FlowTerms {
        group: index,
        entry,
        part,
        plans: group.route.iter().map(plan).collect(),
        route: group.route.clone(),
        paths: group.paths.clone(),
        depths: group.depths.clone(),
        envelope,
        sizes,
        aal5: group.aal5,
        preparation: group.preparation,
        stage_terms: group.stage_terms.clone(),
        colour: group.colour,
        when_warned: group.warned,
        ecn_capable: group.ecn,
        life: Life {
            set_up: scenario.admission.is_some() && group.contract.reserve_bits().is_some(),
            start: group.start,
            every,
            stop: group.stop,
            lasts: group.lasts,
            hangup: group.hangup,
            changes: group.changes.iter().map(change).collect::<Result<_, _>>()?,
        },
    })
}
