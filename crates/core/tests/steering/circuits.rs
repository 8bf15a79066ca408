//! A flow for each circuit.

use crate::common::headers::from_host;
use crate::common::{kind, rate};
use crate::{Bench, each_host};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tidegate_core::classifier::circuits::{Circuit, CircuitTerms, Circuits};
use tidegate_core::classifier::matching::Match;
use tidegate_core::headers::Headers;
use tidegate_core::packet::{FlowIx, Leg};
use tidegate_core::steering::{Conversations, Rule, Split, StatedHosts};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::Span;

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

fn conversations(hosts: StatedHosts) -> Conversations {
    let scheduler = kind(match hosts {
        StatedHosts::None => "drr++",
        StatedHosts::Inside => "host-drr++",
        StatedHosts::Both => "triple-isolate",
    });
    Conversations { scheduler, dropper: None, hosts }
}

/// A packet from a host to one of two outside, by its port.
fn to_peer(host: u32, port: u16) -> Headers {
    let mut headers = from_host(host, port);
    if let Some(ip) = &mut headers.ip {
        ip.destination = Ipv4Addr::new(198, 51, 100, (port % 2) as u8).into();
    }
    headers
}

fn stated_hosts() -> impl Strategy<Value = StatedHosts> {
    prop_oneof![Just(StatedHosts::None), Just(StatedHosts::Inside), Just(StatedHosts::Both)]
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
    assert_eq!((bench.steering.flows(0), bench.steering.circuit_legs(0, 0).next()), (0, None));
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
    let leg = |circuit| bench.steering.circuit_legs(0, circuit).next().map(|leg| leg.flow.0);
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
    /// Lists that change at random, where circuits have flows and where their conversations have:
    /// every circuit counts the packets sent from its addresses under its name, for as long as it
    /// is listed.
    #[test]
    fn what_circuits_have_sent_stays_theirs(
        steps in prop::collection::vec((prop::collection::vec(0u32..12, 0..8), prop::collection::vec(0u32..12, 0..20)), 1..8),
        within in prop::option::of(stated_hosts()),
        most in 0usize..20,
    ) {
        let within = within.map(|hosts| Arc::new(conversations(hosts)));
        let list = |names: &[u32]| {
            let mut names = names.to_vec();
            let mut met = std::collections::BTreeSet::new();
            names.retain(|name| met.insert(*name));
            let circuits = names.iter().map(|name| circuit(&format!("c{name}"), &format!("0.0.0.{name}"), 80_000 + u64::from(*name)));
            Rule { within: within.clone(), ..of_circuits(circuits) }
        };
        let mut bench = Bench::new(vec![list(&[])], most);
        let mut sent = std::collections::BTreeMap::<String, u64>::new();
        let mut all = 0;
        for (names, hosts) in steps {
            let rule = list(&names);
            let Split::Circuits(circuits) = rule.split.clone() else { unreachable!() };
            bench.replan(vec![rule], most);
            sent.retain(|name, _| names.iter().any(|listed| *name == format!("c{listed}")));
            for host in hosts {
                let leg = bench.pass(&from_host(host, (host % 3) as u16), 100);
                if names.contains(&host) {
                    *sent.entry(format!("c{host}")).or_default() += 1;
                    all += 1;
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
            prop_assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, all);
            bench.switch.audit(bench.now).unwrap();
        }
    }
}

proptest! {
    /// Lists that change at random: two conversations state the same host if they have the same
    /// address inside, the same peer if they have the same address outside, and belong to one circuit
    /// only if their circuits are the same. Without being asked for it, they state none.
    #[test]
    fn conversations_state_their_hosts(
        steps in prop::collection::vec((any::<[bool; 3]>(), stated_hosts(), prop::collection::vec((0u32..12, 0u16..3), 0..20)), 1..8),
        waits in prop::collection::vec(prop_oneof![Just(0u64), Just(3_000)], 8),
    ) {
        let list = |names: [bool; 3], stated| {
            let listed = (0..3).filter(|name| names[*name as usize]);
            let circuits = listed.map(|name| circuit(&format!("c{name}"), &format!("0.0.0.{}/30", 4 * name), 80_000 + name));
            Rule { within: Some(Arc::new(conversations(stated))), ..of_circuits(circuits) }
        };
        let mut bench = Bench::new(vec![list([false; 3], StatedHosts::Inside)], 1_000);
        // The flow of each host and port.
        let mut open = BTreeMap::<(u32, u16), u32>::new();
        let mut before = StatedHosts::Inside;
        for ((names, hosts, packets), wait) in steps.into_iter().zip(waits) {
            bench.replan(vec![list(names, hosts)], 1_000);
            open.retain(|(host, _), _| names[*host as usize / 4] && hosts == before);
            before = hosts;
            for (host, port) in packets.into_iter().filter(|(host, _)| names[*host as usize / 4]) {
                let leg = bench.pass(&to_peer(host, port), 100);
                prop_assert_eq!(*open.entry((host, port)).or_insert(leg), leg);
            }
            let stated = |flow: &u32| {
                let plan = bench.switch.plan_of(Leg { flow: FlowIx(*flow), ..bench.steering.rest() }).unwrap();
                (plan.class, plan.contract.host, plan.contract.peer)
            };
            let (inside, outside) = (hosts != StatedHosts::None, hosts == StatedHosts::Both);
            for ((host, port), flow) in &open {
                prop_assert_eq!(stated(flow).1.is_some(), inside);
                prop_assert_eq!(stated(flow).2.is_some(), outside);
                for ((other, port_of_other), flow_of_other) in &open {
                    let (own, others) = (stated(flow), stated(flow_of_other));
                    prop_assert_eq!(own.0 == others.0, host / 4 == other / 4);
                    prop_assert_eq!(own.1 == others.1, host == other || !inside);
                    let same_peer = host / 4 == other / 4 && port % 2 == port_of_other % 2;
                    prop_assert_eq!(own.2 == others.2, same_peer || !outside);
                }
            }
            bench.switch.audit(bench.now).unwrap();
            if wait > 0 {
                bench.wait(Span::from_millis(wait));
                open.clear();
            }
        }
        bench.wait(Span::from_secs(5));
        prop_assert_eq!(bench.steering.flows(0), 0);
    }
}
