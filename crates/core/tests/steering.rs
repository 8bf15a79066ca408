//! Flows that packets open, and that are closed when they are idle.

mod common;

use common::headers::from_host;
use common::{kind, rate, rounds};
use proptest::prelude::*;
use std::sync::Arc;
use tidegate_core::classifier::circuits::{Circuit, CircuitTerms, Circuits};
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::context::Ctx;
use tidegate_core::contract::Contract;
use tidegate_core::headers::{Headers, Ip};
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::{Beyond, Rule, Split, Steering};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const PORT: PortIx = PortIx(0);

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
        let plan = SwitchPlan {
            ports: vec![PortPlan::new(kind("virtual-clock"))],
            buffer: None,
            ..SwitchPlan::default()
        };
        let mut switch = Switch::new(now, &plan).unwrap();
        let steering =
            Steering::new(now, &mut switch, PORT, Direction::Up, rules, FlowPlan::default(), most).unwrap();
        Bench { now, switch, steering, rng: Rng::named(1, "steering") }
    }

    /// A packet comes and leaves at once; returns the flow's index.
    fn pass(&mut self, headers: &Headers, len: u32) -> u32 {
        let leg = self.steering.steer(self.now, &mut self.switch, headers);
        let mut out = Vec::new();
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut out };
        _ = self.switch.arrive(&mut cx, &[leg], Packet::new(BodyId(0), len));
        self.switch.start(&mut cx, PORT).unwrap();
        self.switch.finish(&mut cx, PORT).unwrap();
        leg.flow.0
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.steering.close_idle(self.now, &mut self.switch);
    }
}

fn each_host(idle: Span) -> Rule {
    let contract = Contract { reserve: Some(rate(80_000)), ..Contract::default() };
    let plan = FlowPlan { contract, ..FlowPlan::default() };
    let matching = Match { protocol: vec![17], ..Match::default() };
    Rule::new(matching, Split::Each(Each::Host), plan, idle)
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
    // The second host is gone, and a third gets its index; the packets that it sent are still
    // counted.
    assert_eq!(bench.steering.flows(0), 1);
    assert_eq!(bench.pass(&from_host(3, 1), 100), first + 1);
    let counters = bench.steering.counters(&bench.switch, 0);
    assert_eq!((counters.arrived.packets, counters.sent.packets), (5, 5));
}

/// A host that sent 100 s ahead of its reservation keeps its flow for as long, however idle it is.
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
    let all = |matching| Rule::new(matching, Split::Together, FlowPlan::default(), Span::ZERO);
    let web = all(Match {
        outside_port: vec![80.into()],
        inside: vec!["0.0.0.1".parse().unwrap()],
        ..Match::default()
    });
    let mut bench = Bench::new(vec![web, each_host(Span::from_secs(1))], 1);
    assert_eq!(bench.pass(&from_host(1, 1), 100), 0);
    assert_eq!(bench.pass(&Headers::default(), 100), 1);
    assert_eq!(bench.steering.rest().flow.0, 1);
    // The third flow is for link control.
    assert_eq!(bench.steering.control().flow.0, 2);
    assert_eq!(bench.pass(&from_host(2, 1), 100), 3);
    // No more than one flow is to be made: all further hosts share another one.
    assert_eq!((bench.pass(&from_host(3, 1), 100), bench.steering.overflowed()), (4, 1));
    assert_eq!((bench.pass(&from_host(4, 1), 100), bench.steering.overflowed()), (4, 2));
    assert_eq!((bench.steering.flows(1), bench.steering.counters(&bench.switch, 1).sent.packets), (2, 3));
    // One that still sends when there is room gets a flow of its own.
    bench.wait(Span::from_millis(600));
    bench.pass(&from_host(3, 1), 100);
    bench.wait(Span::from_millis(600));
    assert_eq!(bench.pass(&from_host(3, 1), 100), 3);
    bench.wait(Span::from_secs(3));
    assert_eq!(bench.steering.flows(1), 0);
}

