//! Links that lose packets, and links with a trace.

mod common;

use common::{add, chain, poisson, rate, run, run_with};
use std::sync::Arc;
use tidegate_core::link::{GilbertElliott, Loss, LossState, Pace, Reordering, Trace, TracedLink};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Rate, Span, Time};
use tidegate_sim::event_queue::{BinaryHeapQueue, Calendar};
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::record::FlowRecord;
use tidegate_sim::results::{Values, tables};
use tidegate_sim::source::{Emission, Traffic};
use tidegate_sim::world::World;

const SECONDS: u64 = if cfg!(debug_assertions) { 20 } else { 200 };

/// One link with this trace.
fn traced(opportunities: &[u32], scheduler: &str) -> Network {
    let mut network = chain(1, 1, Span::ZERO, scheduler, Span::from_secs(SECONDS));
    let trace = Trace::new(opportunities).unwrap();
    network.links[0].rate = Rate::from_bits_per_second(trace.mean_bits_per_second().round() as u64).unwrap();
    network.links[0].pace = Pace::Trace(Arc::new(trace));
    network
}

/// A moody trace of a second.
fn moody() -> Vec<u32> {
    let mut rng = Rng::named(3, "moody");
    let (mut at, mut trace) = (0, Vec::new());
    while at < 1000 {
        trace.extend(std::iter::repeat_n(at, rng.below(4) as usize));
        at += if rng.chance(0.05) { rng.below(60) as u32 } else { 1 };
    }
    trace.push(1000);
    trace
}

/// A column of the table `links`.
fn number(world: &World<Calendar>, network: &Network, column: &str) -> Vec<f64> {
    let tables = tables(network, world, 0, 1);
    let table = tables.iter().find(|table| table.record.name == "links").unwrap();
    match table.column(column).unwrap() {
        Values::Number(values) => values.iter().map(|value| value.unwrap()).collect(),
        other => panic!("{column}: {other:?}"),
    }
}

/// Packets sent arrive or are lost with the stated probability, and nothing changes before the
/// loss.
#[test]
fn losses_come_out_and_change_nothing_before_them() {
    for delay in [Span::ZERO, Span::from_millis(3)] {
        for probability in [0.01, 0.2] {
            let mut network = chain(2, 10_000_000, delay, "fifo", Span::from_secs(SECONDS));
            add(&mut network, 0..2, None, poisson(4_000_000, 500));
            add(&mut network, 1..2, None, poisson(4_000_000, 500));
            let plain = run(&network, 5);
            network.links[0].loss = Loss::new(probability).unwrap();
            let world = run(&network, 5);
            let (before, link) = (plain.link(0), world.link(0));
            assert_eq!((before.sent, before.waited), (link.sent, link.waited));
            let [through, beside] = [0, 1].map(|flow| world.records()[flow]);
            assert_eq!((beside.sent, world.lost(1)), (plain.records()[1].sent, 0));
            assert_eq!((link.lost, through.dropped), (world.lost(0), 0));
            // The difference is in flight or queued.
            let missing = through.sent.0 - through.received.0 - link.lost;
            assert!(missing < 100, "{missing} of {through:?}");
            let (sent, lost) = (link.sent.0 as f64, link.lost as f64);
            let half = 3.29 * (sent * probability * (1.0 - probability)).sqrt();
            assert!((lost - sent * probability).abs() <= half, "{lost} of {sent} at {probability}");
            assert!(world.fingerprint() != plain.fingerprint());
            assert_eq!(world.fingerprint(), run(&network, 5).fingerprint());
        }
    }
}

/// A link loses in bursts as many packets as the core's chain takes of those sent, with the link's
/// random stream, whether it keeps its packets in flight itself or shares them with others of its
/// delay. Other links and what was before the loss are unchanged.
#[test]
fn bursts_of_losses_are_those_of_the_chain() {
    let chain_of = GilbertElliott { to_bad: 0.01, to_good: 0.1, loss_in_good: 0.001, loss_in_bad: 0.7 };
    let loss = Loss::in_bursts(chain_of).unwrap();
    for delay in [Span::ZERO, Span::from_millis(3)] {
        let mut network = chain(2, 10_000_000, delay, "fifo", Span::from_secs(SECONDS));
        add(&mut network, 0..2, None, poisson(4_000_000, 500));
        add(&mut network, 1..2, None, poisson(4_000_000, 500));
        let plain = run(&network, 5);
        network.links[0].loss = loss;
        let world = run(&network, 5);
        let (before, link) = (plain.link(0), world.link(0));
        assert_eq!((before.sent, before.waited), (link.sent, link.waited));
        let (mut rng, mut state) = (Rng::named(5, "link/s1->s2"), LossState::default());
        let lost = (0..link.sent.0).filter(|_| loss.takes(&mut state, &mut rng)).count() as u64;
        assert!(lost > 500, "{lost}");
        assert_eq!((link.lost, world.lost(0), world.lost(1)), (lost, lost, 0));
        assert_eq!(world.records()[1].sent, plain.records()[1].sent);
        assert_eq!(world.fingerprint(), run(&network, 5).fingerprint());
    }
}

