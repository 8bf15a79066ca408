//! FIFO+: the order of expected arrivals, the value carried, and two hops.

mod common;

use common::lines::Lines;
use common::twins::{Line, Model, Twins, Waiting};
use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

/// All packets with their expected arrivals, and all waiting times so far.
#[derive(Default)]
struct FifoPlus {
    line: Line,
    expected: Vec<(u32, i128)>,
    waits: Vec<i128>,
}

fn ticks(at: Time) -> i128 {
    at.ticks().into()
}

impl FifoPlus {
    fn expected(&self, body: u32) -> i128 {
        self.expected.iter().find(|(other, _)| *other == body).unwrap().1
    }
}

impl Model for FifoPlus {
    fn line(&mut self) -> &mut Line {
        &mut self.line
    }
    fn arrived(&mut self, waiting: Waiting) {
        let own = (ticks(waiting.arrived) - i128::from(waiting.carry)).clamp(0, u64::MAX.into());
        let before = self.line.of(waiting.flow).filter(|other| other.body < waiting.body);
        let latest = before.map(|other| self.expected(other.body)).max().unwrap_or(0);
        self.expected.push((waiting.body, own.max(latest)));
    }
    fn takes_part(&mut self, now: Time, flow: usize, before: Participation) {
        if before == Participation::Absent && self.line.flows[flow].1 != Participation::Absent {
            let own: Vec<Waiting> = self.line.of(flow).copied().collect();
            let Some(head) = own.first() else { return };
            let least = (ticks(now) - i128::from(head.carry)).clamp(0, u64::MAX.into());
            let own =
                self.expected.iter_mut().filter(|(body, _)| own.iter().any(|other| other.body == *body));
            own.for_each(|(_, expected)| *expected = (*expected).max(least));
        }
    }
    fn start(&mut self, now: Time) -> Option<Waiting> {
        let heads = self.line.heads().into_iter();
        let first = heads.min_by_key(|head| (self.expected(head.body), head.body))?;
        let mut sent = self.line.remove(first.body);
        let waited = ticks(now) - ticks(sent.arrived);
        self.waits.push(waited);
        let mean = self.waits.iter().sum::<i128>() / self.waits.len() as i128;
        let carry = i128::from(sent.carry) + waited - mean;
        sent.carry = carry.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some(sent)
    }
    fn rank_to_lose(&mut self, last: Waiting) -> u64 {
        self.expected(last.body) as u64
    }
}

#[test]
fn packets_leave_in_the_order_of_expected_arrival() {
    let mut pushed_out = 0;
    for seed in 0..rounds(20) {
        for (most, gated) in [(None, true), (Some(12), false), (Some(40), true)] {
            let mut rng = Rng::named(seed, "expected");
            let mut twins = Twins::new(kind("fifo-plus"), rate(8_000_000), most, FifoPlus::default());
            // Whole steps of time, so that expected arrivals coincide; now and then the ends of the
            // scale.
            let carry = |rng: &mut Rng| match rng.below(30) {
                0 => pick(rng, &[i64::MIN, i64::MAX, i64::MIN + 1, -(1 << 61)]),
                _ => Span::from_micros(500).ticks() as i64 * (rng.below(41) as i64 - 20),
            };
            let flows = 1 + rng.below(9);
            twins.storm(&mut rng, flows, gated, |_| Contract::default(), carry);
            pushed_out += twins.pushed_out;
        }
    }
    assert!(pushed_out > 500, "{pushed_out}");
}

/// At a first hop there is nothing to put right.
#[test]
fn without_a_hop_before_it_is_fifo() {
    for seed in 0..rounds(10) {
        let order = |name| {
            let mut rng = Rng::named(seed, "first hop");
            let mut world = World::with(kind(name));
            let legs = [0; 5].map(|_| world.open(0, &FlowPlan::default()));
            let mut order = Vec::new();
            for _ in 0..800 {
                match rng.below(9) {
                    0..4 => _ = world.arrive(&[pick(&mut rng, &legs)], 1 + rng.below(9_000) as u32),
                    4..8 => order.extend(world.send(0).map(|packet| packet.body.0)),
                    _ => world.wait(Span::from_micros(rng.below(900))),
                }
            }
            order
        };
        assert_eq!(order("fifo-plus"), order("fifo"), "seed {seed}");
    }
}

