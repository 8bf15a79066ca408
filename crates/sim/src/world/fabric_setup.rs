//! Construction of switches and links from a network.

use crate::fabric::{Fabric, Link, Node, Path};
use crate::flights::Flights;
use crate::network::{LinkPlan, Network, NodePlan};
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::link::Line;
use tidegate_core::packet::{Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{Sharing, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Builds switches and links, without the hops of flows.
///
/// # Errors
/// When a scheduler refuses its port.
pub(super) fn fabric(network: &Network, seed: u64, ports: &[PortIx]) -> Result<Fabric, Refused> {
    let node = |node: &NodePlan| (format!("node/{}", node.name), node.buffer, Sharing::Complete);
    let gate = network.gate.as_ref();
    let gate = gate.map(|gate| ("gate".to_owned(), Some(gate.buffer), Sharing::Partitioned));
    let switches: Vec<_> = network.nodes.iter().map(node).chain(gate).collect();
    let mut ports_of = vec![Vec::new(); switches.len()];
    let mut links_of = vec![Vec::new(); switches.len()];
    for (ix, link) in network.links.iter().enumerate() {
        ports_of[network.switch_of(ix)].push(link.port.clone());
        links_of[network.switch_of(ix)].push(ix as u32);
    }
    let mut nodes = Vec::with_capacity(switches.len());
    for ((ports, links), (name, buffer, sharing)) in ports_of.into_iter().zip(links_of).zip(switches) {
        let plan = SwitchPlan { ports: Vec::new(), buffer, sharing, push_out: network.push_out };
        let switch = Switch::with_ports(Time::ORIGIN, &plan, &ports)?;
        nodes.push(Node { switch, rng: Rng::named(seed, &name), links: links.into() });
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
    let link = |(ix, link): (usize, &LinkPlan)| {
        let line = Line::new(Time::ORIGIN, &link.line);
        Link {
            node: network.switch_of(ix) as u32,
            port: ports[ix],
            path: if link.pace.is_steady() { Path::Fast } else { Path::SeenStarts },
            waits_for_ties: {
                let classes = link.port.classes.iter().map(|class| &class.scheduler);
                std::iter::once(&link.port.scheduler)
                    .chain(classes)
                    .any(|scheduler| scheduler.waits_for_ties())
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
            cell_stage: 0,
        }
    };
    let links = network.links.iter().enumerate().map(link).collect();
    Ok(Fabric {
        nodes,
        links,
        flights,
        hops: Vec::new(),
        forks: BTreeMap::new(),
        spreads: BTreeMap::new(),
        closing: BTreeMap::new(),
        destinations: BTreeMap::new(),
        gate: gate_node,
        stage_sets: Vec::new(),
        observers: Box::default(),
        out: Vec::new(),
    })
}
