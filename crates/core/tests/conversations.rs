//! Hosts and circuits that are classes, in which each conversation has a flow: the classes come with
//! them and go with them, and no host escapes its debt.

mod common;

use common::headers::from_host;
use common::{kind, rate, rounds};
use tidegate_core::classifier::circuits::{Circuit, CircuitTerms, Circuits};
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::context::Ctx;
use tidegate_core::contract::Contract;
use tidegate_core::packet::{BodyId, Leg, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::{Conversations, Rule, Split, StatedHosts, Steering};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{ClassPlan, DEEPEST_TREE, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const PORT: PortIx = PortIx(0);
const IDLE: Span = Span::from_secs(2);

/// A port at which every host reserves 80 kbit/s.
struct Bench {
    now: Time,
    switch: Switch,
    steering: Steering,
    rng: Rng,
}

impl Bench {
    fn new(scheduler: &str, most: usize) -> Bench {
        Bench::of(scheduler, Split::Each(Each::Host), most)
    }

    fn of(scheduler: &str, split: Split, most: usize) -> Bench {
        let contract = Contract { reserve: Some(rate(80_000)), ..Contract::default() };
        let plan = FlowPlan { contract, ..FlowPlan::default() };
        Bench::at(PortPlan::new(kind(scheduler)), plan, split, most)
    }

    fn at(port: PortPlan, plan: FlowPlan, split: Split, most: usize) -> Bench {
        let now = Time::ORIGIN;
        let ports = vec![port];
        let mut switch = Switch::new(now, &SwitchPlan { ports, ..SwitchPlan::default() }).unwrap();
        let conversations =
            Conversations { scheduler: kind("drr++"), dropper: None, hosts: StatedHosts::None };
        let within = Some(conversations.into());
        let rule = Rule { within, ..Rule::new(Match::default(), split, plan, IDLE) };
        let rest = FlowPlan::default();
        let steering = Steering::new(now, &mut switch, PORT, Direction::Up, vec![rule], rest, most).unwrap();
        Bench { now, switch, steering, rng: Rng::named(1, "conversations") }
    }

    /// A packet comes and leaves at once.
    fn pass(&mut self, host: u32, port: u16) -> Leg {
        let leg = self.steering.steer(self.now, &mut self.switch, &from_host(host, port));
        let mut out = Vec::new();
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut out };
        _ = self.switch.arrive(&mut cx, &[leg], Packet::new(BodyId(0), 1_000));
        self.switch.start(&mut cx, PORT).unwrap();
        self.switch.finish(&mut cx, PORT).unwrap();
        leg
    }

    fn class(&self, leg: Leg) -> Option<u16> {
        self.switch.plan_of(leg).unwrap().class
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        if self.rng.chance(0.01) {
            self.switch.audit(self.now).unwrap();
        }
        self.steering.close_idle(self.now, &mut self.switch);
    }
}

/// Conversations of one host are flows of one class, and those of two hosts of two. A host that
/// comes back before its class was given to another has the same one.
#[test]
fn a_host_is_a_class_and_a_conversation_a_flow() {
    let mut bench = Bench::new("wf2q-plus", 100);
    let legs = [(1, 1), (1, 2), (2, 1)].map(|(host, port)| bench.pass(host, port));
    let classes = legs.map(|leg| bench.class(leg).unwrap());
    assert!(classes[0] == classes[1] && classes[1] != classes[2]);
    assert!(legs[0] != legs[1] && legs[1] != legs[2]);
    assert_eq!(bench.pass(1, 2), legs[1]);
    bench.wait(IDLE + IDLE);
    assert_eq!(bench.steering.flows(0), 0);
    let again = bench.pass(1, 3);
    assert_eq!((bench.class(again), bench.switch.classes(PORT)), (Some(classes[0]), 2));
    let counters = bench.steering.counters(&bench.switch, 0);
    assert_eq!((counters.arrived.packets, counters.sent.packets), (5, 5));
}

/// A host has a flow for each of 1024 conversations at a time, and one for all others. Packets
/// beyond the flows that there may be share one more.
#[test]
fn no_host_takes_all_flows() {
    let mut bench = Bench::new("wf2q-plus", 1_100);
    for port in 0..5_000 {
        bench.pass(1, port);
    }
    assert_eq!((bench.steering.flows(0), bench.steering.overflowed()), (1025, 0));
    assert_eq!(bench.pass(1, 6_000), bench.pass(1, 7_000));
    assert_ne!(bench.pass(2, 1), bench.steering.rest());
    for port in 0..100 {
        bench.pass(3, port);
    }
    assert_eq!((bench.steering.flows(0), bench.steering.overflowed()), (1_101, 26));
    assert!(bench.pass(3, 99) != bench.steering.rest() && bench.pass(3, 99) == bench.pass(4, 1));
}

/// Circuits of one address each, from 0.0.0.1 on, with these reservations and ceilings.
fn circuits<const N: usize>(terms: [(u64, Option<u64>); N]) -> Split {
    let circuits = terms.iter().zip(1..).map(|((reserve, ceiling), host)| Circuit {
        name: format!("circuit {host}"),
        addresses: vec![format!("0.0.0.{host}").parse().unwrap()],
        terms: CircuitTerms {
            class: None,
            reserve: [Some(rate(*reserve)); 2],
            ceiling: [ceiling.map(rate); 2],
        },
    });
    Split::Circuits(Circuits::new(circuits).unwrap().into())
}

/// A circuit has its own terms in the class that another has left, and both keep their counters.
#[test]
fn a_circuit_gets_the_class_of_another_with_its_own_terms() {
    let split = circuits([(80_000, None), (160_000, Some(1_000_000))]);
    let mut bench = Bench::of("wf2q-plus", split, 100);
    let terms = |bench: &Bench| {
        let plan = bench.switch.class_plan(PORT, 0).unwrap();
        (plan.contract.reserve, plan.ceiling)
    };
    let legs = [1, 2, 1].map(|port| bench.pass(1, port));
    assert!(legs[0] == legs[2] && legs[0] != legs[1] && bench.class(legs[0]) == bench.class(legs[1]));
    assert_eq!(terms(&bench), (Some(rate(80_000)), None));
    bench.wait(IDLE + IDLE);
    let other = bench.pass(2, 1);
    assert_eq!((bench.class(other), bench.switch.classes(PORT)), (Some(0), 1));
    assert_eq!(terms(&bench), (Some(rate(160_000)), Some(rate(1_000_000))));
    let sent = |circuit| bench.steering.circuit_counters(&bench.switch, 0, circuit).sent.packets;
    assert_eq!([0, 1].map(sent), [3, 1]);
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, 4);
    bench.switch.audit(bench.now).unwrap();
}

