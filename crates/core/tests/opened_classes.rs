//! Classes that are opened while a port runs: they behave like planned ones, and are given to
//! others when they cannot be told from new ones.

mod common;

use common::lines::{Lines, Sent};
use common::{World, kind, pick, rate, rounds};
use tidegate_core::context::Reason;
use tidegate_core::contract::Contract;
use tidegate_core::dropper::DropperKind;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{
    ClassPlan, DEEPEST_TREE, DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan,
};
use tidegate_core::units::{Span, Time};

/// Schedulers for which a member without packets makes no difference.
const SCHEDULERS: [&str; 8] = [
    "fifo",
    "strict-priority",
    "virtual-clock",
    "wf2q-plus",
    "round-robin",
    "drr++",
    "host-drr++",
    "triple-isolate",
];
const LINK: u64 = 8_000_000;

/// An arrival: microseconds, flow and length.
type Arrival = (u64, usize, u32);

/// A port with classes, flows in them, and their arrivals.
struct Case {
    port: PortPlan,
    classes: Vec<ClassPlan>,
    flows: Vec<FlowPlan>,
    buffer: Option<Limit>,
    arrivals: Vec<Arrival>,
}

fn codel(rng: &mut Rng) -> Option<DropperPlan> {
    let kind = DropperKind::named("codel").unwrap();
    let plan = DropperPlan { scope: pick(rng, &[Scope::Flow, Scope::Node]), ..DropperPlan::from(kind) };
    rng.chance(0.4).then_some(plan)
}

fn contract(rng: &mut Rng) -> Contract {
    let reserve = pick(rng, &[None, Some(100_000), Some(1_000_000)]).map(rate);
    Contract { reserve, priority: rng.below(3) as u8, ..Contract::default() }
}

impl Case {
    fn random(seed: u64) -> Case {
        let mut rng = Rng::named(seed, "opened classes");
        let rng = &mut rng;
        let scheduler = kind(pick(rng, &SCHEDULERS));
        let port = PortPlan { dropper: codel(rng), rate: Some(rate(LINK)), ..PortPlan::new(scheduler) };
        let classes: Vec<ClassPlan> = (0..1 + rng.below(4) as u16)
            .map(|class| ClassPlan {
                // At most one level of classes within classes.
                parent: (class == 3).then_some(0),
                contract: contract(rng),
                ceiling: pick(rng, &[None, None, Some(rate(1_000_000))]),
                dropper: codel(rng),
                ..ClassPlan::new(kind(pick(rng, &SCHEDULERS)))
            })
            .collect();
        let count = classes.len() as u16;
        let flow = |rng: &mut Rng| FlowPlan {
            class: Some(rng.below(u64::from(count)) as u16).filter(|_| rng.chance(0.8)),
            contract: contract(rng),
            ..FlowPlan::default()
        };
        let flows: Vec<FlowPlan> = (0..2 + rng.below(6)).map(|_| flow(rng)).collect();
        let mut at = 0;
        let mut arrival = |rng: &mut Rng| {
            let longest = pick(rng, &[500, 3_000]);
            at += rng.below(longest);
            (at, rng.below(flows.len() as u64) as usize, pick(rng, &[64, 600, 1514]))
        };
        let arrivals = (0..300).map(|_| arrival(rng)).collect();
        let buffer = pick(rng, &[None, Some(Limit::Packets(40)), Some(Limit::Bytes(30_000))]);
        Case { port, classes, flows: flows.clone(), buffer, arrivals }
    }

