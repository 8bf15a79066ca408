//! Nodes and links: those of the topology, and those that `[[node]]` and `[[link]]` add or replace.

mod topologies;

use crate::error::{Complaint, Place, Report};
use crate::gate::GateFile;
use crate::keys::network as keys;
pub use crate::keys::network::NodeKind;
use crate::keys::scenario::Scenario;
use crate::keys::topology::Topology;
use crate::port::{OwnPolicies, PortSpec};
use crate::section::{Name, Placed};
use crate::suggest::nearest_and_all;
use crate::trace_file;
use crate::wire;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::link::{Framing, LinePlan, Pace};
use tidegate_core::params::Limit;
use tidegate_core::switch::plan::MAX_PORTS;
use tidegate_core::units::{Rate, Span};

/// A switch or a host.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, unique among nodes.
    pub name: String,
    /// Switch or host.
    pub kind: NodeKind,
    /// A switch's pool, shared by its ports with push-out; `None` for a host, and for no limit.
    pub buffer: Option<Limit>,
    /// Place of its statement in the file.
    pub place: Place,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    /// `s1->s2`; further links between the same nodes are `s1->s2#2` and so on.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Rate in bit/s; for a link with a trace, the mean, and with changes, the first.
    pub rate_bits: u64,
    /// The line; its rate is `rate_bits`.
    pub line: LinePlan,
    /// The bytes that a packet takes of the rate.
    pub framing: Framing,
    /// The policies of the sending node's port.
    pub port: PortSpec,
    /// Index of the profile to which all packets belong that are metered at the port; `None` for
    /// those of their flows.
    pub profile: Option<usize>,
    /// The direction of the scenario's gate that it is; `None` for another link.
    pub gate: Option<Direction>,
    /// True if a `[[link]]` states it, and not the topology.
    pub stated: bool,
    /// Place of its statement in the file.
    pub place: Place,
}

impl Link {
    /// Returns the largest or smallest size of packets as the link charges it; 0, for one that is
    /// not known, stays 0.
    pub(super) fn charged(&self, size: u32) -> u32 {
        if size == 0 { 0 } else { self.framing.charge(size) }
    }
}

impl Deref for Link {
    type Target = LinePlan;

    fn deref(&self) -> &LinePlan {
        &self.line
    }
}

/// Nodes, links, and the nodes' names.
pub(super) struct Network {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    by_name: BTreeMap<String, usize>,
}

impl Network {
    /// Checks the number of ports: a switch numbers them, one for each link on which it sends.
    fn check_ports(&self, report: &mut Report) {
        let mut ports = vec![0; self.nodes.len()];
        // A gate is a switch of its own.
        for link in self.links.iter().filter(|link| link.gate.is_none()) {
            ports[link.from] += 1;
            if ports[link.from] == MAX_PORTS + 1 {
                let message =
                    format!("`{}` sends on more than {MAX_PORTS} links", self.nodes[link.from].name);
                report.add(link.place, Complaint::new(message));
            }
        }
    }

    /// The node with the name under `key`, or a complaint with the nearest name.
    pub(super) fn find(&self, name: &str, place: Place, report: &mut Report) -> Option<usize> {
        let found = self.by_name.get(name).copied();
        if found.is_none() && !report.is_full() {
            let mut complaint = Complaint::new(format!("there is no node `{name}`"));
            complaint.help = nearest_and_all(name, self.nodes.iter().map(|node| node.name.as_str()));
            report.add(place, complaint);
        }
        found
    }
}

/// The properties of a link, apart from its ends.
#[derive(Clone)]
struct Wire {
    rate_bits: u64,
    line: LinePlan,
    framing: Framing,
}

impl Wire {
    /// The properties of a topology's link; `None` for a rate that none has.
    fn of(rate_bits: u64, delay: Span) -> Option<Wire> {
        let line = LinePlan::long(Rate::from_bits_per_second(rate_bits)?, delay);
        Some(Wire { rate_bits, line, framing: Framing::NONE })
    }

    /// The properties of a `[[link]]`; `None` once a mistake has been reported.
    fn of_link(link: &Placed<keys::Link>, base_dir: &Path, report: &mut Report) -> Option<Wire> {
        let keys::Link { rate, recorded, delay, wire, framing, .. } = &**link;
        let (rate_bits, pace) = match (**rate, recorded.trace.given) {
            (Some(rate), false) => (rate, Pace::Steady),
            (None, true) => {
                let read = trace_file::read(recorded, base_dir, report)?;
                (read.mean, Pace::Trace(read.trace))
            }
            (Some(_), true) => {
                let complaint = Complaint::new("this link has a `rate` and a `trace`");
                report.add(recorded.trace.place, complaint.help("a link has one of them"));
                return None;
            }
            (None, false) => {
                let complaint = Complaint::new("this link needs `rate`, or a `trace` in its place");
                report.add(link.place, complaint.help("Rate of each direction, as in rate = \"400kbit\""));
                return None;
            }
        };
        let line = wire::read(rate_bits, pace, **delay, wire, report)?;
        Some(Wire { rate_bits, line, framing: framing.framing()? })
    }
}

struct Builder<'v> {
    network: Network,
    parallel: BTreeMap<(usize, usize), usize>,
    switch_port: PortSpec,
    host_port: PortSpec,
    switch_buffer: Option<Limit>,
    topology: &'v Placed<Topology>,
    base_dir: &'v Path,
}