/// The stated share of packets arrives later by the stated time; nothing else changes, and nothing
/// is lost.
#[test]
fn reordering_delays_as_many_packets_as_asked_for() {
    for (probability, longer) in [(0.01, 40), (0.3, 2)] {
        let longer = Span::from_millis(longer);
        let mut network = chain(1, 10_000_000, Span::from_millis(3), "fifo", Span::from_secs(SECONDS));
        add(&mut network, 0..1, None, poisson(4_000_000, 500));
        let plain = run(&network, 5);
        network.links[0].reordering = Reordering::new(probability, longer).unwrap();
        let world = run(&network, 5);
        assert_eq!((plain.link(0).sent, plain.link(0).waited), (world.link(0).sent, world.link(0).waited));
        let (before, after) = (plain.records()[0], world.records()[0]);
        assert_eq!((after.dropped, world.lost(0), after.queueing), (0, 0, before.queueing));
        let whole =
            |record: FlowRecord| record.delay.mean().unwrap().as_secs_f64() * record.received.0 as f64;
        let extra = whole(after) - whole(before);
        let (sent, delayed) = (after.sent.0 as f64, extra / longer.as_secs_f64());
        let half = 3.29 * (sent * probability * (1.0 - probability)).sqrt() + 2.0;
        assert!((delayed - sent * probability).abs() <= half, "{delayed} of {sent} at {probability}");
        assert_eq!(world.fingerprint(), run(&network, 5).fingerprint());
    }
}

#[test]
fn a_link_may_lose_everything() {
    let mut network = chain(1, 10_000_000, Span::ZERO, "fifo", Span::from_secs(2));
    network.links[0].loss = Loss::new(1.0).unwrap();
    add(&mut network, 0..1, None, Traffic::Greedy { window: 3, sizes: Arc::new([1250]) });
    let world = run(&network, 1);
    assert_eq!((world.records()[0].received.0, world.lost(0)), (0, 2000));
}

/// A source that always has packets to send gets every byte of every opportunity.
#[test]
fn a_greedy_flow_gets_all_that_a_trace_offers() {
    for sizes in [&[1500][..], &[700], &[40, 1500, 9000]] {
        let mut network = traced(&moody(), "fifo");
        network.warmup = Span::from_millis(700);
        add(&mut network, 0..1, None, Traffic::Greedy { window: 60, sizes: sizes.into() });
        let probes = Probes { sample: Some(Span::from_millis(250)), ..Probes::default() };
        let world: World<Calendar> = run_with(&network, 1, &probes);
        let link = world.link(0);
        let (used, offered) = link.used.unwrap();
        assert_eq!(used, offered);
        // Except for the packet in transmission at either end.
        assert!(link.sent.1.abs_diff(offered) <= 18_000, "{} of {offered}", link.sent.1);
        let capacity = network.links[0].rate.bits_per_second() / 8.0;
        let measured = link.measured.as_secs_f64();
        assert!((offered as f64 / measured / capacity - 1.0).abs() < 0.02);
        let [utilisation] = number(&world, &network, "utilisation")[..] else { panic!() };
        assert_eq!(utilisation, 1.0);
        let series = world.series().unwrap().values(Subject::Link(0), "utilisation");
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        assert!(mean > 0.99 && series.iter().all(|share| (0.99..=1.0).contains(share)), "{mean}");
    }
}