/// Link control has a flow of its own, and other packets that no rule matches share another one. A
/// rule that matches goes first.
#[test]
fn what_keeps_the_link_working_stands_apart() {
    let of_kind = |kind: u16| Headers { ethertype: Some(kind), ..Headers::default() };
    let of_protocol = |protocol: u8| {
        let ip = Ip { protocol, ports: None, ..from_host(1, 1).ip.unwrap() };
        Headers { ip: Some(ip), ethertype: Some(0x0800), ..Headers::default() }
    };
    // A PPPoE session's frame that carries IP counts as the IP packet.
    let in_session = Headers { ethertype: Some(0x8864), ..of_protocol(6) };
    let control = [0x0806, 0x8809, 0x8863, 0x8864, 0x888e, 0x88cc, 39].map(of_kind);
    let rest =
        [of_kind(0x88f7), of_kind(1536), of_protocol(6), of_protocol(1), in_session, Headers::default()];
    let mut bench = Bench::new(Vec::new(), 0);
    let [of_rest, of_control] = [bench.steering.rest().flow.0, bench.steering.control().flow.0];
    for headers in control.iter().chain(&[of_protocol(2), of_protocol(58)]) {
        assert_eq!(bench.pass(headers, 100), of_control, "{headers:?}");
    }
    for headers in &rest {
        assert_eq!(bench.pass(headers, 100), of_rest, "{headers:?}");
    }
    let counted = bench.steering.unmatched(&bench.switch).sent.packets;
    assert_eq!(counted, 9 + rest.len() as u64);
    let all = Rule { split: Split::Together, matching: Match::default(), ..each_host(Span::ZERO) };
    let mut bench = Bench::new(vec![all], 0);
    assert_eq!(bench.pass(&of_kind(0x0806), 100), 0);
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

/// A host that comes, sends now and then, and goes; some hosts send far more than their
/// reservation.
struct Guest {
    host: u32,
    burst: u64,
    leaves: Time,
    /// Time of its latest packet.
    heard: Time,
    /// Time at which it is within its reservation.
    even: Time,
}

/// Plans that take turns, in one of which hosts are in a class: however often, the slots are those
/// of as many hosts as there are at once.
#[test]
fn plans_that_take_turns_leak_no_slot() {
    const HOSTS: u32 = 50;
    let port = |classes: Vec<ClassPlan>| PortPlan { classes, ..PortPlan::new(kind("virtual-clock")) };
    let class = ClassPlan { contract: Contract::default(), ..ClassPlan::new(kind("fifo")) };
    let plans = [vec![class], Vec::new()].map(|classes| SwitchPlan {
        ports: vec![port(classes)],
        buffer: None,
        ..SwitchPlan::default()
    });
    let mut bench = Bench::new(vec![each_host(Span::from_secs(1))], 10_000);
    let (mut highest, mut memory) = (0, Vec::new());
    for turn in 0..100 {
        let mut rule = each_host(Span::from_secs(1));
        rule.plan.class = (turn % 2 == 0).then_some(0);
        let now = bench.now;
        let mut out = Vec::new();
        let mut cx = Ctx { now, rng: &mut bench.rng, out: &mut out };
        // No new rule continues an old one: every flow is closed, and made anew.
        _ = bench.switch.reconfigure(&mut cx, &plans[turn % 2], &[]).unwrap_or_else(|_| {
            panic!("turn {turn} is refused");
        });
        bench.steering.replan(now, &mut bench.switch, vec![rule], &[None], FlowPlan::default(), 10_000);
        for host in 0..HOSTS {
            highest = highest.max(bench.pass(&from_host(host, 1), 100));
        }
        // Before the next plan takes the class away, its flows are closed and even.
        bench.steering.replan(bench.now, &mut bench.switch, Vec::new(), &[], FlowPlan::default(), 10_000);
        bench.wait(Span::from_secs(20));
        memory.push(bench.switch.memory());
    }
    assert!(highest <= 2 * HOSTS, "{highest} slots for {HOSTS} hosts at once");
    assert!(memory[99] <= memory[9], "{memory:?}");
}

/// Slots with hosts that stay for a while and get into debt: at every moment there are as many
/// flows as hosts that are not idle or not even, and never more slots than there were such hosts at
/// once.
#[test]
fn slots_are_as_many_as_hosts_that_count() {
    const IDLE: Span = Span::from_secs(2);
    const STEP: Span = Span::from_millis(50);
    let until = Time::ORIGIN + Span::from_secs(rounds(3600));
    let mut bench = Bench::new(vec![each_host(IDLE)], 10_000);
    let mut rng = Rng::named(1, "guests");
    let mut guests: Vec<Guest> = Vec::new();
    let (mut hosts, mut packets, mut most, mut highest, mut memory) = (0, 0, 0, 0, 0);
    while bench.now < until {
        let now = bench.now;
        if rng.chance(0.2) {
            hosts += 1;
            let burst = if rng.chance(0.1) { 20 } else { 1 };
            let leaves = now + Span::from_millis(rng.below(20_000));
            guests.push(Guest { host: hosts, burst, leaves, heard: now, even: now });
        }
        for guest in guests.iter_mut().filter(|guest| guest.leaves >= now) {
            if rng.chance(0.1) || guest.heard == now {
                for _ in 0..guest.burst {
                    highest = highest.max(bench.pass(&from_host(guest.host, 1), 1000));
                    packets += 1;
                    guest.even = guest.even.max(now) + rate(80_000).time_for(1000);
                }
                guest.heard = now;
            }
        }
        let counts = |guest: &Guest, at: Time| guest.even.max(guest.heard + IDLE) > at;
        guests.retain(|guest| guest.leaves >= now || counts(guest, now));
        bench.wait(STEP);
        let counting = guests.iter().filter(|guest| counts(guest, bench.now)).count();
        assert_eq!(bench.steering.flows(0), counting, "at {:?}", bench.now);
        // A slot that was left since the last step may be taken only in the next.
        most = most.max(guests.iter().filter(|guest| counts(guest, now)).count());
        if now.since(Time::ORIGIN) < Span::from_secs(900) {
            memory = bench.switch.memory();
        }
    }
    // The first two flows are for packets that no rule matches.
    assert!(
        hosts > 10_000 && highest as usize <= most + 1,
        "{hosts} hosts, index {highest} for {most} at once"
    );
    let now = bench.switch.memory();
    assert!(now <= 2 * memory, "{memory} bytes after a quarter of an hour, {now} at the end");
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, packets);
    assert_eq!(bench.steering.overflowed(), 0);
}

