//! Flows that are made at their first packet, and forgotten.

mod common;

use common::{kind, rate};
use proptest::prelude::*;
use tidegate_core::classifier::rules::{Direction, Each, Match};
use tidegate_core::classifier::steering::{Rule, Split, Steering};
use tidegate_core::context::Ctx;
use tidegate_core::contract::Contract;
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};
use tidegate_core::wire::{Fragment, Headers, Ip};

const PORT: PortIx = PortIx(0);

fn from_host(host: u32, port: u16) -> Headers {
    let ip = Ip {
        source: std::net::Ipv4Addr::from_bits(host).into(),
        destination: std::net::Ipv4Addr::LOCALHOST.into(),
        protocol: 17,
        dscp: 0,
        ecn: 0,
        fragment: Fragment::Whole,
        ports: Some((port, 80)),
    };
    Headers { ip: Some(ip), ..Headers::default() }
}

/// A switch with one port and its steering, and a clock.
struct Bench {
    now: Time,
    switch: Switch,
    steering: Steering,
    rng: Rng,
}

impl Bench {
    fn new(rules: Vec<Rule>, most: usize) -> Bench {
        let now = Time::ORIGIN;
        let plan = SwitchPlan { ports: vec![PortPlan::new(kind("virtual-clock"))], buffer: None };
        let mut switch = Switch::new(now, &plan).unwrap();
        let steering = Steering::new(now, &mut switch, PORT, Direction::Up, rules, most).unwrap();
        Bench { now, switch, steering, rng: Rng::named(1, "steering") }
    }

    /// A packet comes and leaves at once; the flow's index.
    fn pass(&mut self, headers: &Headers, len: u32) -> u32 {
        let leg = self.steering.steer(self.now, &mut self.switch, headers);
        let mut out = Vec::new();
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut out };
        self.switch.arrive(&mut cx, &[leg], Packet::new(BodyId(0), len));
        self.switch.start(&mut cx, PORT).unwrap();
        self.switch.finish(&mut cx, PORT).unwrap();
        leg.flow.0
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.steering.forget_idle(self.now, &mut self.switch);
    }
}

fn each_host(idle: Span) -> Rule {
    let contract = Contract { reserve: Some(rate(80_000)), ..Contract::default() };
    let plan = FlowPlan { contract, ..FlowPlan::default() };
    let matching = Match { protocol: Some(17), ..Match::default() };
    Rule { matching, split: Split::Each(Each::Host), plan, idle }
}

#[test]
fn a_host_keeps_its_flow_until_it_is_idle() {
    let mut bench = Bench::new(vec![each_host(Span::from_secs(10))], 100);
    let first = bench.pass(&from_host(1, 1), 100);
    assert_eq!(bench.pass(&from_host(1, 2), 100), first);
    assert_ne!(bench.pass(&from_host(2, 1), 100), first);
    bench.wait(Span::from_secs(6));
    bench.pass(&from_host(1, 1), 100);
    bench.wait(Span::from_secs(6));
    // The second host is gone, and a third gets its index; what it sent is still counted.
    assert_eq!(bench.steering.flows(0), 1);
    assert_eq!(bench.pass(&from_host(3, 1), 100), first + 1);
    let counters = bench.steering.counters(&bench.switch, 0);
    assert_eq!((counters.arrived.packets, counters.sent.packets), (5, 5));
}

/// A host that sent 100 s ahead of what it reserves keeps its flow for as long, however idle it is.
#[test]
fn debt_is_not_shed_by_a_pause() {
    let mut bench = Bench::new(vec![each_host(Span::from_secs(1))], 100);
    for _ in 0..1000 {
        bench.pass(&from_host(1, 1), 1000);
    }
    bench.wait(Span::from_secs(90));
    assert_eq!(bench.steering.flows(0), 1);
    bench.wait(Span::from_secs(11));
    assert_eq!(bench.steering.flows(0), 0);
}

#[test]
fn rules_go_in_order_and_the_rest_has_a_flow() {
    let all =
        |matching| Rule { matching, split: Split::Together, plan: FlowPlan::default(), idle: Span::ZERO };
    let web =
        all(Match { outside_port: Some(80), inside: Some("0.0.0.1".parse().unwrap()), ..Match::default() });
    let mut bench = Bench::new(vec![web, each_host(Span::from_secs(1))], 1);
    assert_eq!(bench.pass(&from_host(1, 1), 100), 0);
    assert_eq!(bench.pass(&Headers::default(), 100), 1);
    assert_eq!(bench.steering.rest().flow.0, 1);
    assert_eq!(bench.pass(&from_host(2, 1), 100), 2);
    // No more than one flow is to be made.
    assert_eq!((bench.pass(&from_host(3, 1), 100), bench.steering.overflowed()), (1, 1));
}

/// An hour in which hosts come and go: no slot is leaked.
#[test]
fn an_hour_of_comings_and_goings_leaks_nothing() {
    let mut bench = Bench::new(vec![each_host(Span::from_secs(5))], 1000);
    let mut most = 0;
    for host in 0..36_000 {
        most = most.max(bench.pass(&from_host(host, 1), 200));
        bench.wait(Span::from_millis(100));
    }
    // 5 s idle, a packet's 20 ms of debt, and the one that is just made.
    assert!(most <= 53, "{most}");
    assert!(bench.steering.flows(0) <= 51);
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, 36_000);
    assert_eq!(bench.steering.overflowed(), 0);
}

proptest! {
    /// What remembers where it went last goes where it would have gone, and nobody counts otherwise.
    #[test]
    fn remembering_changes_nothing(steps in prop::collection::vec((0u32..8, 0u64..3_000), 1..300)) {
        let tcp = Match { protocol: Some(6), ..Match::default() };
        let other = Rule { matching: tcp, split: Split::Together, plan: FlowPlan::default(), idle: Span::ZERO };
        let rules = vec![other, each_host(Span::from_secs(1))];
        let (mut one, mut other) = (Bench::new(rules.clone(), 4), Bench::new(rules, 4));
        let mut memory = [None; 8];
        for (host, millis) in steps {
            let mut headers = from_host(host, 1);
            if let Some(ip) = headers.ip.as_mut().filter(|_| host < 2) {
                ip.protocol = [6, 1][host as usize];
            }
            let again = other.steering.steer_again(other.now, &mut other.switch, &headers, &mut memory[host as usize]);
            prop_assert_eq!(one.steering.steer(one.now, &mut one.switch, &headers), again);
            prop_assert_eq!(one.steering.overflowed(), other.steering.overflowed());
            prop_assert_eq!(one.steering.flows(1), other.steering.flows(1));
            one.wait(Span::from_millis(millis));
            other.wait(Span::from_millis(millis));
        }
    }
}