/// A port that wakes up for a flow with an envelope does not disturb the packet in transmission.
#[test]
fn waking_up_delays_nothing() {
    let mut network = traced(&[1], "fifo");
    add(&mut network, 0..1, None, Traffic::Greedy { window: 1, sizes: Arc::new([3000]) });
    add(&mut network, 0..1, None, poisson(400_000, 1500));
    network.flows[1].envelope = Some(ShaperPlan {
        rate: rate(200_000),
        burst: 1500,
        peak: None,
        queue: Some(Limit::Packets(50)),
        excess: Excess::Wait,
        calendar: None,
    });
    let world = run(&network, 6);
    let [bulk, waking] = [0, 1].map(|flow| world.records()[flow]);
    assert!(waking.received.0 > 10 * SECONDS);
    // From one opportunity to the next, always.
    let under_way = bulk.delay.sum_ticks() - bulk.queueing.sum_ticks();
    assert_eq!(under_way, u128::from(bulk.received.0) * u128::from(Span::from_millis(1).ticks()));
}

/// Every packet's delay in the simulator is that of the trace, packet by packet.
#[test]
fn a_queue_before_a_trace_is_the_traces() {
    for (bits, sizes) in [(2_000_000, [300, 1500, 60]), (12_000_000, [1500, 1500, 2800])] {
        let traffic = Traffic::Poisson { rate: rate(bits), sizes: Arc::new(sizes) };
        let mut network = traced(&moody(), "fifo");
        add(&mut network, 0..1, None, traffic.clone());
        let world = run(&network, 9);
        let delays = world.records()[0].delay;
        let mut emission = Emission::new(traffic, Rng::named(9, "flow/f0"));
        let trace = network.links[0].pace.trace().unwrap().clone();
        let mut link = TracedLink::new(trace, Time::ORIGIN);
        let until = Time::ORIGIN + network.duration;
        let (mut at, mut free, mut sum, mut count) = (Time::ORIGIN, Time::ORIGIN, 0u128, 0);
        loop {
            let (gap, len) = emission.next_packet().unwrap();
            at += gap;
            let start = link.opens(free.max(at));
            free = link.departure(start, len);
            if free > until || at > until {
                break;
            }
            count += 1;
            sum += u128::from(free.since(at).ticks());
        }
        assert_eq!((delays.count(), delays.sum_ticks()), (count, sum));
        assert!(count > 5 * SECONDS);
    }
}

/// The packet to serve is chosen when an opportunity comes, not when the one before was used.
#[test]
fn the_urgent_overtake_what_waits_for_an_opportunity() {
    let mut network = traced(&[10], "strict-priority");
    add(&mut network, 0..1, None, Traffic::Greedy { window: 5, sizes: Arc::new([1500]) });
    add(&mut network, 0..1, None, Traffic::Cbr { rate: rate(400_000), sizes: Arc::new([1500]) });
    network.flows[0].plans[0].contract.priority = 5;
    let world = run(&network, 2);
    let (bulk, urgent) = (world.records()[0], world.records()[1]);
    assert!(urgent.received.0 > 30 * SECONDS && bulk.received.0 > 60 * SECONDS);
    assert!(urgent.delay.max().unwrap() <= Span::from_millis(10), "{:?}", urgent.delay.max());
}

/// An opportunity does not release packets that a ceiling holds; nothing spins or stops.
#[test]
fn ceilings_pools_and_losses_go_with_traces() {
    let mut network = traced(&moody(), "virtual-clock");
    network.links[0].loss = Loss::new(0.1).unwrap();
    network.links[0].delay = Span::from_millis(20);
    network.nodes[0].buffer = Some(Limit::Packets(20));
    add(&mut network, 0..1, Some(1_000_000), Traffic::Greedy { window: 4, sizes: Arc::new([1000]) });
    add(&mut network, 0..1, None, poisson(30_000_000, 800));
    network.flows[0].plans[0].ceiling = Some(rate(1_000_000));
    let world = run(&network, 4);
    let held = world.records()[0];
    let bits = held.sent.1 as f64 * 8.0 / SECONDS as f64;
    // Service that the ceiling would have allowed is lost while the trace pauses.
    assert!((0.3e6..1.01e6).contains(&bits), "{bits}");
    for (flow, record) in world.records().iter().enumerate() {
        let missing = record.sent.0 - record.received.0 - record.dropped - world.lost(flow);
        assert!(missing < 200 && world.lost(flow) > 0, "{record:?}");
    }
    let other: World<BinaryHeapQueue> = run_with(&network, 4, &Probes::default());
    assert_eq!(world.fingerprint(), other.fingerprint());
}