proptest! {
    /// A sender that remembers its last flow steers every packet as one that does not, with equal
    /// counts.
    #[test]
    fn remembering_changes_nothing(steps in prop::collection::vec((0u32..8, 0u64..3_000), 1..300)) {
        let tcp = Match { protocol: vec![6], ..Match::default() };
        let other = Rule::new(tcp, Split::Together, FlowPlan::default(), Span::ZERO);
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

fn circuit(name: &str, addresses: &str, reserve: u64) -> Circuit {
    Circuit {
        name: name.into(),
        addresses: addresses.split(' ').map(|text| text.parse().unwrap()).collect(),
        terms: CircuitTerms { reserve: [Some(rate(reserve)); 2], ..CircuitTerms::default() },
    }
}

fn of_circuits(circuits: impl IntoIterator<Item = Circuit>) -> Rule {
    let split = Split::Circuits(Arc::new(Circuits::new(circuits).unwrap()));
    Rule::new(Match::default(), split, FlowPlan::default(), Span::from_secs(1))
}

/// A circuit's flow comes with its first packet and goes when it is idle; its sent packets stay
/// counted.
#[test]
fn circuits_come_and_go_and_are_counted() {
    let rules = vec![
        of_circuits([circuit("a", "0.0.0.0/24", 80_000), circuit("b", "0.0.0.7 0.0.1.0/24", 80_000)]),
        each_host(Span::from_secs(1)),
    ];
    let mut bench = Bench::new(rules, 100);
    let first = bench.pass(&from_host(1, 1), 100);
    assert_eq!(bench.pass(&from_host(2, 1), 100), first);
    let second = bench.pass(&from_host(7, 1), 100);
    assert_eq!(bench.pass(&from_host(300, 1), 100), second);
    // Nobody's address: it goes on to the next rule.
    let third = bench.pass(&from_host(600, 1), 100);
    assert!(first != second && second != third);
    assert_eq!((bench.steering.flows(0), bench.steering.flows(1)), (2, 1));
    bench.wait(Span::from_secs(3));
    assert_eq!((bench.steering.flows(0), bench.steering.circuit_leg(0, 0)), (0, None));
    bench.pass(&from_host(3, 1), 100);
    let sent = |circuit| bench.steering.circuit_counters(&bench.switch, 0, circuit).sent.packets;
    assert_eq!([0, 1, 2].map(sent), [3, 2, 0]);
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, 5);
    assert_eq!(bench.steering.overflowed(), 0);
}

/// Circuits are not among the flows whose number is limited.
#[test]
fn circuits_have_flows_however_many_hosts_there_are() {
    let mut bench =
        Bench::new(vec![of_circuits([circuit("a", "0.0.0.1", 80_000)]), each_host(Span::from_secs(1))], 1);
    bench.pass(&from_host(9, 1), 100);
    let shared = bench.pass(&from_host(8, 1), 100);
    assert_ne!(shared, bench.steering.rest().flow.0);
    assert_eq!(bench.pass(&from_host(7, 1), 100), shared);
    let of_circuit = bench.pass(&from_host(1, 1), 100);
    assert!(of_circuit != bench.steering.rest().flow.0 && of_circuit != shared);
}

/// A circuit continues by its name when the list is another one: with its flow, its queue and its
/// counters.
#[test]
fn circuits_go_on_by_their_names() {
    let before = [("a", "0.0.0.1"), ("b", "0.0.0.2"), ("c", "0.0.0.3")];
    let mut bench =
        Bench::new(vec![of_circuits(before.map(|(name, address)| circuit(name, address, 80_000)))], 0);
    let [a, b, c] = [1, 2, 3].map(|host| bench.pass(&from_host(host, 1), 100));
    // A new one in front, `b` with another rate and address, no `a` any more.
    let after =
        [circuit("new", "0.0.0.9", 1000), circuit("b", "0.0.0.5", 160_000), circuit("c", "0.0.0.3", 80_000)];
    let rules = vec![of_circuits(after)];
    let changes = bench.steering.changes(&rules, &[Some(0)], FlowPlan::default(), &mut Vec::new());
    let changed: Vec<_> = changes.iter().map(|(leg, plan)| (leg.flow.0, plan.contract.reserve)).collect();
    assert_eq!(changed, [(b, Some(rate(160_000)))]);
    bench.steering.replan(bench.now, &mut bench.switch, rules, &[Some(0)], FlowPlan::default(), 0);
    let leg = |circuit| bench.steering.circuit_leg(0, circuit).map(|leg| leg.flow.0);
    assert_eq!([0, 1, 2].map(leg), [None, Some(b), Some(c)]);
    let sent = |circuit| bench.steering.circuit_counters(&bench.switch, 0, circuit).sent.packets;
    assert_eq!([0, 1, 2].map(sent), [0, 1, 1]);
    // The rule still counts the packets that `a` has sent.
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, 3);
    assert_eq!(bench.pass(&from_host(5, 1), 100), b);
    assert_eq!(bench.pass(&from_host(1, 1), 100), bench.steering.rest().flow.0);
    // Its place is free again, and its flow somebody else's.
    bench.wait(Span::from_secs(5));
    assert_eq!(bench.pass(&from_host(9, 1), 100), a);
}

