//! Fair queues in trees: the part that each class gives its members of the service that it gets
//! itself.
//!
//! The judge is hierarchical generalized processor sharing in exact rationals (Bennett and Zhang
//! 1997, section 2): in front of every node stands a fluid server that has exactly the service that
//! the node has had, and knows everything that waits beneath each member. It knows no tokens, no
//! tags and no virtual time.

use super::gps::Ratio;
use crate::common::{World, kind, pick, rate, rounds};
use std::collections::VecDeque;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Span;

const LINK: u64 = 10_000_000;
const FAIR: [&str; 4] = ["wfq", "wf2q-plus", "scfq", "sfq"];
const WEIGHTS: [u64; 6] = [10_000, 50_000, 100_000, 300_000, 600_000, 2_000_000];
const LENGTHS: [u32; 5] = [40, 100, 500, 1_500, 9_000];

/// A member of a node: arrivals and departures, each with the position of the node's server.
#[derive(Default)]
struct Member {
    weight: u64,
    is_class: bool,
    longest: u32,
    came: Vec<(u64, u32)>,
    sent: Vec<(u64, u32)>,
}

/// A node and its server. The position of a class's server is the number of bytes that the class
/// has sent; that of the port's is the time.
struct Node {
    name: &'static str,
    /// Positions that a byte takes.
    per_byte: u64,
    position: u64,
    /// Place in the node above.
    above: Option<(usize, usize)>,
    members: Vec<Member>,
}

struct Tree {
    world: World,
    nodes: Vec<Node>,
    /// The leg of each flow, its node and its place there.
    flows: Vec<(Leg, usize, usize, u32)>,
}

fn contract(weight: u64) -> Contract {
    Contract { reserve: Some(rate(weight)), priority: (weight % 7) as u8, ..Contract::default() }
}

impl Tree {
    /// A tree of fair queues up to three deep, under a root of any kind.
    fn random(rng: &mut Rng) -> Tree {
        let root =
            pick(rng, &["strict-priority", "virtual-clock", "fifo", "wfq", "wf2q-plus", "scfq", "sfq"]);
        let per_byte = rate(LINK).time_for(1).ticks();
        let node = |name, per_byte, above| Node { name, per_byte, position: 0, above, members: Vec::new() };
        let mut nodes = vec![node(root, per_byte, None)];
        let mut port = PortPlan { rate: Some(rate(LINK)), ..PortPlan::new(kind(root)) };
        for class in 0..1 + rng.below(5) {
            let shallow = |class: &u64| port.classes[*class as usize].parent.is_none();
            let parent = (0..class).filter(shallow).find(|_| rng.chance(0.4));
            let (name, weight) = (pick(rng, &FAIR), pick(rng, &WEIGHTS));
            let contract = contract(weight);
            let parent = parent.map(|parent| parent as u16);
            port.classes.push(ClassPlan { parent, contract, ..ClassPlan::new(kind(name)) });
            let above = parent.map_or(0, |parent| usize::from(parent) + 1);
            nodes[above].members.push(Member { weight, is_class: true, ..Member::default() });
            let place = nodes[above].members.len() - 1;
            nodes.push(node(name, 1, Some((above, place))));
        }
        let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
        world.audited = false;
        let mut tree = Tree { world, nodes, flows: Vec::new() };
        for at in 0..tree.nodes.len() {
            for _ in 0..1 + rng.below(4) {
                let (weight, longest) = (pick(rng, &WEIGHTS), pick(rng, &LENGTHS));
                tree.open(at, weight, longest);
            }
        }
        tree
    }

    /// A flow at a node.
    fn open(&mut self, at: usize, weight: u64, longest: u32) {
        let class = at.checked_sub(1).map(|class| class as u16);
        let plan = FlowPlan { class, contract: contract(weight), ..FlowPlan::default() };
        let leg = self.world.open(0, &plan);
        self.nodes[at].members.push(Member { weight, ..Member::default() });
        let place = self.nodes[at].members.len() - 1;
        self.flows.push((leg, at, place, longest));
        let (mut at, mut place) = (at, place);
        loop {
            let member = &mut self.nodes[at].members[place];
            member.longest = member.longest.max(longest);
            let Some(above) = self.nodes[at].above else { break };
            (at, place) = above;
        }
    }

