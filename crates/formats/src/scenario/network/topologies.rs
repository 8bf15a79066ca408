//! The nodes and links of each kind of topology.

use super::{Builder, Node, NodeKind, Wire};
use crate::error::{Complaint, Report};
use crate::gate::GateFile;
use crate::graph_file;
use crate::keys::topology::{self, Topology};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::link::{Framing, LinePlan};
use tidegate_core::units::Span;

impl Wire {
    fn between(keys: &topology::BetweenSwitches) -> Option<Wire> {
        Wire::of(*keys.rate, *keys.delay)
    }

    fn access(keys: &topology::Access) -> Option<Wire> {
        Wire::of(*keys.rate, *keys.delay)
    }
}

impl Builder<'_> {
    /// Makes the topology; `None` once a mistake has been reported.
    pub(super) fn topology(&mut self, gate: Option<&GateFile>, report: &mut Report) -> Option<()> {
        match &**self.topology {
            Topology::Chain(topology::Chain { switches, between, access }) => {
                let switches = self.row(**switches, Wire::between(between)?)?;
                let Some(access) = access.as_ref() else { return Some(()) };
                for (index, switch) in switches.into_iter().enumerate() {
                    self.host(format!("h{}", index + 1), switch, Wire::access(access)?)?;
                }
            }
            Topology::Dumbbell(topology::Dumbbell { pairs, between, access }) => {
                let access = Wire::access(&access.access)?;
                let [left, right] = [self.switch("left".to_owned()), self.switch("right".to_owned())];
                self.duplex(left, right, Wire::between(between)?)?;
                for (side, switch) in [("l", left), ("r", right)] {
                    for index in 1..=**pairs {
                        self.host(format!("{side}{index}"), switch, access.clone())?;
                    }
                }
            }
            Topology::ParkingLot(topology::ParkingLot { hops, between, access }) => {
                let access = Wire::access(&access.access)?;
                let switches = self.row(**hops + 1, Wire::between(between)?)?;
                self.host("src".to_owned(), *switches.first()?, access.clone())?;
                self.host("dst".to_owned(), *switches.last()?, access.clone())?;
                for (index, hop) in switches.windows(2).enumerate() {
                    self.host(format!("c{}", index + 1), hop[0], access.clone())?;
                    self.host(format!("d{}", index + 1), hop[1], access.clone())?;
                }
            }
            Topology::Star(topology::Star { hosts, rate, delay }) => {
                let hub = self.switch("hub".to_owned());
                for index in 1..=**hosts {
                    self.host(format!("h{index}"), hub, Wire::of(**rate, **delay)?)?;
                }
            }
            Topology::LeafSpine(keys) => self.leaf_spine(keys)?,
            Topology::FatTree(keys) => {
                if *keys.k % 2 == 1 {
                    let message = format!("`k` ({}) is odd, and half of a switch's ports lead up", *keys.k);
                    report.add(keys.k.place, Complaint::new(message));
                    return None;
                }
                self.fat_tree(keys)?;
            }
            Topology::Graph(keys) => self.graph(keys, report)?,
            Topology::Gate(topology::Gate { delay, .. }) => self.gate(gate?, **delay)?,
            Topology::Nodes(_) => {}
        }
        Some(())
    }

    /// Every leaf has a link to every spine.
    fn leaf_spine(&mut self, keys: &topology::LeafSpine) -> Option<()> {
        let topology::LeafSpine { leaves, spines, hosts, between, access } = keys;
        let (between, access) = (Wire::between(between)?, Wire::access(&access.access)?);
        let leaves = self.switches("leaf", **leaves);
        for spine in self.switches("spine", **spines) {
            for leaf in &leaves {
                self.duplex(*leaf, spine, between.clone())?;
            }
        }
        self.hosts(&leaves, **hosts, &access)
    }

    /// Al-Fares, Loukissas and Vahdat 2008: k pods of k/2 edge and k/2 aggregation switches, each
    /// of which has a link to each of the other kind; the j-th aggregation switch of every pod has
    /// links to the same k/2 core switches.
    fn fat_tree(&mut self, keys: &topology::FatTree) -> Option<()> {
        let half = *keys.k / 2;
        let (between, access) = (Wire::between(&keys.between)?, Wire::access(&keys.access.access)?);
        let edges = self.switches("edge", *keys.k * half);
        let aggregations = self.switches("agg", *keys.k * half);
        let cores = self.switches("core", half * half);
        let half = half as usize;
        for (edges, aggregations) in edges.chunks(half).zip(aggregations.chunks(half)) {
            for (aggregation, cores) in aggregations.iter().zip(cores.chunks(half)) {
                for edge in edges {
                    self.duplex(*edge, *aggregation, between.clone())?;
                }
                for core in cores {
                    self.duplex(*aggregation, *core, between.clone())?;
                }
            }
        }
        self.hosts(&edges, half as u64, &access)
    }

    /// Switches of one kind, numbered from 1.
    fn switches(&mut self, kind: &str, count: u64) -> Vec<usize> {
        (1..=count).map(|index| self.switch(format!("{kind}{index}"))).collect()
    }

    /// Hosts h1, h2 and so on, as many on each of these switches.
    fn hosts(&mut self, switches: &[usize], each: u64, access: &Wire) -> Option<()> {
        let mut number = 0;
        for switch in switches {
            for _ in 0..each {
                number += 1;
                self.host(format!("h{number}"), *switch, access.clone())?;
            }
        }
        Some(())
    }

    /// The nodes and edges of a graph.
    fn graph(&mut self, keys: &topology::Graph, report: &mut Report) -> Option<()> {
        let graph = graph_file::read(&keys.file, self.base_dir, report)?;
        let switches: Vec<usize> = graph.nodes.iter().map(|node| self.switch(node.name.clone())).collect();
        for edge in &graph.edges {
            let ends = [edge.from, edge.to].map(|end| &graph.nodes[end]);
            let Some(rate) = edge.speed.or(*keys.rate) else {
                let [from, to] = ends.map(|end| &end.name);
                let message = format!("the edge from {from} to {to} states no speed, and there is no `rate`");
                let help = "state the rate of links without a speed, as in rate = \"10gbit\"";
                report.add(keys.file.place, Complaint::new(message).help(help));
                return None;
            };
            let wire = Wire::of(rate, ends[0].delay_to(ends[1]).unwrap_or(*keys.delay))?;
            let (from, to) = (switches[edge.from], switches[edge.to]);
            if graph.is_directed {
                let port = self.usual_port(from);
                self.link(from, to, wire, port, self.topology.place)?;
            } else {
                self.duplex(from, to, wire)?;
            }
        }
        let Some(access) = keys.access.as_ref() else { return Some(()) };
        for (node, switch) in graph.nodes.iter().zip(switches) {
            self.host(format!("{}-host", node.name), switch, Wire::access(access)?)?;
        }
        Some(())
    }

    /// The network that a gate file describes: a link whose ports are the gate's.
    fn gate(&mut self, gate: &GateFile, delay: Span) -> Option<()> {
        let [inside, outside] = ["inside", "outside"].map(|side| self.switch(side.to_owned()));
        for (direction, from, to) in [(Direction::Up, inside, outside), (Direction::Down, outside, inside)] {
            let rate = gate.rates[direction as usize];
            let rate_bits = rate.bits_per_second().round() as u64;
            let line = match &gate.emulated[direction as usize] {
                Some(emulated) => emulated.clone().longer_by(delay),
                None => LinePlan::long(rate, delay),
            };
            let wire = Wire { rate_bits, line, framing: Framing::NONE };
            self.link(from, to, wire, gate.port.clone(), self.topology.place)?;
            self.network.links.last_mut()?.gate = Some(direction);
        }
        Some(())
    }

    /// Switches s1, s2 and so on, each joined to the next.
    fn row(&mut self, switches: u64, wire: Wire) -> Option<Vec<usize>> {
        let row = self.switches("s", switches);
        for pair in row.windows(2) {
            self.duplex(pair[0], pair[1], wire.clone())?;
        }
        Some(row)
    }

    fn switch(&mut self, name: String) -> usize {
        self.node(Node {
            name,
            kind: NodeKind::Switch,
            buffer: self.switch_buffer,
            place: self.topology.place,
        })
    }

    fn host(&mut self, name: String, switch: usize, access: Wire) -> Option<()> {
        let host = self.node(Node { name, kind: NodeKind::Host, buffer: None, place: self.topology.place });
        self.duplex(host, switch, access)
    }
}