proptest! {
    /// Lists that change at random: every circuit counts the packets sent from its addresses under
    /// its name, for as long as it is listed.
    #[test]
    fn what_circuits_have_sent_stays_theirs(
        steps in prop::collection::vec((prop::collection::vec(0u32..12, 0..8), prop::collection::vec(0u32..12, 0..20)), 1..8),
    ) {
        let list = |names: &[u32]| {
            let mut names = names.to_vec();
            let mut met = std::collections::BTreeSet::new();
            names.retain(|name| met.insert(*name));
            of_circuits(names.iter().map(|name| circuit(&format!("c{name}"), &format!("0.0.0.{name}"), 80_000 + u64::from(*name))))
        };
        let mut bench = Bench::new(vec![list(&[])], 0);
        let mut sent = std::collections::BTreeMap::<String, u64>::new();
        for (names, hosts) in steps {
            let rule = list(&names);
            let Split::Circuits(circuits) = rule.split.clone() else { unreachable!() };
            bench.steering.replan(bench.now, &mut bench.switch, vec![rule], &[Some(0)], FlowPlan::default(), 0);
            sent.retain(|name, _| names.iter().any(|listed| *name == format!("c{listed}")));
            for host in hosts {
                let leg = bench.pass(&from_host(host, 1), 100);
                if names.contains(&host) {
                    *sent.entry(format!("c{host}")).or_default() += 1;
                    prop_assert_ne!(leg, bench.steering.rest().flow.0);
                } else {
                    prop_assert_eq!(leg, bench.steering.rest().flow.0);
                }
                bench.wait(Span::from_millis(u64::from(host) * 100));
            }
            for number in 0..circuits.len() as u32 {
                let counted = bench.steering.circuit_counters(&bench.switch, 0, number).sent.packets;
                prop_assert_eq!(counted, sent.get(circuits.name(number)).copied().unwrap_or(0));
            }
            bench.switch.audit(bench.now).unwrap();
        }
    }
}

