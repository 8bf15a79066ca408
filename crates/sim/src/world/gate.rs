//! A gate among the links: core's edge says which flow of the gate's ports a packet goes to, what it is charged,
//! and its mark.
//!
//! A flow's packets have the same headers, so that the lookup is cached until the gate closes the flow.

use super::{Node, World};
use crate::network::GatePlan;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Refused;
use tidegate_core::headers::Headers;
use tidegate_core::packet::{BodyId, Mark, Packet, PortIx};
use tidegate_core::steering::{Cached, Edge, EdgePlan};
use tidegate_core::switch::FlowCounters;
use tidegate_core::units::Time;

pub(super) struct Gate {
    /// Its links, up first.
    links: [usize; 2],
    /// Its switch among the nodes.
    node: usize,
    edges: [Edge; 2],
    /// By flow of the world.
    passing: Vec<Passing>,
    /// How long packets are that are charged otherwise, by body.
    lengths: Vec<u32>,
    /// How many rules there are.
    rules: usize,
    /// What had been counted when the warm-up ended, for each direction, rule by rule and then the rest.
    before: [Vec<FlowCounters>; 2],
}

/// What a gate knows of a flow that may pass.
#[derive(Clone, Copy, Debug, Default)]
struct Passing {
    headers: Headers,
    cached: Option<Cached>,
}

/// What a flow of a gate's file has done in one direction.
#[derive(Clone, Copy, Debug)]
pub struct GateFlow {
    /// In which direction.
    pub direction: Direction,
    /// Its place in the file; `None` for what no flow means.
    pub rule: Option<usize>,
    /// How many flows it is at this moment: with `each`, as many as were made and are not forgotten.
    pub flows: usize,
    /// What has come, was sent and was dropped; bytes as they are charged.
    pub counters: FlowCounters,
}

impl Gate {
    /// # Errors
    /// When the gate's scheduler refuses a flow.
    pub(super) fn new(plan: &GatePlan, ports: &[PortIx], nodes: &mut [Node]) -> Result<Gate, Refused> {
        let node = nodes.len() - 1;
        let mut edge = |direction: Direction| {
            let port = ports[plan.links[direction as usize]];
            let plan = EdgePlan {
                rules: plan.rules[direction as usize].clone(),
                set_dscp: plan.set_dscp.clone(),
                most_flows: plan.most_flows,
                framing: plan.framing,
            };
            Edge::new(Time::ORIGIN, &mut nodes[node].switch, port, direction, plan)
        };
        let rules = plan.names.len();
        Ok(Gate {
            links: plan.links,
            node,
            edges: [edge(Direction::Up)?, edge(Direction::Down)?],
            passing: Vec::new(),
            lengths: Vec::new(),
            rules,
            before: [(); 2].map(|()| vec![FlowCounters::default(); rules + 1]),
        })
    }

    /// Whether a link is one of its directions.
    pub(super) fn has(&self, link: usize) -> bool {
        self.links.contains(&link)
    }

    /// The next flow of the world.
    pub(super) fn expect(&mut self, headers: Option<Headers>) {
        self.passing.push(Passing { headers: headers.unwrap_or_default(), cached: None });
    }

    /// The length that a packet had before it was charged.
    #[cold]
    pub(super) fn length(&self, body: BodyId) -> u32 {
        self.lengths[body.0 as usize]
    }

    fn counters(&self, nodes: &[Node], direction: Direction) -> Vec<FlowCounters> {
        let (steering, switch) = (self.edges[direction as usize].steering(), &nodes[self.node].switch);
        let of_rules = (0..self.rules).map(|rule| steering.counters(switch, rule));
        of_rules.chain([switch.counters(steering.rest())]).collect()
    }

    /// What was counted so far does not count.
    pub(super) fn count_anew(&mut self, nodes: &[Node]) {
        self.before = Direction::BOTH.map(|direction| self.counters(nodes, direction));
    }

    pub(super) fn flows(&self, nodes: &[Node]) -> Vec<GateFlow> {
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
    /// A packet reaches the gate: its hop leads to its flow there. What it is charged, and its mark.
    pub(super) fn enter_gate(&mut self, hop: u32, packet: &Packet) -> (u32, Mark) {
        let Some(gate) = &mut self.gate else { return (packet.len, packet.mark) };
        let hop = &mut self.hops[hop as usize];
        let switch = &mut self.nodes[hop.node as usize].switch;
        let passing = &mut gate.passing[self.bodies[packet.body.0 as usize].flow as usize];
        let edge = &mut gate.edges[usize::from(hop.link as usize == gate.links[1])];
        let steered = edge.steer_again(self.now, switch, &passing.headers, packet.len, &mut passing.cached);
        hop.leg = steered.leg;
        let body = packet.body.0 as usize;
        if gate.lengths.len() <= body {
            gate.lengths.resize(body + 1, 0);
        }
        gate.lengths[body] = packet.len;
        (steered.charged, steered.mark)
    }
}