/// The values that the packets of a hop carry sum to nothing but the change of the mean meanwhile:
/// packets that all wait alike carry nothing.
#[test]
fn who_waits_as_long_as_all_others_carries_nothing() {
    let mut lines = Lines::new(World::with(kind("fifo-plus")), &[rate(80_000)]);
    let leg = lines.world.open(0, &FlowPlan::default());
    for burst in 0..50u64 {
        lines.run(Time::ORIGIN + Span::from_secs(burst));
        // Two that wait 0 and 10 ms.
        (0..2).for_each(|_| _ = lines.arrive(&[leg], 100));
    }
    lines.drain();
    let half = Span::from_millis(5).ticks() as i64;
    let carried: Vec<i64> = lines.sent.iter().map(|sent| sent.packet.carry).collect();
    let settled = &carried[60..];
    assert!(
        settled
            .chunks(2)
            .all(|pair| (pair[0] + half).abs() < half / 50 && (pair[1] - half).abs() < half / 50)
    );
}

/// Three packets wait 0, 10 and 20 ms at the first hop, on average 0, 5 and 10 ms. At the second,
/// the last of them overtakes a packet that came 5 ms before it, and had not waited anywhere.
#[test]
fn who_has_waited_long_overtakes_at_the_next_hop() {
    let order = |name: &str| {
        let mut hops = [80_000, 20_000].map(|bits| {
            let mut lines = Lines::new(World::with(kind(name)), &[rate(bits)]);
            let legs = [0, 1].map(|_| lines.world.open(0, &FlowPlan::default()));
            (lines, legs)
        });
        let [(first, legs), (second, onwards)] = &mut hops;
        let bodies = [0; 3].map(|_| first.arrive(&[legs[0]], 100));
        first.drain();
        let mut arrivals: Vec<(Time, usize, Packet)> = Vec::new();
        for sent in &first.sent {
            arrivals.push((sent.at + rate(80_000).time_for(100), 0, sent.packet));
        }
        let fresh = Packet::new(BodyId(99), 100);
        arrivals.push((Time::ORIGIN + Span::from_millis(25), 1, fresh));
        arrivals.sort_by_key(|(at, ..)| *at);
        for (at, flow, packet) in arrivals {
            second.run(at);
            second.world.arrive_packet(&[onwards[flow]], packet);
            second.kick();
        }
        second.drain();
        let carried = first.sent.iter().map(|sent| sent.packet.carry).collect::<Vec<_>>();
        (bodies, carried, second.sent.iter().map(|sent| sent.packet.body.0).collect::<Vec<_>>())
    };
    let millis = |millis| Span::from_millis(millis).ticks() as i64;
    let ([a, b, c], carried, served) = order("fifo-plus");
    assert_eq!(carried, [0, millis(5), millis(10)]);
    assert_eq!(served, [a, b, c, 99]);
    let ([a, b, c], carried, served) = order("fifo");
    assert_eq!((carried, served), (vec![0; 3], vec![a, b, 99, c]));
}

/// Years of waiting, and a hundred thousand flows: the sum of all waits is exact.
#[test]
fn the_mean_of_years_of_waiting_is_exact() {
    let mut world = World::with(kind("fifo-plus"));
    world.audited = false;
    let legs: Vec<_> = (0..100_000).map(|_| world.open(0, &FlowPlan::default())).collect();
    legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 1));
    let years = Span::from_secs(2 * 365 * 86_400);
    world.wait(years);
    // All wait as long: nobody carries anything, although the sum has more than 64 bits.
    while let Some(packet) = world.send(0) {
        assert_eq!(packet.carry, 0);
    }
    world.arrive(&[legs[0]], 1);
    let mean = u128::from(years.ticks()) * 100_000 / 100_001;
    assert_eq!(world.send(0).unwrap().carry, -(mean as i64));
}
