//! Random networks never exceed the bounds on their delays and backlogs, port by port and end to
//! end, while their flows conform.

mod common;
#[path = "bounds/credit.rs"]
mod credit;
#[path = "common/long.rs"]
mod long;

use common::{add, chain, rate};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::curves::nearest;
use tidegate_core::params::{Limit, NamedPolicy};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::ClassPlan;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};
use tidegate_sim::bounds::{NetworkBounds, bounds};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::input::TraceFlow;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::{PacketEvent, PacketId};
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::world::World;

const LINK: u64 = 1_000_000;

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// A source that keeps its envelope full: it sends all that its bucket allows at once, over and over,
/// at times that several flows share, so that their bursts meet.
fn bursts(rng: &mut Rng, size: u32, burst: u32, bits: u64) -> Traffic {
    let refill = rate(bits).time_for(burst);
    let mut packets = Vec::new();
    let mut at = Span::from_millis(100 * rng.below(4)) + Span::from_micros(pick(rng, &[0, 0, 500, 7_000]));
    while at < Span::from_secs(2) {
        let count = u64::from(burst / size) + rng.below(3);
        (0..count).for_each(|_| packets.push((at, size)));
        at += match rng.below(3) {
            0 => refill,
            1 => Span::from_millis(100 * (1 + rng.below(5))),
            _ => refill + refill,
        };
    }
    packets.sort_unstable();
    let flow = TraceFlow { name: String::new(), packets, period: Span::ZERO, headers: None };
    Traffic::Recorded { flow: Arc::new(flow), speed: 1.0, repeat: 1 }
}

/// A network of up to five nodes, of which each has links to some others; one of `ring` nodes has a
/// cycle of ports.
fn network(rng: &mut Rng, seed: u64) -> Network {
    let schedulers = SchedulerKind::examples();
    let one = &schedulers[seed as usize % schedulers.len()];
    let is_mixed = rng.chance(0.3);
    let is_ring = rng.chance(0.25);
    let hops = 1 + rng.below(4) as usize;
    let mut network = chain(hops, LINK, Span::ZERO, "fifo", Span::from_secs(3));
    for link in &mut network.links {
        let other = &schedulers[rng.below(schedulers.len() as u64) as usize];
        link.port.scheduler = if is_mixed { other.clone() } else { one.clone() };
        link.rate = rate(pick(rng, &[LINK, LINK, 2 * LINK]));
        link.port.rate = Some(link.rate);
        link.port.ceiling = rng.chance(0.15).then(|| rate(LINK * 3 / 4));
        link.delay = Span::from_micros(pick(rng, &[0, 0, 10, 3_000]));
    }
    if is_ring {
        // The last link goes back to the first node.
        network.nodes.pop();
        network.links.last_mut().unwrap().to = 0;
    }
    let flows = 2 + rng.below(6);
    // Together the flows of a port have up to 0.3, 0.6 or 0.9 of a link.
    let share = pick(rng, &[3, 6, 9]) * LINK / 10 / flows;
    // A third of the networks have ceilings.
    let mut held = Rng::named(seed, "ceilings");
    let has_ceilings = held.chance(0.3);
    for _ in 0..flows {
        let first = rng.below(hops as u64) as usize;
        let longest = if is_ring { hops } else { hops - first };
        let passed = 1 + rng.below(longest as u64) as usize;
        let route: Vec<usize> = (0..passed).map(|hop| (first + hop) % hops).collect();
        let bits = pick(rng, &[share, share / 2, share / 7]).max(8_000);
        let size = pick(rng, &[100, 400, 1_000, 1_500]);
        let burst = size * (1 + rng.below(5) as u32);
        let is_cbr = rng.chance(0.2);
        let traffic = match is_cbr {
            true => Traffic::Cbr { rate: rate(bits), sizes: Arc::new([size, size / 2]) },
            false => bursts(rng, size, burst, bits),
        };
        add(&mut network, 0..passed, rng.chance(0.9).then_some(bits), traffic);
        let peak = rng.chance(0.3).then(|| rate(bits * 2));
        let deadline = Span::from_millis(pick(rng, &[20, 60, 200]));
        let (priority, states) = (rng.below(3) as u8, rng.chance(0.8));
        let ceiling = (has_ceilings && held.chance(0.4)).then(|| rate(bits * pick(&mut held, &[1, 2, 5])));
        let flow = network.flows.last_mut().unwrap();
        flow.route = route;
        for plan in &mut flow.plans {
            plan.contract.priority = priority;
            plan.contract.deadline = states.then_some(deadline);
            plan.ceiling = ceiling;
        }
        if !is_cbr {
            let plain = ShaperPlan {
                rate: rate(bits),
                burst,
                peak,
                queue: None,
                excess: Excess::Wait,
                calendar: None,
            };
            flow.envelope = Some(plain);
        }
    }
    network
}