/// Where packets have opened as many flows as they may, further conversations of a circuit share
/// one, which is in no other circuit's class.
#[test]
fn a_circuit_always_has_a_queue() {
    let mut bench = Bench::of("wf2q-plus", circuits([(80_000, None); 2]), 2);
    let legs = [1, 2, 3, 4].map(|port| bench.pass(1, port));
    assert!(legs[0] != legs[1] && legs[1] != legs[2] && legs[2] == legs[3]);
    let others = [1, 2].map(|port| bench.pass(2, port));
    assert!(others[0] == others[1] && bench.class(others[0]) != bench.class(legs[0]));
    assert_eq!((bench.steering.flows(0), bench.steering.overflowed()), (4, 0));
    let sent = |circuit| bench.steering.circuit_counters(&bench.switch, 0, circuit).sent.packets;
    assert_eq!([0, 1].map(sent), [4, 2]);
}

/// A circuit for which the switch has no class, here because the tree is as deep as it may be, has
/// one flow with its terms.
#[test]
fn a_circuit_without_a_class_has_one_flow() {
    let class = |parent| ClassPlan { parent, ..ClassPlan::new(kind("wf2q-plus")) };
    // The innermost class has as many schedulers above it as there may be.
    let deepest = DEEPEST_TREE as u16 - 2;
    let classes: Vec<_> = (0..=deepest).map(|ix| class(ix.checked_sub(1))).collect();
    let count = classes.len();
    let plan = PortPlan { classes, ..PortPlan::new(kind("wf2q-plus")) };
    let split = circuits([(80_000, None), (160_000, Some(1_000_000))]);
    let mut bench = Bench::at(plan, FlowPlan { class: Some(deepest), ..FlowPlan::default() }, split, 100);
    let legs = [(1, 1), (1, 2), (2, 1)].map(|(host, port)| bench.pass(host, port));
    assert!(legs[0] == legs[1] && legs[1] != legs[2]);
    let plan = bench.switch.plan_of(legs[2]).unwrap();
    assert_eq!((plan.class, plan.ceiling), (Some(deepest), Some(rate(1_000_000))));
    bench.wait(IDLE + IDLE);
    assert_eq!((bench.steering.flows(0), bench.switch.classes(PORT)), (0, count));
    let sent = |circuit| bench.steering.circuit_counters(&bench.switch, 0, circuit).sent.packets;
    assert_eq!([0, 1].map(sent), [2, 1]);
}