    /// The nodes from a flow's upwards, with the places in them.
    fn way(&self, flow: usize) -> Vec<(usize, usize)> {
        let (_, at, place, _) = self.flows[flow];
        std::iter::successors(Some((at, place)), |(at, _)| self.nodes[*at].above).collect()
    }

    fn arrive(&mut self, flow: usize, len: u32) {
        self.nodes[0].position = self.world.now.ticks();
        for (at, place) in self.way(flow) {
            let node = &mut self.nodes[at];
            node.members[place].came.push((node.position, len));
        }
        let leg = self.flows[flow].0;
        self.world.arrive(&[leg], len);
    }

    /// Begins to send a packet, if there is one; returns its transmission time.
    fn start(&mut self) -> Option<Span> {
        let packet = self.world.start(0)?;
        let takes = rate(LINK).time_for(packet.len);
        let flow = self.flows.iter().position(|flow| flow.0.flow == packet.flow).unwrap();
        for (at, place) in self.way(flow) {
            let node = &mut self.nodes[at];
            match at {
                0 => node.position = (self.world.now + takes).ticks(),
                _ => node.position += u64::from(packet.len),
            }
            node.members[place].sent.push((node.position, packet.len));
        }
        Some(takes)
    }

    /// Packets come, one by one and in bursts, while others are sent and while the link is idle.
    fn run(&mut self, rng: &mut Rng, steps: u64) {
        let burst = 1 + rng.below(12);
        let sends = pick(rng, &[[0, 0, 1, 1, 1], [0, 1, 1, 2, 3], [0, 1, 2, 4, 12]]);
        for _ in 0..steps {
            let flow = rng.below(self.flows.len() as u64) as usize;
            let longest = self.flows[flow].3;
            for _ in 0..pick(rng, &[1, 1, 2, burst]) {
                self.arrive(flow, pick(rng, &[longest, longest, longest.min(100)]));
            }
            for _ in 0..pick(rng, &sends) {
                let Some(takes) = self.start() else { break };
                let early = Span::from_ticks(rng.below(takes.ticks()));
                if rng.chance(0.3) {
                    self.world.now += early;
                    let flow = rng.below(self.flows.len() as u64) as usize;
                    self.arrive(flow, self.flows[flow].3);
                    self.world.now += Span::from_ticks(takes.ticks() - early.ticks());
                } else {
                    self.world.now += takes;
                }
                self.world.finish(0);
            }
            if rng.chance(0.03) {
                while let Some(takes) = self.start() {
                    self.world.now += takes;
                    self.world.finish(0);
                }
                self.world.now += Span::from_micros(rng.below(20_000));
            }
        }
        while let Some(takes) = self.start() {
            self.world.now += takes;
            self.world.finish(0);
        }
    }
}

/// Positions of a node's fluid server by bytes served of a member: points between which it is
/// linear.
type Curve = Vec<(Ratio, Ratio)>;

/// Generalized processor sharing: the curve of each member.
fn fluid(node: &Node) -> Vec<Curve> {
    let zero = || Ratio::whole(0);
    let mut curves: Vec<Curve> = node.members.iter().map(|_| Vec::new()).collect();
    let mut left: Vec<Ratio> = node.members.iter().map(|_| zero()).collect();
    let mut served: Vec<Ratio> = node.members.iter().map(|_| zero()).collect();
    let came = |place: usize| node.members[place].came.iter().map(move |(at, len)| (*at, place, *len));
    let mut arrivals: Vec<(u64, usize, u32)> = (0..node.members.len()).flat_map(came).collect();
    arrivals.sort_by_key(|(at, ..)| *at);
    let mut arrivals = VecDeque::from(arrivals);
    let mut at = zero();
    let per_byte = Ratio::whole(node.per_byte);
    loop {
        while let Some((then, place, len)) = arrivals.front().copied()
            && Ratio::whole(then) <= at
        {
            arrivals.pop_front();
            if left[place] == zero() {
                curves[place].push((at.clone(), served[place].clone()));
            }
            left[place] = &left[place] + &Ratio::whole(len.into());
        }
        let active: Vec<usize> = (0..left.len()).filter(|place| left[*place] > zero()).collect();
        let weights: u64 = active.iter().map(|place| node.members[*place].weight).sum();
        let next = arrivals.front().map(|(then, ..)| Ratio::whole(*then));
        if active.is_empty() {
            match next {
                Some(next) => at = next,
                None => return curves,
            }
            continue;
        }
        // Positions for a byte of this member.
        let pace = |place: usize| &per_byte * &Ratio::new(weights, node.members[place].weight);
        let soonest = active.iter().map(|place| &left[*place] * &pace(*place)).min().unwrap();
        let span = match next.map(|next| &next - &at) {
            Some(until) if until < soonest => until,
            _ => soonest,
        };
        at = &at + &span;
        for place in active {
            let bytes = &span / &pace(place);
            left[place] = &left[place] - &bytes;
            served[place] = &served[place] + &bytes;
            curves[place].push((at.clone(), served[place].clone()));
        }
    }
}