/// The flow that hosts share beyond the limit continues with its rule, under the new rule's terms,
/// and ends with it.
#[test]
fn the_shared_flow_follows_its_rule() {
    let limited = |bits: u64, most: usize| {
        let contract = Contract { reserve: Some(rate(bits)), ..Contract::default() };
        let plan = FlowPlan { contract, ..FlowPlan::default() };
        Rule { plan, beyond: Beyond { most, plan }, ..each_host(Span::from_secs(1)) }
    };
    let mut bench = Bench::new(vec![limited(80_000, 1)], 100);
    let own = bench.pass(&from_host(1, 1), 100);
    let shared = bench.pass(&from_host(2, 1), 100);
    assert!(own != shared && bench.pass(&from_host(3, 1), 100) == shared);
    let wanted = vec![limited(160_000, 2)];
    let changes = bench.steering.changes(&wanted, &[Some(0)], FlowPlan::default(), &mut Vec::new());
    let changed: Vec<_> = changes.iter().map(|(leg, plan)| (leg.flow.0, plan.contract.reserve)).collect();
    assert_eq!(changed, [(shared, Some(rate(160_000))), (own, Some(rate(160_000)))]);
    bench.steering.replan(bench.now, &mut bench.switch, wanted, &[Some(0)], FlowPlan::default(), 100);
    let second = bench.pass(&from_host(2, 1), 100);
    assert!(second != shared && second != own);
    assert_eq!(bench.pass(&from_host(3, 1), 100), shared);
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, 5);
    bench.steering.replan(bench.now, &mut bench.switch, Vec::new(), &[], FlowPlan::default(), 100);
    bench.wait(Span::from_secs(5));
    assert_eq!(bench.pass(&from_host(3, 1), 100), bench.steering.rest().flow.0);
    bench.switch.audit(bench.now).unwrap();
}
