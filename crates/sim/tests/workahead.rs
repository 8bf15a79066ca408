//! The exact W of flows along their routes equals the definition applied to the packets that
//! arrived there: against the log of a run, for every stretch of packets.

mod common;
#[path = "common/long.rs"]
mod long;

use common::{add, chain, poisson, rate, run_with};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::context::Reason;
use tidegate_core::link::Loss;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Rate, Span, Time};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::{PacketEvent, PacketId};
use tidegate_sim::probe::Probes;
use tidegate_sim::source::{Gap, Traffic};
use tidegate_sim::world::World;

/// A byte takes 100 000 ticks: the bucket of an envelope is never rounded.
const RESERVED: u64 = 8_000_000;
const TICKS_A_BYTE: u64 = 100_000;

type Seen = Vec<(Time, u32)>;

/// W by its definition: the greatest excess, over all stretches of packets, above the service of
/// the rate since the first.
fn workahead(rate: Rate, packets: &[(Time, u32)]) -> u64 {
    // In 2⁻²⁴ ticks, in which the rate is exact.
    let per_byte = i128::from(rate.time_for(1 << 24).ticks());
    let mut most = 0;
    for (ix, first) in packets.iter().enumerate() {
        let mut bytes = 0;
        for (at, len) in &packets[ix..] {
            bytes += i128::from(*len);
            let served = i128::from(at.since(first.0).ticks()) << 24;
            most = most.max(bytes * per_byte - served);
        }
    }
    u64::try_from((most + per_byte - 1) / per_byte).unwrap()
}

/// Release times of a bucket of whole tokens, full at the start.
fn release_times(plan: &ShaperPlan, arrivals: &Seen) -> Vec<Option<Time>> {
    let full = u64::from(plan.burst) * TICKS_A_BYTE;
    let (mut tokens, mut now) = (full, Time::ORIGIN);
    let release = |(at, len): &(Time, u32)| {
        let need = u64::from(*len) * TICKS_A_BYTE;
        let at = now.max(*at);
        let there = (tokens + at.since(now).ticks()).min(full);
        let left = there.checked_sub(need);
        if left.is_none() && plan.excess == Excess::Mark {
            return Some(at);
        }
        if left.is_none() && plan.excess == Excess::Drop {
            return None;
        }
        now = at + Span::from_ticks(need.saturating_sub(there));
        tokens = left.unwrap_or(0);
        Some(now)
    };
    arrivals.iter().map(release).collect()
}

