//! Links that add to packets: their ports count the bytes that the link takes, and everything else
//! counts the packets' own.

mod common;

use common::{add, chain, rate, run};
use proptest::prelude::*;
use std::sync::Arc;
use tidegate_core::link::Framing;
use tidegate_core::params::Limit;
use tidegate_core::scheduler::{RECORDS, SchedulerKind};
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::input::TraceFlow;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::world::World;

fn recorded(packets: &[(u64, u32)]) -> Traffic {
    let packets = packets.iter().map(|(at, size)| (Span::from_micros(*at), *size)).collect();
    let flow = TraceFlow { name: String::new(), packets, period: Span::ZERO, headers: None };
    Traffic::Recorded { flow: Arc::new(flow), speed: 1.0, repeat: 1 }
}

/// A bridged LLC frame over ATM, a short Ethernet frame on the wire, a tunnel, and a link that
/// carries packets without their Ethernet headers.
fn framing() -> impl Strategy<Value = Framing> {
    prop::sample::select(vec![(40, 0, true), (24, 84, false), (66, 0, false), (-14, 0, false), (0, 0, true)])
        .prop_map(|(overhead, mpu, atm)| Framing::new(overhead, mpu, atm).unwrap())
}

/// Times in microseconds and sizes.
fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let size = prop_oneof![Just(40u32), Just(1500), 20u32..1600];
    prop::collection::vec((0u64..3000, size), 1..150).prop_map(|gaps| {
        let times = gaps.iter().scan(0, |at, (gap, _)| {
            *at += gap;
            Some(*at)
        });
        times.zip(&gaps).map(|(at, (_, size))| (at, *size)).collect()
    })
}

/// The schedulers that need no parameter.
fn schedulers() -> Vec<&'static str> {
    let names = RECORDS.iter().map(|record| record.name);
    names.filter(|name| SchedulerKind::named(name).is_some()).collect()
}

/// Several flows over links of 4 Mbit/s with this framing.
fn shared(scheduler: &str, limit: Option<Limit>, framing: Framing, flows: &[Vec<(u64, u32)>]) -> Network {
    let mut network = chain(2, 4_000_000, Span::from_millis(1), scheduler, Span::from_secs(2));
    for link in &mut network.links {
        link.framing = framing;
    }
    for node in &mut network.nodes {
        node.buffer = limit;
    }
    for packets in flows {
        add(&mut network, 0..2, Some(1_000_000), recorded(packets));
    }
    network
}

proptest! {
    /// Packets on links with overhead leave, are dropped and wait as packets of the charged lengths
    /// do on links without it, under every scheduler; a fingerprint has the time, the place and the
    /// outcome of each packet.
    #[test]
    fn packets_take_the_time_of_their_charged_lengths(
        framing in framing(),
        flows in prop::collection::vec(packets(), 1..4),
        limit in prop::sample::select(vec![None, Some(Limit::Bytes(9000)), Some(Limit::Packets(20))]),
        scheduler in prop::sample::select(schedulers()),
    ) {
        let charged: Vec<Vec<(u64, u32)>> = flows
            .iter()
            .map(|flow| flow.iter().map(|(at, size)| (*at, framing.charge(*size))).collect())
            .collect();
        let framed = shared(scheduler, limit, framing, &flows);
        let longer = shared(scheduler, limit, Framing::NONE, &charged);
        let [framed, longer] = [announce(framed, framing), longer].map(|network| run_of(&network));
        let (Some(framed), Some(longer)) = (framed, longer) else { return Ok(()) };
        prop_assert_eq!(framed.fingerprint(), longer.fingerprint(), "{}", scheduler);
        for (ix, flow) in flows.iter().enumerate() {
            let record = framed.records()[ix];
            let sent: u64 = flow.iter().map(|(_, size)| u64::from(*size)).sum();
            prop_assert_eq!(record.sent.1, sent);
            prop_assert_eq!(record.received.0 + record.dropped, flow.len() as u64);
            if record.dropped == 0 {
                // Receivers count the packets' own bytes.
                prop_assert_eq!(record.received.1, sent);
            }
            prop_assert_eq!(record.delay.sum_ticks(), longer.records()[ix].delay.sum_ticks());
        }
        prop_assert_eq!(framed.link(0).sent, longer.link(0).sent);
    }

    /// Behind links with overhead of its own each, a packet has its own length again: the delays are
    /// those of a row of queues, as two lines of arithmetic have them.
    #[test]
    fn each_link_charges_by_itself(
        framings in prop::collection::vec(framing(), 4),
        packets in packets(),
    ) {
        let mut network = chain(5, 4_000_000, Span::ZERO, "fifo", Span::from_secs(5));
        for (link, framing) in network.links[1..].iter_mut().zip(&framings) {
            link.framing = *framing;
        }
        add(&mut network, 0..5, None, recorded(&packets));
        let world = run(&network, 1);
        let (mut free, mut delays) = ([Time::ORIGIN; 5], 0);
        for (at, size) in &packets {
            let born = Time::ORIGIN + Span::from_micros(*at);
            let mut now = born;
            for (hop, free) in free.iter_mut().enumerate() {
                let len = if hop == 0 { *size } else { framings[hop - 1].charge(*size) };
                now = now.max(*free) + rate(4_000_000).time_for(len);
                *free = now;
            }
            delays += u128::from(now.since(born).ticks());
        }
        let record = world.records()[0];
        let bytes: u64 = packets.iter().map(|(_, size)| u64::from(*size)).sum();
        prop_assert_eq!(record.received, (packets.len() as u64, bytes));
        prop_assert_eq!(record.delay.sum_ticks(), delays);
    }
}

/// Announces to ports the sizes that they see.
fn announce(mut network: Network, framing: Framing) -> Network {
    for flow in &mut network.flows {
        let mut terms = (*flow.shared).clone();
        for plan in &mut terms.plans {
            plan.sizes = plan.sizes.map(|sizes| sizes.charged(framing));
        }
        flow.shared = Arc::new(terms);
    }
    network
}

/// Runs a network whose schedulers accept these flows.
fn run_of(network: &Network) -> Option<World<Calendar>> {
    let mut world = World::new(network, 1, &Probes::default()).ok()?;
    while !world.advance(1_000_000) {}
    Some(world)
}

/// A source that learns of drops learns the packet's own length: it goes on after the time that its
/// packet takes, and not after that of the charged one.
#[test]
fn a_greedy_source_goes_on_behind_overhead() {
    let mut network = chain(1, 8_000_000, Span::ZERO, "fifo", Span::from_secs(1));
    network.links[0].framing = Framing::new(24, 84, false).unwrap();
    add(&mut network, 0..1, None, Traffic::Greedy { window: 4, sizes: Arc::new([976]) });
    let world = run(&network, 1);
    // 1000 bytes at 8 Mbit/s: one a millisecond, and the last one is out as the run ends.
    assert_eq!(world.records()[0].received, (1000, 976_000));
    assert_eq!(world.link(0).sent, (1000, 1_000_000));
}
