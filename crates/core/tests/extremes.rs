//! The ends of the scale: years of simulated time, one bit and ten terabit a second, one byte and
//! 65 535, a million packets, stamps that reach the end of time. Nothing overflows, and the
//! order of the stamps still holds.

mod common;

use common::lines::Lines;
use common::oracle::{Oracle, Rule};
use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

const TWO_YEARS: Span = Span::from_secs(2 * 365 * 86_400);
const FASTEST: u64 = Rate::MAX_BITS_PER_SECOND;

#[test]
fn two_years_of_the_slowest_and_the_fastest_flows() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "years");
        let mut world = World::with(kind("virtual-clock"));
        let mut oracle = Oracle::new(Rule::VirtualClock);
        let legs: Vec<Leg> =
            [Some(1), Some(1), Some(7), Some(64_000), Some(FASTEST), Some(FASTEST), None, None]
                .into_iter()
                .map(|bits| {
                    let contract = Contract { reserve: bits.map(rate), ..Contract::default() };
                    oracle.open(contract);
                    world.open(0, &FlowPlan { contract, ..FlowPlan::default() })
                })
                .collect();
        let mut arrived = 0;
        let end = Time::ORIGIN + TWO_YEARS;
        while world.now < end {
            for _ in 0..rng.below(12) {
                let flow = rng.below(legs.len() as u64) as usize;
                let len = pick(&mut rng, &[1, 40, 1500, 65_535]);
                let body = world.arrive(&[legs[flow]], len);
                arrived += 1;
                oracle.arrive(world.now, flow, body, len, arrived);
            }
            for _ in 0..rng.below(7) {
                let sent = world.send(0).map(|packet| packet.body.0);
                assert_eq!(sent, oracle.start(), "seed {seed}, {:?}", world.now);
            }
            let flow = rng.below(legs.len() as u64) as usize;
            let gate = pick(
                &mut rng,
                &[Participation::Active, Participation::Active, Participation::Held, Participation::Absent],
            );
            world.take_part(legs[flow], gate);
            oracle.take_part(world.now, flow, gate);
            world.wait(Span::from_secs(pick(&mut rng, &[0, 1, 3600, 86_400, 30 * 86_400])));
        }
        for (flow, leg) in legs.iter().enumerate() {
            world.take_part(*leg, Participation::Active);
            oracle.take_part(world.now, flow, Participation::Active);
        }
        while let Some(packet) = world.send(0) {
            assert_eq!(Some(packet.body.0), oracle.start(), "seed {seed} at the end");
        }
    }
}

/// One bit a second reaches the end of time after some three hundred large packets: such a flow
/// still goes before datagrams, first in first out, and is pushed out after them.
#[test]
fn saturated_stamps_stay_ahead_of_datagrams() {
    let mut world = World::with(kind("virtual-clock"));
    world.audited = false;
    let datagram = world.open(0, &FlowPlan::default());
    let slow = world.open(0, &reserved(1));
    let quick = world.open(0, &reserved(FASTEST));
    let mut expected = Vec::new();
    (0..5).for_each(|_| _ = world.arrive(&[datagram], 40));
    (0..2000).for_each(|_| expected.push(world.arrive(&[slow], 65_535)));
    let first: Vec<u32> = (0..3).map(|_| world.arrive(&[quick], 65_535)).collect();
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.body.0).collect();
    assert_eq!(order[..3], first);
    assert_eq!(order[3..2003], expected);
    assert_eq!(order.len(), 2008);
    // Its debt lasts for ever; its index is never free again, and that is not an error.
    world.close(slow);
    world.now = Time::ORIGIN + TWO_YEARS;
    assert_ne!(world.open(0, &reserved(1)), slow);
}