/// The position at which a curve reaches this number of bytes.
fn reaches(curve: &Curve, bytes: &Ratio) -> Ratio {
    let after = curve.partition_point(|(_, served)| served < bytes);
    let (at, served) = &curve[after];
    if after == 0 || served == bytes {
        return at.clone();
    }
    let (from, before) = &curve[after - 1];
    let part = &(bytes - before) / &(served - before);
    from + &(&(at - from) * &part)
}

/// The greatest delay of a member's packets behind this curve, in longest packets of the node. A
/// class is served when its next packet was due, which may be another one by then: as long as its
/// longest, if there was so much.
fn behind(node: &Node, place: usize, curve: &Curve) -> f64 {
    let member = &node.members[place];
    let longest = u64::from(node.members.iter().map(|member| member.longest).max().unwrap()) * node.per_byte;
    let mut bytes = 0;
    let mut most = f64::MIN;
    for (at, len) in &member.sent {
        let came: u64 =
            member.came.iter().filter(|(then, _)| then < at).map(|(_, len)| u64::from(*len)).sum();
        let due = if member.is_class {
            came.min(bytes + u64::from(member.longest))
        } else {
            bytes + u64::from(*len)
        };
        bytes += u64::from(*len);
        let late = &Ratio::whole(*at) - &reaches(curve, &Ratio::whole(due.max(bytes)));
        most = most.max(late.floor() as f64 / longest as f64);
    }
    most
}

/// The greatest delay of a flow's packets, as a part of the allowance by its scheduler's paper at a
/// server of constant rate. Expected is the service of the flow's share alone, first in, first out.
fn part_of_bound(node: &Node, place: usize) -> f64 {
    let member = &node.members[place];
    let weights: u64 = node.members.iter().map(|member| member.weight).sum();
    let per_byte = node.per_byte as f64;
    let own = per_byte * weights as f64 / member.weight as f64;
    let others = node.members.iter().enumerate().filter(|(other, _)| *other != place);
    let of_others: f64 = others.map(|(_, other)| f64::from(other.longest) * per_byte).sum();
    let longest = node.members.iter().map(|member| member.longest).max().unwrap();
    let (mut free, mut most) = (0.0f64, 0.0f64);
    for ((came, len), (sent, also)) in member.came.iter().zip(&member.sent) {
        assert_eq!(len, also, "a flow is served in order");
        let len = f64::from(*len);
        let expected = free.max(*came as f64);
        free = expected + len * own;
        let allowed = match node.name {
            // Parekh and Gallager 1993, theorem 1; Bennett and Zhang 1997, theorem 4.
            "wfq" | "wf2q-plus" => len * own + f64::from(longest) * per_byte,
            // Golestani 1994.
            "scfq" => len * own + of_others,
            // Goyal, Vin and Cheng 1996, theorem 4.
            _ => len * per_byte + of_others,
        };
        // Rates are held within 2⁻³⁸, and tags are compared in ticks.
        most = most.max((*sent as f64 - expected) / (allowed * (1.0 + 1e-9) + 2.0));
    }
    most
}