/// A network with classes at the ports, in which the schedulers are: up to three, and one in another.
/// Above them are the schedulers that guarantee classes something.
fn network_with_classes(rng: &mut Rng, seed: u64) -> Network {
    let mut network = network(rng, seed);
    let count = 1 + rng.below(3) as u16;
    let is_nested = count > 1 && rng.chance(0.5);
    let mut held = Rng::named(seed, "ceilings of classes");
    let mut terms = || {
        let (priority, reserve) = (rng.below(3) as u8, LINK / 10 * pick(rng, &[1, 2, 4]));
        (priority, reserve, held.chance(0.15).then(|| rate(reserve * pick(&mut held, &[1, 2]))))
    };
    let terms: Vec<(u8, u64, Option<Rate>)> = (0..count).map(|_| terms()).collect();
    network.classes = (0..count).map(|class| format!("c{class}")).collect();
    for link in &mut network.links {
        let inner = link.port.scheduler.clone();
        let mut above = || SchedulerKind::named(pick(&mut *rng, &["strict-priority", "wf2q-plus"])).unwrap();
        link.port.ceiling = None;
        link.port.scheduler = above();
        link.port.classes = terms
            .iter()
            .enumerate()
            .map(|(class, (priority, reserve, ceiling))| {
                let is_outer = is_nested && class == 0;
                let mut plan = ClassPlan::new(if is_outer { above() } else { inner.clone() });
                plan.parent = (is_nested && class == 1).then_some(0);
                plan.contract.priority = *priority;
                plan.contract.reserve = Some(rate(*reserve));
                plan.ceiling = *ceiling;
                plan
            })
            .collect();
    }
    for flow in &mut network.flows {
        // Some flows are beside the classes.
        let class = Some(rng.below(u64::from(count) + 1) as u16).filter(|class| *class < count);
        flow.plans.iter_mut().for_each(|plan| plan.class = class);
    }
    network
}

/// Delays and backlogs that were measured, as shares of their bounds.
#[derive(Default)]
struct Shares {
    delay: f64,
    hop: f64,
    backlog: f64,
    bounded: u32,
}

/// Runs a network and compares it with its bounds.
fn compare(network: &Network, seed: u64) -> Result<Shares, String> {
    compare_with(network, &bounds(network), seed).map(|(shares, _)| shares)
}

/// Runs a network and compares it with these bounds.
fn compare_with(
    network: &Network,
    found: &NetworkBounds,
    seed: u64,
) -> Result<(Shares, World<Calendar>), String> {
    let mut world: World<Calendar> = World::new(network, seed, &Probes { log: true, ..Probes::default() })
        .map_err(|why| format!("{why}"))?;
    while !world.advance(1_000_000) {}
    let mut shares = Shares {
        bounded: found.flows.iter().filter(|bound| bound.is_ok()).count() as u32,
        ..Shares::default()
    };
    // Rates are exact in a bound, and transmission times whole ticks: half a tick for each packet
    // of all, however long a port has been busy.
    let slack = world.packet_hops() as f64 / TICKS_PER_SECOND as f64;
    let mut joined: BTreeMap<(PacketId, u32), Time> = BTreeMap::new();
    let mut lens: BTreeMap<PacketId, u32> = BTreeMap::new();
    let mut left: BTreeMap<PacketId, Time> = BTreeMap::new();
    let mut here = vec![0u64; network.links.len()];
    let compare = |what: &str, took: f64, bound: f64, share: &mut f64| {
        *share = share.max(took / bound);
        match took <= bound + slack {
            true => Ok(()),
            false => Err(format!("{what} {took} of {bound}")),
        }
    };
    for entry in world.log() {
        let link = entry.link as usize;
        let port = &network.links[link].name;
        let mut joins = None;
        match entry.what {
            PacketEvent::Arrived { packet, len } => {
                lens.insert(packet, len);
                let flow = &network.flows[packet.flow as usize];
                joins = (flow.envelope.is_none() || flow.route[0] != link).then_some(packet);
            }
            PacketEvent::Released(packet) => joins = Some(packet),
            PacketEvent::Departed(packet) => {
                here[link] -= u64::from(lens[&packet]);
                let flow = &network.flows[packet.flow as usize];
                if let Ok(bound) = &found.flows[packet.flow as usize] {
                    let hop = flow.route.iter().position(|at| *at == link).unwrap();
                    let took = entry.at.since(joined[&(packet, entry.link)]).as_secs_f64();
                    let what = format!("{} at {port}, {}", flow.name, bound.hops[hop].source);
                    compare(&what, took, nearest(&bound.hops[hop].delay), &mut shares.hop)?;
                }
            }
            PacketEvent::Received(packet) => {
                if let Ok(bound) = &found.flows[packet.flow as usize] {
                    let took = entry.at.since(left[&packet]).as_secs_f64();
                    let what = format!("{} ({})", network.flows[packet.flow as usize].name, bound.method);
                    compare(&what, took, nearest(&bound.delay), &mut shares.delay)?;
                }
            }
            _ => {}
        }
        if let Some(packet) = joins {
            joined.insert((packet, entry.link), entry.at);
            left.entry(packet).or_insert(entry.at);
            here[link] += u64::from(lens[&packet]);
            let bound = found.ports[link].as_ref().map_or(f64::INFINITY, nearest);
            compare(&format!("{port} holds"), here[link] as f64, bound, &mut shares.backlog)?;
        }
    }
    Ok((shares, world))
}