/// Saturated stamps of a flow that was a datagram flow do not count as the datagrams it had.
#[test]
fn saturated_stamps_are_not_taken_for_datagrams() {
    let mut world = World::with(kind("virtual-clock"));
    world.audited = false;
    let slow = world.open(0, &FlowPlan::default());
    // 1500 bytes are 1200 s, the datagram alone would be 320 s.
    let rival = world.open(0, &reserved(10));
    world.arrive(&[slow], 40);
    let plan = SwitchPlan {
        ports: vec![PortPlan::new(kind("virtual-clock"))],
        buffer: None,
        ..SwitchPlan::default()
    };
    world.reconfigure(&plan, &[(slow, reserved(1))]);
    (0..1000).for_each(|_| _ = world.arrive(&[slow], 65_535));
    let debt = world.now;
    // Up to where the slow flow's stamps are at the end of time.
    (0..500).for_each(|_| assert_eq!(world.send(0).unwrap().flow, slow.flow));
    assert_eq!(world.now, debt);
    world.arrive(&[rival], 1500);
    assert_eq!(world.send(0).unwrap().flow, rival.flow);
}

#[test]
fn datagrams_wait_for_every_reservation_and_keep_their_order() {
    let mut world = World::with(kind("virtual-clock"));
    let datagrams = [0; 3].map(|_| world.open(0, &FlowPlan::default()));
    let slow = world.open(0, &reserved(1));
    let bodies: Vec<u32> = (0..9).map(|ix| world.arrive(&[datagrams[ix % 3]], 40)).collect();
    let reserved: Vec<u32> = (0..3).map(|_| world.arrive(&[slow], 65_535)).collect();
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.body.0).collect();
    assert_eq!(order, [reserved, bodies].concat());
}

#[test]
fn a_million_packets_leave_in_the_order_of_their_stamps() {
    for name in ["virtual-clock", "fifo", "strict-priority"] {
        let packets = if name == "virtual-clock" { 1_000_000 } else { rounds(50_000) };
        let mut world = World::with(kind(name));
        world.audited = false;
        let mut rng = Rng::named(1, name);
        let legs: Vec<Leg> = (0..300)
            .map(|flow| {
                let mut plan = reserved(1 + rng.below(FASTEST) / (1 + flow * flow * flow));
                plan.contract.priority = (flow % 8) as u8;
                world.open(0, &plan)
            })
            .collect();
        for _ in 0..packets {
            let leg = pick(&mut rng, &legs);
            world.arrive(&[leg], pick(&mut rng, &[1, 40, 1500, 65_535]));
        }
        assert_eq!(world.switch.pool().packets, packets);
        let mut last = (0, 0);
        let mut sent = 0;
        while let Some(packet) = world.send(0) {
            let level = if name == "strict-priority" { u64::from(packet.flow.0 % 8) } else { 0 };
            assert!(last <= (level, packet.tag), "{name}: {packet:?} after {last:?}");
            last = (level, packet.tag);
            sent += 1;
        }
        assert_eq!((sent, world.switch.pool().packets), (packets, 0));
    }
}

/// Ceilings and buckets at the ends of the scale, to the end of time.
#[test]
fn the_slowest_and_the_fastest_ceilings_and_buckets() {
    for bits in [1, FASTEST] {
        for len in [1, 65_535] {
            let shaper = ShaperPlan {
                rate: rate(bits),
                burst: len,
                peak: None,
                queue: None,
                excess: Excess::Wait,
                calendar: None,
            };
            let plan = FlowPlan { ceiling: Some(rate(bits)), shaper: Some(shaper), ..reserved(bits) };
            let port = PortPlan { ceiling: Some(rate(bits)), ..PortPlan::new(kind("virtual-clock")) };
            let world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
            let mut lines = Lines::new(world, &[rate(FASTEST)]);
            let leg = lines.world.open(0, &plan);
            (0..600).for_each(|_| _ = lines.arrive(&[leg], len));
            lines.run(Time::ORIGIN + TWO_YEARS);
            // 65 535 bytes at one bit a second are six days: 121 such packets in two years, or all.
            let within = TWO_YEARS.ticks().div_ceil(rate(bits).time_for(len).ticks().max(1));
            assert_eq!(lines.sent.len() as u64, within.min(600), "{bits} bit/s, {len} bytes");
        }
    }
}