/// A host that has sent 10 s ahead of its reservation leaves, and its class is no other host's
/// until then.
#[test]
fn a_class_is_given_to_another_host_once_its_debt_is_gone() {
    let mut bench = Bench::new("virtual-clock", 100);
    for _ in 0..100 {
        bench.pass(1, 1);
    }
    bench.wait(Span::from_secs(5));
    assert_eq!(bench.steering.flows(0), 0);
    bench.pass(2, 1);
    assert_eq!(bench.switch.classes(PORT), 2);
    bench.wait(Span::from_secs(6));
    let (third, fourth) = (bench.pass(3, 1), bench.pass(4, 1));
    assert_eq!((bench.switch.classes(PORT), bench.class(third)), (2, Some(0)));
    assert_eq!(bench.class(fourth), Some(1));
}

/// Hosts come and go for hours: the classes are a small multiple of the hosts that count at once,
/// and memory stays.
#[test]
fn classes_go_with_their_hosts() {
    let until = Time::ORIGIN + Span::from_secs(rounds(1_800));
    let mut bench = Bench::new("wf2q-plus", 10_000);
    let mut rng = Rng::named(1, "guests");
    // Host, time at which it leaves, time of its latest packet.
    let mut guests: Vec<(u32, Time, Time)> = Vec::new();
    let (mut hosts, mut most, mut memory) = (0, 0, 0);
    while bench.now < until {
        let now = bench.now;
        if rng.chance(0.3) {
            hosts += 1;
            guests.push((hosts, now + Span::from_millis(rng.below(20_000)), now));
        }
        for (host, leaves, heard) in &mut guests {
            if *leaves >= now && (*heard == now || rng.chance(0.1)) {
                for port in 0..1 + rng.below(3) as u16 {
                    bench.pass(*host, port);
                }
                *heard = now;
            }
        }
        guests.retain(|(_, leaves, heard)| *leaves >= now || *heard + IDLE > now);
        bench.wait(Span::from_millis(50));
        most = most.max(guests.len());
        if now.since(Time::ORIGIN) < Span::from_secs(600) {
            memory = bench.switch.memory();
        }
    }
    let classes = bench.switch.classes(PORT);
    assert!(hosts > 5_000 && classes <= 3 * most, "{hosts} hosts, {most} at once, {classes} classes");
    assert!(bench.switch.memory() <= 2 * memory, "{memory} bytes, then {}", bench.switch.memory());
}