/// Packets of each flow at each place of its route, by the log of the run.
fn seen(network: &Network, world: &World<Calendar>) -> Vec<Vec<Seen>> {
    let mut lens: BTreeMap<PacketId, u32> = BTreeMap::new();
    let mut came: Vec<Vec<Vec<(PacketId, Time)>>> =
        network.flows.iter().map(|flow| vec![Vec::new(); flow.route.len() + 1]).collect();
    for entry in world.log() {
        let place = |packet: PacketId| {
            let route = &network.flows[packet.flow as usize].route;
            route.iter().position(|link| *link == entry.link as usize).unwrap()
        };
        match entry.what {
            PacketEvent::Arrived { packet, len } => {
                lens.insert(packet, len);
                came[packet.flow as usize][place(packet)].push((packet, entry.at));
            }
            PacketEvent::Received(packet) => {
                came[packet.flow as usize][place(packet) + 1].push((packet, entry.at))
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    for (setup, mut places) in network.flows.iter().zip(came) {
        let mut born: BTreeMap<PacketId, Option<Time>> =
            places[0].iter().map(|(packet, at)| (*packet, Some(*at))).collect();
        if let Some(plan) = &setup.envelope {
            let arrivals = places[0].iter().map(|(packet, at)| (*at, lens[packet])).collect();
            let released = release_times(plan, &arrivals);
            for ((packet, at), released) in places[0].iter_mut().zip(released) {
                // A release after the end of the run does not happen in it.
                let released = released.filter(|at| *at <= Time::ORIGIN + network.duration);
                (*at, *born.get_mut(packet).unwrap()) = (released.unwrap_or(*at), released);
            }
        }
        let counts = |packet: &PacketId| born[packet].is_some_and(|at| at >= Time::ORIGIN + network.warmup);
        all.push(
            places
                .iter()
                .map(|place| {
                    let counted = place.iter().filter(|(packet, _)| counts(packet));
                    counted.map(|(packet, at)| (*at, lens[packet])).collect()
                })
                .collect(),
        );
    }
    all
}

/// A chain with cross traffic, losses, delays, small buffers and envelopes, as drawn.
fn drawn(rng: &mut Rng) -> Network {
    let schedulers = ["fifo", "virtual-clock", "strict-priority"];
    let scheduler = schedulers[rng.below(3) as usize];
    let hops = 1 + rng.below(4) as usize;
    let mut network = chain(hops, 4 * RESERVED, Span::ZERO, scheduler, Span::from_millis(60));
    for link in &mut network.links {
        link.delay = Span::from_micros([0, 0, 300][rng.below(3) as usize]);
        if rng.chance(0.3) {
            link.loss = Loss::new(0.1).unwrap();
        }
    }
    if rng.chance(0.5) {
        network.nodes.iter_mut().for_each(|node| node.buffer = Some(Limit::Packets(12)));
    }
    if rng.chance(0.3) {
        network.warmup = Span::from_millis(15);
    }
    let sizes: Arc<[u32]> = [40, 300, 1500].into();
    let bursts = Traffic::Trains {
        rate: rate(RESERVED),
        length: 6.0,
        gap: Gap::AtRate(rate(5 * RESERVED)),
        sizes: sizes.clone(),
    };
    for _ in 0..3 {
        add(&mut network, 0..hops, Some(RESERVED), bursts.clone());
        if rng.chance(0.6) {
            // From a full buffer also packets that wait for their envelope may go.
            let first = usize::from(network.nodes[0].buffer.is_some());
            let excess =
                [Excess::Wait, Excess::Drop, Excess::Mark][first + rng.below(3 - first as u64) as usize];
            let plan = ShaperPlan {
                rate: rate(RESERVED),
                burst: 4000,
                peak: None,
                queue: None,
                excess,
                calendar: None,
            };
            network.flows.last_mut().unwrap().envelope = Some(plan);
        }
    }
    let first = rng.below(hops as u64) as usize;
    add(&mut network, first..hops, Some(RESERVED), Traffic::Cbr { rate: rate(RESERVED), sizes });
    add(&mut network, first..first + 1, None, poisson(RESERVED, 1000));
    network
}

#[test]
fn w_at_every_place_is_that_of_the_packets_that_came_there() {
    let (mut places, mut grown, mut enveloped, mut discarded, mut lost) = (0, 0, 0, 0, 0);
    let cases = if long::is_long() { 400 } else { 40 };
    for seed in 0..cases {
        let network = drawn(&mut Rng::named(seed, "workahead"));
        let factors = [1.0, 1.02, 3.0];
        let probes = Probes { log: true, workahead: factors.to_vec(), ..Probes::default() };
        let world: World<Calendar> = run_with(&network, seed, &probes);
        let plain: World<Calendar> = run_with(&network, seed, &Probes::default());
        assert_eq!(world.fingerprint(), plain.fingerprint(), "seed {seed}");
        let came = seen(&network, &world);
        for (ix, (flow, came)) in network.flows.iter().zip(&came).enumerate() {
            let rows: Vec<_> = world.workaheads().unwrap().of(ix).collect();
            let Some(reserve) = flow.plans[0].contract.reserve else {
                assert!(rows.is_empty());
                continue;
            };
            assert_eq!(rows.len(), (flow.route.len() + 1) * factors.len());
            let at = |place: usize, factor: f64| {
                let ideal = rate((reserve.bits_per_second() * factor).round() as u64);
                workahead(ideal, &came[place])
            };
            for row in rows {
                let expected = at(row.place, row.factor);
                assert_eq!(row.workahead, expected, "seed {seed}, flow {ix}: {row:?}");
                let ratio = |before: u64| (before > 0).then(|| expected as f64 / before as f64 - 1.0);
                let before = row.place.checked_sub(1).map(|before| at(before, row.factor));
                assert_eq!(row.increase, before.and_then(ratio));
                assert_eq!(row.increase_from_source, before.and_then(|_| ratio(at(0, row.factor))));
                places += 1;
                grown += usize::from(row.increase.is_some_and(|increase| increase > 0.0));
            }
            enveloped += usize::from(flow.envelope.is_some());
        }
        let records = world.records();
        discarded += records.iter().map(|record| record.discarded).sum::<u64>();
        lost += (0..network.links.len()).map(|link| world.link(link).lost).sum::<u64>();
        lost += world
            .log()
            .iter()
            .filter(|entry| matches!(entry.what, PacketEvent::Dropped(_, Reason::PushedOut)))
            .count() as u64;
    }
    // The cases that the test is about occurred.
    assert!(places > 1000 && grown > 100 && enveloped > 20, "{places} {grown} {enveloped}");
    assert!(discarded > 100 && lost > 100, "{discarded} {lost}");
}

/// A copy of a multicast packet counts at the places of its own branch.
#[test]
fn each_branch_of_a_tree_has_its_own_w() {
    // s1 -> s2, from where one branch goes on to s3, and another back to s1.
    let mut network = chain(2, 4 * RESERVED, Span::from_micros(100), "fifo", Span::from_millis(50));
    let mut back = network.links[1].clone();
    (back.name, back.from, back.to) = ("s2->s1".into(), 1, 0);
    network.links.push(back);
    add(&mut network, 0..2, Some(RESERVED), poisson(RESERVED, 500));
    let flow = &mut network.flows[0];
    (flow.route, flow.depths) = (vec![0, 1, 2], vec![1, 2, 2]);
    let first = flow.plans[0];
    flow.plans.push(first);
    // One branch is shared.
    add(&mut network, 1..2, Some(RESERVED), poisson(2 * RESERVED, 1500));
    let probes = Probes { workahead: vec![1.0], ..Probes::default() };
    let world: World<Calendar> = run_with(&network, 3, &probes);
    let rows: Vec<_> = world.workaheads().unwrap().of(0).collect();
    let workaheads: Vec<u64> = rows.iter().map(|row| row.workahead).collect();
    assert_eq!(rows.iter().map(|row| row.depth).collect::<Vec<_>>(), [0, 1, 2, 2]);
    // Nothing else is on the first link and on the way back: packets keep their distance there, or
    // gain it.
    assert!(workaheads[3] <= workaheads[1] && workaheads[1] <= workaheads[0], "{workaheads:?}");
    assert!(workaheads[2] > workaheads[1], "{workaheads:?}");
    let increase = |place: usize| workaheads[place] as f64 / workaheads[1] as f64 - 1.0;
    assert_eq!((rows[2].increase, rows[3].increase), (Some(increase(2)), Some(increase(3))));
}

#[test]
fn a_rate_beyond_all_rates_is_refused() {
    let mut network = chain(1, 4 * RESERVED, Span::ZERO, "fifo", Span::from_millis(5));
    add(&mut network, 0..1, Some(RESERVED), poisson(RESERVED, 500));
    for factor in [1e-9, 1e9, f64::NAN, -1.0] {
        let probes = Probes { workahead: vec![factor], ..Probes::default() };
        let refused = World::<Calendar>::new(&network, 1, &probes).err().unwrap();
        assert!(refused.0.contains("is not a rate"), "{refused}");
    }
}