#[test]
fn no_random_network_exceeds_its_bounds() {
    // As many of each scheduler, however many there are.
    let few = if long::is_long() { 5_000 } else { 30 * tidegate_core::scheduler::RECORDS.len() as u64 };
    let mut by_scheduler: BTreeMap<&str, (u32, u32, f64, f64, f64)> = BTreeMap::new();
    // No bound is so far away that nothing could exceed it. Those of TDM, which wait for a frame, are
    // met least.
    let are_met = |(_, bounded, delay, hop, backlog): &(u32, u32, f64, f64, f64)| {
        *bounded > 0 && *delay > 0.4 && *hop > 0.5 && *backlog > 0.3
    };
    let (mut refused, mut drawn) = (0, 0);
    // Where one is not met yet, more are drawn.
    for seed in 0..4 * few {
        if seed >= few && by_scheduler.values().all(are_met) {
            break;
        }
        drawn += 1;
        let mut rng = Rng::named(seed, "bounds");
        let network = network(&mut rng, seed);
        let shares = match compare(&network, seed) {
            Ok(shares) => shares,
            Err(why) if why.contains(" of ") && !why.contains("slot") => panic!("seed {seed}: {why}"),
            Err(_) => {
                refused += 1;
                continue;
            }
        };
        let kind = network.links[0].port.scheduler.record().name;
        let all = by_scheduler.entry(kind).or_default();
        *all = (
            all.0 + 1,
            all.1 + shares.bounded,
            all.2.max(shares.delay),
            all.3.max(shares.hop),
            all.4.max(shares.backlog),
        );
    }
    for (kind, found) in &by_scheduler {
        let (networks, bounded, delay, hop, backlog) = found;
        println!("{kind}: {networks} networks, {bounded} flows; {delay:.3} {hop:.3} {backlog:.3}");
        assert!(are_met(found), "{kind}");
    }
    assert!(refused < drawn / 10, "{refused}");
}

#[test]
fn no_random_network_with_classes_exceeds_its_bounds() {
    let (mut most, mut bounded, mut none) = (Shares::default(), 0, 0);
    for seed in 0..if long::is_long() { 5_000 } else { 200 } {
        let mut rng = Rng::named(seed, "bounds in classes");
        let network = network_with_classes(&mut rng, seed);
        let shares = match compare(&network, seed) {
            Ok(shares) => shares,
            Err(why) if why.contains(" of ") && !why.contains("slot") => panic!("seed {seed}: {why}"),
            Err(_) => continue,
        };
        bounded += shares.bounded;
        none += network.flows.len() as u32 - shares.bounded;
        most.delay = most.delay.max(shares.delay);
        most.hop = most.hop.max(shares.hop);
        most.backlog = most.backlog.max(shares.backlog);
    }
    println!("{bounded} flows, {none} without; {:.3} {:.3} {:.3}", most.delay, most.hop, most.backlog);
    assert!(bounded > 400 && most.delay > 0.5 && most.hop > 0.7 && most.backlog > 0.3, "{bounded}");
}

