//! Zhang 1991, section 4.1.1: with rates a thousand times as high and times a thousandth,
//! utilisation and queues stay the same, and delays become a thousandth. Here exactly: the same
//! packets in the same order at every link, under the paper's traffic.

mod common;

use common::{add, chain, rate};
use std::sync::Arc;
use tidegate_core::meter::MeterKind;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::Span;
use tidegate_sim::input::TraceFlow;
use tidegate_sim::network::Network;
use tidegate_sim::source::{Emission, Gap, Traffic};

const FASTER: u64 = 1000;
const PACKET: u32 = 250;
const SECONDS: u64 = 120;

/// Packet trains of 10 packets a second, as times that can be divided.
fn trains(name: &str, faster: u64) -> Traffic {
    let gap = Gap::AtRate(rate(40_000));
    let sizes = Arc::new([PACKET]);
    let mut emission =
        Emission::new(Traffic::Trains { rate: rate(20_000), length: 5.0, gap, sizes }, Rng::named(1, name));
    let (mut at, mut packets) = (0, Vec::new());
    while at < Span::from_secs(SECONDS).ticks() {
        let (gap, len) = emission.next_packet().unwrap();
        at += gap.ticks().next_multiple_of(FASTER);
        packets.push((Span::from_ticks(at / faster), len));
    }
    let flow = TraceFlow { name: name.into(), packets, period: Span::ZERO, headers: None };
    Traffic::Recorded { flow: Arc::new(flow), speed: 1.0, repeat: 1 }
}

/// One direction of Test One: an access link in front of three links, 18 flows on each of these, a
/// fifth of them without an envelope and at twice the rate.
fn network(faster: u64) -> Network {
    let span = |milliseconds: u64| Span::from_ticks(Span::from_millis(milliseconds).ticks() / faster);
    let mut network = chain(4, 400_000 * faster, span(5), "virtual-clock", span(SECONDS * 1000));
    network.links[0].rate = rate(10_000_000 * faster);
    network.links[0].delay = span(1);
    for (ix, node) in network.nodes.iter_mut().enumerate() {
        node.buffer = (ix > 0).then_some(Limit::Packets(60));
    }
    let monitor = MeterKind::named("flow-monitor").unwrap();
    network.links[1..].iter_mut().for_each(|link| link.port.meters = vec![monitor.clone()]);
    for ix in 0..36 {
        let route = [0..2, 0..3, 0..4, 2..4, 3..4][ix % 5].clone();
        let name = format!("train {ix}");
        add(&mut network, route.clone(), Some(20_000 * faster), trains(&name, faster));
        let flow = network.flows.last_mut().unwrap();
        flow.plans.iter_mut().for_each(|plan| plan.contract.interval = Some(span(1200)));
        if route.start == 0 && ix % 7 > 0 {
            flow.envelope = Some(ShaperPlan {
                rate: rate(20_000 * faster),
                burst: 12 * PACKET,
                peak: None,
                queue: Some(Limit::Packets(20)),
                excess: Excess::Wait,
                calendar: None,
            });
        }
    }
    network
}

#[test]
fn a_thousand_times_the_rates_in_a_thousandth_of_the_time_is_the_same() {
    let (slow, fast) = (common::run(&network(1), 1), common::run(&network(FASTER), 1));
    assert_eq!(slow.packet_hops(), fast.packet_hops());
    for link in 0..4 {
        let (slow, fast) = (slow.link(link), fast.link(link));
        assert_eq!(
            slow.stats.unwrap().seen,
            fast.stats.unwrap().seen,
            "the queue's histogram at link {link}"
        );
        assert_eq!((slow.sent, slow.dropped), (fast.sent, fast.dropped));
    }
    let busy = slow.link(1).sent.0;
    assert!(busy > 50 * SECONDS && slow.link(1).stats.unwrap().seen.count() > 8000, "{busy}");
    for (ix, (one, other)) in slow.records().iter().zip(fast.records()).enumerate() {
        assert_eq!((one.sent, one.received, one.dropped), (other.sent, other.received, other.dropped));
        // Each packet's delay is a thousandth, to the tick.
        assert_eq!(one.delay.sum_ticks(), other.delay.sum_ticks() * u128::from(FASTER), "flow {ix}");
        assert_eq!(one.queueing.max().map(Span::ticks), other.queueing.max().map(|max| max.ticks() * FASTER));
        assert_eq!(slow.checks(ix), fast.checks(ix));
    }
    let warned: u64 = (0..36).map(|flow| slow.checks(flow).warnings).sum();
    assert!(warned > 10 && slow.records().iter().any(|record| record.dropped > 0), "{warned}");
}