/// Every flow of a class keeps the bound of its class's scheduler, relative to the service that the
/// class gets.
#[test]
fn every_flow_of_a_class_keeps_its_bound_of_what_the_class_gets() {
    let mut nearest = [0.0f64; 4];
    for seed in 0..rounds(200) {
        let mut rng = Rng::named(seed, "trees");
        let mut tree = Tree::random(&mut rng);
        tree.run(&mut rng, 60);
        for (at, node) in tree.nodes.iter().enumerate() {
            let Some(which) = FAIR.iter().position(|name| *name == node.name) else { continue };
            for (place, _) in node.members.iter().enumerate().filter(|(_, member)| !member.is_class) {
                // Tokens of classes are as long as a packet, or as two.
                if node.members.iter().any(|member| member.is_class) {
                    continue;
                }
                let part = part_of_bound(node, place);
                assert!(part <= 1.0, "seed {seed}, {} {at}: flow {place} at {part} of its bound", node.name);
                nearest[which] = nearest[which].max(part);
            }
        }
    }
    println!("parts of the bounds: {nearest:?}");
    assert!(nearest.iter().all(|part| *part > 0.7), "the bounds were hardly approached: {nearest:?}");
}

/// Longest packets by which a member of a node, with `classes` among `members`, may be served later
/// than by the fluid server. A class sends its first packet when its turn comes, which may be a
/// packet longer than the one that it announced.
fn tolerated(node: &Node) -> f64 {
    let classes = node.members.iter().filter(|member| member.is_class).count() as f64;
    match (node.name, node.per_byte) {
        // Packets of a class are served whole: none is in service when another one comes (Parekh
        // and Gallager 1993).
        ("wfq", 1) if classes == 0.0 => 0.0,
        ("wfq" | "wf2q-plus", _) => 1.0 + classes,
        // A packet of each other member may be first (Golestani 1994; Goyal, Vin and Cheng 1996).
        _ => node.members.len() as f64 + classes,
    }
}

/// Curve of a server that has a member's share of its node alone.
fn share(node: &Node, place: usize) -> Curve {
    let member = &node.members[place];
    let weights: u64 = node.members.iter().map(|member| member.weight).sum();
    let per_byte = &Ratio::whole(node.per_byte) * &Ratio::new(weights, member.weight);
    let (mut at, mut bytes, mut curve) = (Ratio::whole(0), 0, Curve::new());
    for (came, len) in &member.came {
        at = at.max(Ratio::whole(*came));
        curve.push((at.clone(), Ratio::whole(bytes)));
        bytes += u64::from(*len);
        at = &at + &(&per_byte * &Ratio::whole(u64::from(*len)));
        curve.push((at.clone(), Ratio::whole(bytes)));
    }
    curve
}

/// However deep in the tree, no member, flow or class, falls behind: under WFQ behind the fluid
/// server of its node, and under the others, which promise no more, behind a server of its share.
#[test]
fn no_member_of_a_fair_queue_falls_behind_at_any_depth() {
    // By scheduler: the latest where all members are flows, and where some are classes.
    let mut latest = [[0.0f64; 2]; 4];
    let mut flat = 0;
    for seed in 0..rounds(200) {
        let mut rng = Rng::named(seed, "trees");
        let mut tree = Tree::random(&mut rng);
        tree.run(&mut rng, 60);
        for (at, node) in tree.nodes.iter().enumerate() {
            let Some(which) = FAIR.iter().position(|name| *name == node.name) else { continue };
            let places = 0..node.members.len();
            let curves =
                if which == 0 { fluid(node) } else { places.map(|place| share(node, place)).collect() };
            let tolerated = tolerated(node);
            flat += u64::from(tolerated == 0.0);
            for (place, curve) in curves.iter().enumerate() {
                let late = behind(node, place, curve);
                assert!(late <= tolerated + 1e-6, "seed {seed}, {} {at}: {place} is {late} late", node.name);
                let with_classes = node.members.iter().any(|member| member.is_class);
                let latest = &mut latest[which][usize::from(with_classes)];
                *latest = latest.max(late);
            }
        }
    }
    println!("{flat} classes of flows alone under wfq, latest {latest:?}");
    assert!(flat > 50 && latest[0][1] > 0.9, "{flat}, {latest:?}");
    assert!(latest[1..].iter().flatten().all(|late| *late > 0.9), "{latest:?}");
}