/// A pool of the size of its bound loses nothing, and without bounds on its ports none is promised.
#[test]
fn a_buffer_of_the_bound_loses_nothing_and_a_smaller_one_voids_it() {
    let mut tried = 0;
    for seed in 0..60 {
        let mut rng = Rng::named(seed, "buffer");
        let mut network = network(&mut rng, seed);
        // Packets that wait in an envelope take memory, too.
        for flow in &mut network.flows {
            flow.envelope = flow.envelope.map(|envelope| ShaperPlan { excess: Excess::Drop, ..envelope });
        }
        let needed: Option<Vec<f64>> =
            bounds(&network).ports.iter().map(|port| port.as_ref().map(nearest)).collect();
        let Some(needed) = needed else { continue };
        for (node, plan) in network.nodes.iter_mut().enumerate() {
            let own = network.links.iter().zip(&needed).filter(|(link, _)| link.from == node);
            plan.buffer = Some(Limit::Bytes(own.map(|(_, bytes)| bytes.ceil() as u64).sum::<u64>().max(1)));
        }
        let Ok(mut world) = World::<Calendar>::new(&network, seed, &Probes::default()) else { continue };
        while !world.advance(1_000_000) {}
        assert!(world.records().iter().all(|record| record.dropped == 0), "seed {seed}");
        assert!(bounds(&network).flows.iter().all(Result::is_ok), "seed {seed}");
        tried += 1;
        let first = network.links[0].from;
        network.nodes[first].buffer = Some(Limit::Bytes(needed[0] as u64 / 2));
        let passes = |flow: &tidegate_sim::network::FlowSetup| {
            flow.route.iter().any(|link| network.links[*link].from == first)
        };
        for (flow, bound) in network.flows.iter().zip(bounds(&network).flows) {
            assert!(!passes(flow) || bound.is_err(), "seed {seed}");
        }
    }
    assert!(tried > 20, "{tried}");
}

/// When the link falls idle, nobody is ahead any more: a flow under SFQ that has kept its share of the
/// link, which is five times its reservation, waits for one packet of the other.
#[test]
fn under_sfq_a_flow_has_its_share_and_not_only_its_weight() {
    let mut network = chain(1, LINK, Span::ZERO, "sfq", Span::from_secs(1));
    network.links[0].port.rate = Some(rate(LINK));
    let at = |packets: Vec<(Span, u32)>| Traffic::Recorded {
        flow: Arc::new(TraceFlow { name: String::new(), packets, period: Span::ZERO, headers: None }),
        speed: 1.0,
        repeat: 1,
    };
    // The burst is handled first.
    add(&mut network, 0..1, Some(100_000), at(vec![(Span::from_millis(16), 100); 10]));
    add(&mut network, 0..1, Some(100_000), at(vec![(Span::ZERO, 1_000), (Span::from_millis(16), 1_000)]));
    let world = common::run(&network, 1);
    let worst = world.records()[1].delay.max().unwrap();
    let bound = nearest(&bounds(&network).flows[1].as_ref().unwrap().delay);
    assert_eq!(worst, Span::from_micros(8_800));
    assert!(worst.as_secs_f64() <= bound, "{worst:?} of {bound}");
}

/// The link is idle before a flow that has kept its rate sends its next packet, just after those of others
/// that begin again: it waits for one packet of each.
#[test]
fn under_sfq_a_flow_that_kept_its_rate_waits_for_a_packet_of_each_other() {
    let mut network = chain(1, LINK, Span::ZERO, "sfq", Span::from_secs(1));
    network.links[0].port.rate = Some(rate(LINK));
    let at = |packets: Vec<(Span, u32)>| Traffic::Recorded {
        flow: Arc::new(TraceFlow { name: String::new(), packets, period: Span::ZERO, headers: None }),
        speed: 1.0,
        repeat: 1,
    };
    let own_time = Span::from_millis(80);
    // In an instant, the first flow comes first.
    add(&mut network, 0..1, None, at(vec![(Span::ZERO, 100)]));
    add(&mut network, 0..1, Some(445_000), at(vec![(own_time, 1_000); 10]));
    add(&mut network, 0..1, Some(445_000), at(vec![(own_time, 1_000); 10]));
    add(&mut network, 0..1, Some(100_000), at(vec![(Span::ZERO, 1_000), (own_time, 1_000)]));
    let world = common::run(&network, 1);
    let worst = world.records()[3].delay.max().unwrap();
    let bound = nearest(&bounds(&network).flows[3].as_ref().unwrap().delay);
    assert_eq!(worst, Span::from_millis(24));
    // Its own time at its rate, less what it takes at the link, and a packet of each other flow.
    assert!(worst.as_secs_f64() <= bound && bound < 0.080_1, "{bound}");
}