    /// Packets sent and dropped when the first `planned` classes are planned, and the others opened
    /// at the first packet of a flow in them.
    fn run(&self, planned: usize) -> (Vec<Sent>, Vec<(u16, u32, Reason)>) {
        let port = PortPlan { classes: self.classes[..planned].to_vec(), ..self.port.clone() };
        let plan = SwitchPlan { ports: vec![port], buffer: self.buffer, ..SwitchPlan::default() };
        let mut lines = Lines::new(World::new(&plan), &[rate(LINK)]);
        let (mut legs, mut opened): (Vec<Option<Leg>>, usize) = (vec![None; self.flows.len()], planned);
        for (at, flow, len) in &self.arrivals {
            lines.run(Time::ORIGIN + Span::from_micros(*at));
            let leg = *legs[*flow].get_or_insert_with(|| {
                let class = self.flows[*flow].class.map_or(0, |class| usize::from(class) + 1);
                for class in &self.classes[opened.min(class)..class] {
                    let World { switch, now, .. } = &mut lines.world;
                    assert_eq!(switch.open_class(*now, PortIx(0), class), Ok(opened as u16));
                    opened += 1;
                }
                lines.world.open(0, &self.flows[*flow])
            });
            lines.arrive(&[leg], *len);
        }
        lines.drain();
        let dropped = lines.dropped.iter().map(|(port, packet, why)| (*port, packet.body.0, *why));
        (lines.sent, dropped.collect())
    }
}

#[test]
fn a_class_that_is_opened_is_as_one_that_was_planned() {
    let (mut opened, mut dropped) = (0, 0);
    for seed in 0..rounds(100) {
        let case = Case::random(seed);
        let planned = case.run(case.classes.len());
        for first in 0..case.classes.len() {
            assert_eq!(case.run(first), planned, "seed {seed}, {first} planned");
            opened += case.classes.len() - first;
        }
        dropped += planned.1.len();
    }
    assert!(opened as u64 > rounds(100) && dropped as u64 > rounds(100), "{opened} classes, {dropped} drops");
}

/// A class that does not fit is refused, and changes nothing.
#[test]
fn a_class_without_a_place_is_refused() {
    let case = Case::random(3);
    let plan = SwitchPlan { ports: vec![case.port.clone()], ..SwitchPlan::default() };
    let mut world = World::new(&plan);
    let class = |parent| ClassPlan { parent, ..ClassPlan::new(kind("fifo")) };
    let mut open = |port, plan: &ClassPlan| world.switch.open_class(Time::ORIGIN, PortIx(port), plan);
    // With the port's scheduler the innermost class makes the tree as deep as it may be.
    let classes = DEEPEST_TREE as u16 - 1;
    for ix in 0..classes {
        assert_eq!(open(0, &class(ix.checked_sub(1))), Ok(ix));
    }
    for (port, refused) in [(0, class(Some(classes - 1))), (0, class(Some(99))), (1, class(None))] {
        assert!(open(port, &refused).is_err(), "{refused:?} at port {port}");
    }
    assert_eq!(open(0, &class(None)), Ok(classes));
    assert_eq!(world.switch.classes(PortIx(0)), usize::from(classes) + 1);
}

/// A class is like a new one once nothing is queued and the scheduler above has forgotten its
/// traffic.
#[test]
fn a_class_is_forgotten_with_its_debt() {
    let plan = SwitchPlan { ports: vec![PortPlan::new(kind("virtual-clock"))], ..SwitchPlan::default() };
    let mut world = World::new(&plan);
    let contract = Contract { reserve: Some(rate(80_000)), ..Contract::default() };
    let class = ClassPlan { contract, ..ClassPlan::new(kind("fifo")) };
    let class = world.switch.open_class(world.now, PortIx(0), &class).unwrap();
    let forgettable = |world: &World| world.switch.class_forgettable_at(world.now, PortIx(0), class);
    assert!(forgettable(&world).unwrap() <= world.now);
    let leg = world.open(0, &FlowPlan { class: Some(class), ..FlowPlan::default() });
    for _ in 0..100 {
        world.arrive(&[leg], 1_000);
    }
    assert_eq!(forgettable(&world), None);
    while world.send(0).is_some() {}
    // 100 packets of 1000 bytes take 10 s at 80 kbit/s.
    assert_eq!(forgettable(&world), Some(world.now + Span::from_secs(10)));
}
