//! The edge of a gate among the links: core's own edge determines the flow of the gate's ports for
//! a packet, its charged length and its mark.
//!
//! A flow's packets have the same headers, so that the lookup is cached until the gate closes the
//! flow.

use super::own_lengths::OwnLengths;
use super::setup::{Placed, StageSetup};
use crate::fabric::Node;
use crate::stage::{Crossing, Interest, Passage, Site, Stage, StageCx};
use crate::world::World;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::headers::Headers;
use tidegate_core::packet::Packet;
use tidegate_core::steering::{Cached, Edge};
use tidegate_core::switch::FlowCounters;
use tidegate_core::units::Time;

/// The edge of a gate, in both directions.
pub(in crate::world) struct GateEdge {
    /// Its links, up first.
    links: [usize; 2],
    /// Its switch among the nodes.
    node: usize,
    edges: [Edge; 2],
    /// State by flow of the world.
    passing: Vec<FlowAtGate>,
    own: OwnLengths,
    /// Number of rules.
    rules: usize,
    /// Counts at the end of the warm-up, for each direction, rule by rule and then the rest.
    before: [Vec<FlowCounters>; 2],
}

/// State of a flow that may pass a gate.
#[derive(Clone, Copy, Debug, Default)]
struct FlowAtGate {
    headers: Headers,
    cached: Option<Cached>,
}

/// Counters of a flow of a gate's file in one direction.
#[derive(Clone, Copy, Debug)]
pub struct GateFlow {
    /// The direction.
    pub direction: Direction,
    /// Its place in the file; `None` if no flow selects it.
    pub rule: Option<usize>,
    /// Number of flows that it is at this moment: with `each`, those made and not forgotten.
    pub flows: usize,
    /// Packets arrived, sent and dropped; bytes as charged.
    pub counters: FlowCounters,
}

impl GateEdge {
    /// Creates the stage, if the network has a gate.
    ///
    /// # Errors
    /// When the gate's scheduler refuses a flow.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let Some(plan) = &setup.network.gate else { return Ok(Vec::new()) };
        let nodes = &mut setup.fabric.nodes;
        let node = nodes.len() - 1;
        let mut edge = |direction: Direction| {
            let port = setup.ports[plan.links[direction as usize]];
            let plan = plan.edges[direction as usize].clone();
            Edge::new(Time::ORIGIN, &mut nodes[node].switch, port, direction, plan)
        };
        let rules = plan.names.len();
        let headers =
            setup.network.flows.iter().map(|flow| flow.headers.as_deref().copied().unwrap_or_default());
        let made = GateEdge {
            links: plan.links,
            node,
            edges: [edge(Direction::Up)?, edge(Direction::Down)?],
            passing: headers.map(|headers| FlowAtGate { headers, cached: None }).collect(),
            own: OwnLengths::default(),
            rules,
            before: [(); 2].map(|()| vec![FlowCounters::default(); rules + 1]),
        };
        Ok(vec![Placed::anywhere(made)])
    }

    fn counters(&self, nodes: &[Node], direction: Direction) -> Vec<FlowCounters> {
        let (steering, switch) = (self.edges[direction as usize].steering(), &nodes[self.node].switch);
        let of_rules = (0..self.rules).map(|rule| steering.counters(switch, rule));
        of_rules.chain([steering.unmatched(switch)]).collect()
    }

    fn flows(&self, nodes: &[Node]) -> Vec<GateFlow> {
        let of = |direction: Direction| {
            let before = &self.before[direction as usize];
            self.counters(nodes, direction).into_iter().zip(before).enumerate().map(
                move |(ix, (now, before))| {
                    let rule = Some(ix).filter(|ix| *ix < self.rules);
                    let flows = rule.map_or(1, |rule| self.edges[direction as usize].steering().flows(rule));
                    GateFlow { direction, rule, flows, counters: since(now, before) }
                },
            )
        };
        Direction::BOTH.into_iter().flat_map(of).collect()
    }
}

fn since(mut now: FlowCounters, before: &FlowCounters) -> FlowCounters {
    for (now, before) in
        [(&mut now.arrived, before.arrived), (&mut now.sent, before.sent), (&mut now.dropped, before.dropped)]
    {
        now.packets -= before.packets;
        now.bytes -= before.bytes;
    }
    now
}

impl<Q> World<Q> {
    /// Returns the counts of each direction of the gate since the warm-up, flow by flow as its file
    /// has them, with unmatched packets last; nothing without a gate.
    pub fn gate_flows(&self) -> Vec<GateFlow> {
        self.stage::<GateEdge>().map(|edge| edge.flows(&self.cx.fabric.nodes)).unwrap_or_default()
    }
}

impl Stage for GateEdge {
    fn interest(&self, site: &Site) -> Interest {
        match site.link {
            Some(link) if self.links.contains(&(link as usize)) => {
                Interest::ENTER | Interest::LEAVE | Interest::DROPPED
            }
            _ => Interest::NONE,
        }
    }

    /// Maps a packet that reaches the gate to its flow there.
    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet, _: &mut Payload) -> Passage {
        let Some(hop) = at.to else { return Passage::Forward };
        let hop = &mut cx.fabric.hops[hop as usize];
        let switch = &mut cx.fabric.nodes[hop.node as usize].switch;
        let passing = &mut self.passing[at.flow as usize];
        let edge = &mut self.edges[usize::from(hop.link as usize == self.links[1])];
        // A sender that responds to congestion marks declares that packet by packet.
        let mut headers = passing.headers;
        if let Some(ip) = headers.ip.as_mut().filter(|_| packet.mark.is_ecn_capable()) {
            ip.ecn = packet.mark.ecn();
        }
        let steered = edge.steer_again(cx.now, switch, &headers, packet.len, &mut passing.cached);
        hop.leg = steered.leg;
        self.own.charge(packet, steered.charged);
        packet.mark = steered.mark;
        Passage::Forward
    }

    /// Restores a packet's own length behind the gate.
    fn leave(&mut self, _: &mut StageCx, _: u32, _: u32, packet: &mut Packet, _: &mut Payload) {
        self.own.restore(packet);
    }

    fn dropped(&mut self, _: &mut StageCx, _: u32, _: u32, packet: &mut Packet) {
        self.own.restore(packet);
    }

    fn restart_counts(&mut self, cx: &mut StageCx) {
        self.before = Direction::BOTH.map(|direction| self.counters(&cx.fabric.nodes, direction));
    }
}