/// Builds the network; relative paths start at `base_dir`. `None` after something was reported that
/// makes the rest meaningless.
pub(super) fn build(
    keys: &Scenario,
    gate: Option<&GateFile>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Network> {
    let mut builder = Builder {
        network: Network { nodes: Vec::new(), links: Vec::new(), by_name: BTreeMap::new() },
        parallel: BTreeMap::new(),
        switch_port: PortSpec::of_switch(&keys.port, report)?,
        host_port: PortSpec::of_host(&keys.host, report)?,
        switch_buffer: *keys.switch.buffer,
        topology: &keys.topology,
        base_dir,
    };
    builder.topology(gate, report)?;
    for node in keys.node.iter() {
        builder.extra_node(node, report);
    }
    let mut sound = true;
    for link in keys.link.iter() {
        sound &= builder.extra_link(link, report).is_some();
    }
    if !sound {
        return None;
    }
    builder.network.check_ports(report);
    Some(builder.network)
}

impl Builder<'_> {
    fn node(&mut self, node: Node) -> usize {
        let index = self.network.nodes.len();
        self.network.by_name.insert(node.name.clone(), index);
        self.network.nodes.push(node);
        index
    }

    fn duplex(&mut self, a: usize, b: usize, wire: Wire) -> Option<()> {
        for (from, to) in [(a, b), (b, a)] {
            let port = self.usual_port(from);
            self.link(from, to, wire.clone(), port, self.topology.place)?;
        }
        Some(())
    }

    fn usual_port(&self, node: usize) -> PortSpec {
        match self.network.nodes[node].kind {
            NodeKind::Switch => self.switch_port.clone(),
            NodeKind::Host => self.host_port.clone(),
        }
    }

    fn link(&mut self, from: usize, to: usize, wire: Wire, port: PortSpec, place: Place) -> Option<()> {
        let nodes = &self.network.nodes;
        let mut name = format!("{}->{}", nodes[from].name, nodes[to].name);
        let alike = self.parallel.entry((from, to)).or_insert(0);
        *alike += 1;
        if *alike > 1 {
            name.push_str(&format!("#{alike}"));
        }
        let Wire { rate_bits, line, framing } = wire;
        let (profile, gate) = (None, None);
        let stated = place != self.topology.place;
        let link = Link { name, from, to, rate_bits, line, framing, port, profile, gate, stated, place };
        self.network.links.push(link);
        Some(())
    }

    fn extra_node(&mut self, node: &Placed<keys::Node>, report: &mut Report) {
        let keys::Node { name, kind, buffer } = &**node;
        if let Some(&first) = self.network.by_name.get(name.as_str()) {
            let mut complaint = Complaint::new(format!("there is already a node `{name}`"));
            if self.network.nodes[first].place == self.topology.place {
                complaint = complaint.help(format!("the topology `{}` makes it", self.topology.about().name));
            }
            report.add(name.place, complaint);
            return;
        }
        if **kind == NodeKind::Host && buffer.given {
            let complaint = Complaint::new(format!("`{name}` is a host, and only a switch has a `buffer`"));
            report.add(buffer.place, complaint);
        }
        let buffer = match **kind {
            NodeKind::Switch => buffer.or(self.switch_buffer),
            NodeKind::Host => None,
        };
        self.node(Node { name: name.to_string(), kind: **kind, buffer, place: node.place });
    }

    fn extra_link(&mut self, link: &Placed<keys::Link>, report: &mut Report) -> Option<()> {
        let end = |name: &Placed<Name>, report: &mut Report| self.network.find(name, name.place, report);
        let (from, to) = (end(&link.from, report), end(&link.to, report));
        let (from, to) = (from?, to?);
        if from == to {
            report.add(link.to.place, Complaint::new("a link ends at another node than it starts from"));
            return None;
        }
        let wire = Wire::of_link(link, self.base_dir, report)?;
        let own = OwnPolicies::read(link, report)?;
        let directions = if *link.duplex { vec![(from, to), (to, from)] } else { vec![(from, to)] };
        for (from, to) in directions {
            let port = PortSpec { ceiling: *link.ceiling, ..own.over(self.usual_port(from)) };
            match *link.replace {
                true => self.replace(from, to, &wire, port, link, report)?,
                false => self.link(from, to, wire.clone(), port, link.place)?,
            }
        }
        Some(())
    }

    /// Puts a `[[link]]` in the place of the topology's link between two nodes.
    fn replace(
        &mut self,
        from: usize,
        to: usize,
        wire: &Wire,
        port: PortSpec,
        stated: &Placed<keys::Link>,
        report: &mut Report,
    ) -> Option<()> {
        let own = |link: &Link| !link.stated && link.gate.is_none() && (link.from, link.to) == (from, to);
        let Some(index) = self.network.links.iter().position(own) else {
            let [from, to] = [from, to].map(|node| &self.network.nodes[node].name);
            let message = format!("the topology has no link from {from} to {to} that is not replaced yet");
            let complaint = Complaint::new(message).help("leave out `replace` to add a link");
            report.add(stated.replace.place, complaint);
            return None;
        };
        let Wire { rate_bits, line, framing } = wire.clone();
        let Link { name, gate, .. } = self.network.links[index].clone();
        self.network.links[index] = Link {
            name,
            from,
            to,
            rate_bits,
            line,
            framing,
            port,
            profile: None,
            gate,
            stated: true,
            place: stated.place,
        };
        Some(())
    }
}
