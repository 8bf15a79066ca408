//! A flow for each host.

use crate::common::headers::from_host;
use crate::{Bench, each_host};
use tidegate_core::classifier::matching::Match;
use tidegate_core::headers::{Headers, Ip};
use tidegate_core::steering::{Rule, Split};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::Span;

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
