//! Promises of the shared pool under any flood: packets that may be sent keep 3/4 of a port's part,
//! and a port keeps its share. Under Zhang's push-out neither holds, which is asserted too: the
//! adversaries are effective.

mod common;

use common::lines::{Lines, held, measure};
use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::context::Reason;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::stats::Count;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PacketSizes, PortPlan, PushOut, SwitchPlan};
use tidegate_core::units::{Span, Time};

const SCHEDULERS: [&str; 8] =
    ["fifo", "strict-priority", "virtual-clock", "fifo-plus", "round-robin", "drr", "edf", "jitter-edd"];
const LARGEST: u32 = 1500;
const LINK: u64 = 10_000_000;

/// Reason for which a flood may not be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    Held,
    Absent,
    ForItsCeiling,
    ForItsClass,
    InItsShaper,
}

const ALL: [Waits; 5] =
    [Waits::Held, Waits::Absent, Waits::ForItsCeiling, Waits::ForItsClass, Waits::InItsShaper];

fn contract(rng: &mut Rng) -> Contract {
    let reserve = pick(rng, &[None, Some(100_000), Some(2_000_000)]);
    Contract { reserve: reserve.map(rate), priority: rng.below(3) as u8, ..Contract::default() }
}

fn flood(lines: &mut Lines, rng: &mut Rng, waits: Waits) -> Leg {
    let slow = rate(pick(rng, &[10_000, 200_000, 3_000_000]));
    let mut plan = FlowPlan { contract: contract(rng), ..FlowPlan::default() };
    match waits {
        Waits::ForItsCeiling => plan.ceiling = Some(slow),
        Waits::ForItsClass => plan.class = Some(0),
        Waits::InItsShaper => {
            // So slow that one packet leaves it while the others' are sent.
            plan.shaper = Some(ShaperPlan {
                rate: rate(pick(rng, &[10_000, 200_000])),
                burst: LARGEST,
                peak: None,
                queue: None,
                excess: Excess::Wait,
                calendar: None,
            });
        }
        Waits::Held | Waits::Absent => {}
    }
    let leg = lines.world.open(0, &plan);
    match waits {
        Waits::Held => lines.world.take_part(leg, Participation::Held),
        Waits::Absent => lines.world.take_part(leg, Participation::Absent),
        _ => {}
    }
    leg
}

/// Floods that may not be sent, beside flows that may and stay within 3/4 of the pool. Returns the
/// losses of the flows and of the floods.
fn beside_floods(seed: u64, waits: &[Waits], push_out: PushOut) -> (usize, usize) {
    let mut rng = Rng::named(seed, "beside floods");
    let (packets, bytes) = (20 + rng.below(60), 30_000 + rng.below(60_000));
    let limit = pick(&mut rng, &[Limit::Packets(packets), Limit::Bytes(bytes)]);
    let class = ClassPlan {
        ceiling: Some(rate(pick(&mut rng, &[10_000, 1_000_000, 4_000_000]))),
        contract: Contract { reserve: Some(rate(1_000_000)), ..Contract::default() },
        ..ClassPlan::new(kind(pick(&mut rng, &SCHEDULERS)))
    };
    let scheduler = kind(pick(&mut rng, &SCHEDULERS));
    let port = PortPlan { classes: vec![class], rate: Some(rate(LINK)), ..PortPlan::new(scheduler) };
    let plan = SwitchPlan { ports: vec![port], buffer: Some(limit), push_out, ..SwitchPlan::default() };
    let mut lines = Lines::new(World::new(&plan), &[rate(LINK)]);
    let floods: Vec<Leg> = waits.iter().map(|waits| flood(&mut lines, &mut rng, *waits)).collect();
    let sound: Vec<Leg> = (0..3)
        .map(|_| lines.world.open(0, &FlowPlan { contract: contract(&mut rng), ..FlowPlan::default() }))
        .collect();
    // The first packet of a flood with a ceiling may be sent, and one may be in service.
    let aside = Count { packets: 1, bytes: u64::from(LARGEST) };
    let (Limit::Packets(pool) | Limit::Bytes(pool)) = limit;
    let theirs = pool * 3 / 4 - measure(limit, aside) * (floods.len() as u64 + 1);
    for _ in 0..400 {
        for _ in 0..rng.below(12) {
            let flood = rng.below(floods.len() as u64) as usize;
            let shaped = waits[flood] == Waits::InItsShaper;
            let len = if shaped { LARGEST } else { pick(&mut rng, &[40, 1000, LARGEST]) };
            lines.arrive(&[floods[flood]], len);
        }
        for _ in 0..rng.below(6) {
            let len = pick(&mut rng, &[40, 576, LARGEST]);
            let here: u64 = sound.iter().map(|leg| measure(limit, held(&lines, *leg))).sum();
            if here + measure(limit, Count { packets: 1, bytes: u64::from(len) }) <= theirs {
                lines.arrive(&[pick(&mut rng, &sound)], len);
            }
        }
        lines.run(lines.world.now + Span::from_micros(rng.below(5_000)));
    }
    let lost = |of: &[Leg]| {
        let is_of = |flow| of.iter().any(|leg| leg.flow == flow);
        lines.dropped.iter().filter(|(_, packet, _)| is_of(packet.flow)).count()
    };
    (lost(&sound), lost(&floods))
}

#[test]
fn what_may_be_sent_loses_nothing_to_what_waits() {
    let (mut flooded, mut hurt) = (0, [0; ALL.len()]);
    for seed in 0..rounds(3) {
        for (ix, waits) in ALL.into_iter().enumerate() {
            let (lost, pushed_out) = beside_floods(seed, &[waits], PushOut::Shares);
            assert_eq!(lost, 0, "seed {seed}, {waits:?}");
            flooded += usize::from(pushed_out > 0);
            hurt[ix] += usize::from(beside_floods(seed, &[waits], PushOut::LongestQueue).0 > 0);
        }
        let mut rng = Rng::named(seed, "mixed");
        let mixed: Vec<Waits> = (0..3).map(|_| pick(&mut rng, &ALL)).collect();
        assert_eq!(beside_floods(seed, &mixed, PushOut::Shares).0, 0, "seed {seed}, {mixed:?}");
    }
    assert!(flooded as u64 > rounds(3) * 3, "{flooded} floods were pushed out");
    assert!(hurt.iter().all(|hurt| *hurt > 0), "the longest queue: {hurt:?}");
}

/// Packets that wait are not driven out: without others they have the whole pool.
#[test]
fn what_waits_has_what_nobody_else_needs() {
    for waits in ALL {
        let class = ClassPlan { ceiling: Some(rate(10_000)), ..ClassPlan::new(kind("fifo")) };
        let port = PortPlan { classes: vec![class], ..PortPlan::new(kind("fifo")) };
        let plan =
            SwitchPlan { ports: vec![port], buffer: Some(Limit::Packets(50)), ..SwitchPlan::default() };
        let mut lines = Lines::new(World::new(&plan), &[rate(LINK)]);
        let leg = flood(&mut lines, &mut Rng::named(1, "alone"), waits);
        (0..200).for_each(|_| _ = lines.arrive(&[leg], 1000));
        assert_eq!(lines.world.switch.pool().packets, 50, "{waits:?}");
    }
}

/// Ports with floods of all kinds over one pool.
struct Ports {
    lines: Lines,
    limit: Limit,
    /// Reservations of flows without a bucket, in bytes a second.
    reserved: Vec<u64>,
    /// Needs of flows with a bucket: the packets that fit in it, and two more.
    needed: Vec<u64>,
    legs: Vec<Vec<Leg>>,
}

impl Ports {
    fn random(rng: &mut Rng) -> Ports {
        let (packets, bytes) = (8 + rng.below(80), 20_000 + rng.below(80_000));
        let limit = pick(rng, &[Limit::Packets(packets), Limit::Bytes(bytes)]);
        let count = 2 + rng.below(3) as usize;
        let port = |rng: &mut Rng| PortPlan::new(kind(pick(rng, &SCHEDULERS)));
        let ports: Vec<PortPlan> = (0..count).map(|_| port(rng)).collect();
        let rates: Vec<_> = (0..count).map(|_| rate(pick(rng, &[64_000, 1_000_000, LINK]))).collect();
        let plan = SwitchPlan { ports, buffer: Some(limit), ..SwitchPlan::default() };
        let mut lines = Lines::new(World::new(&plan), &rates);
        let (mut legs, mut reserved, mut needed) = (Vec::new(), Vec::new(), Vec::new());
        let buckets = rng.chance(0.5);
        for port in 0..count as u16 {
            let mut at_port = Vec::new();
            let (mut reserves, mut needs) = (0, Count::default());
            for _ in 0..1 + rng.below(3) {
                let mut contract = contract(rng);
                let mut sizes = None;
                let rate_of = contract.reserve.map(|rate| rate.bytes_in_about(Span::from_secs(1)));
                if buckets && rng.chance(0.6) {
                    let bucket = 1 + rng.below(12) as u32;
                    contract.workahead = Some(bucket * LARGEST);
                    sizes = Some(PacketSizes { smallest: LARGEST, largest: LARGEST });
                    (0..bucket + 2).filter(|_| rate_of.is_some()).for_each(|_| needs.add(LARGEST));
                } else {
                    reserves += rate_of.unwrap_or(0);
                }
                let ceiling = pick(rng, &[None, None, Some(rate(20_000))]);
                let plan = FlowPlan { contract, sizes, ceiling, ..FlowPlan::default() };
                at_port.push(lines.world.open(port, &plan));
            }
            legs.push(at_port);
            reserved.push(reserves);
            needed.push(measure(limit, needs));
        }
        Ports { lines, limit, reserved, needed, legs }
    }

    /// Memory that a port may hold without loss for the sake of others: its share, and an equal
    /// part of the memory in no port's share, except for packets in service elsewhere. Its share is
    /// the need of its buckets, as far as the pool covers the needs of all, and its part by rates
    /// of half of the rest.
    fn kept(&self, port: usize) -> f64 {
        let (Limit::Packets(pool) | Limit::Bytes(pool)) = self.limit;
        let pool = pool as f64;
        let all: u64 = self.reserved.iter().sum();
        let needed = self.needed.iter().sum::<u64>() as f64;
        let covered = if needed > pool { pool / needed } else { 1.0 };
        let by_rates = if all > 0 { (pool - covered * needed) / 2.0 } else { 0.0 };
        let of_rates = by_rates * self.reserved[port] as f64 / all.max(1) as f64;
        let share = covered * self.needed[port] as f64 + of_rates;
        let others = self.legs.len() as u64 - 1;
        let in_service = measure(self.limit, Count { packets: others, bytes: others * u64::from(LARGEST) });
        let spare = pool - covered * needed - by_rates - in_service as f64;
        // Packets in service elsewhere stay, even where shares cover the whole pool.
        share + if spare < 0.0 { spare } else { spare / self.legs.len() as f64 }
    }

    fn holds(&self, port: usize) -> u64 {
        self.legs[port].iter().map(|leg| measure(self.limit, held(&self.lines, *leg))).sum()
    }
}

#[test]
fn a_port_within_its_share_loses_nothing() {
    let (mut contended, mut within) = (0, 0);
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "shares");
        let mut ports = Ports::random(&mut rng);
        let mut floods = 0;
        for _ in 0..300 {
            if rng.chance(0.1) {
                floods = rng.below(1 << ports.legs.len());
            }
            let port = rng.below(ports.legs.len() as u64) as usize;
            let burst = if floods >> port & 1 == 1 { rng.below(20) } else { rng.below(2) };
            for _ in 0..burst {
                let leg = pick(&mut rng, &ports.legs[port]);
                let len = pick(&mut rng, &[40, 500, LARGEST]);
                let mut holds: Vec<u64> = (0..ports.legs.len()).map(|port| ports.holds(port)).collect();
                holds[port] += measure(ports.limit, Count { packets: 1, bytes: u64::from(len) });
                let before = ports.lines.dropped.len();
                ports.lines.arrive(&[leg], len);
                for (at, packet, reason) in &ports.lines.dropped[before..] {
                    let at = usize::from(*at);
                    assert_eq!(*reason, Reason::PushedOut);
                    let kept = ports.kept(at);
                    // Parts of a pool that does not cover all are no whole numbers.
                    assert!(
                        holds[at] as f64 >= kept - 1e-6,
                        "seed {seed}: port {at} held {} of {kept}",
                        holds[at]
                    );
                    holds[at] -= measure(ports.limit, Count { packets: 1, bytes: u64::from(packet.len) });
                    contended += 1;
                    within += usize::from(at != port);
                }
            }
            ports.lines.run(ports.lines.world.now + Span::from_micros(rng.below(20_000)));
        }
    }
    assert!(contended > 1000 && within > 100, "{contended} packets went, {within} for another port's");
}

/// A flood on another port: packets' sizes, its reservation, the rate of its link, and the number
/// of its flows.
#[derive(Clone, Copy, Debug)]
struct Adversary {
    len: u32,
    reserve: Option<u64>,
    link: u64,
    flows: usize,
}

/// Flows that keep to a bucket of `burst` packets at port 0, and floods on the others and of
/// datagrams on their own. Returns the number of packets that the flows lost.
fn conforming_beside(seed: u64, adversary: Adversary, push_out: PushOut) -> usize {
    const LEN: u32 = 250;
    let mut rng = Rng::named(seed, "conforming");
    let count = 2 + rng.below(3) as usize;
    let burst = 1 + rng.below(15) as u32;
    let (flows, own) = (3, 1_000_000);
    // Their port keeps the packets that they may have here at once, and a datagram in service.
    let theirs = u64::from(burst + 2) * flows + 1;
    let all = own * flows + adversary.reserve.unwrap_or(0) * (adversary.flows * (count - 1)) as u64;
    let share = own as f64 * flows as f64 / all as f64 / 2.0 + 0.5 / count as f64;
    let packets = (theirs as f64 / share) as u64 + count as u64;
    let largest = u64::from(LEN.max(adversary.len));
    let limit = pick(&mut rng, &[Limit::Packets(packets), Limit::Bytes(packets * largest)]);
    let plan = SwitchPlan {
        ports: vec![PortPlan::new(kind("virtual-clock")); count],
        buffer: Some(limit),
        push_out,
        ..SwitchPlan::default()
    };
    let mut rates = vec![rate(adversary.link); count];
    rates[0] = rate(LINK);
    let mut lines = Lines::new(World::new(&plan), &rates);
    lines.world.audited = false;
    let sound: Vec<Leg> = (0..flows).map(|_| lines.world.open(0, &reserved(own))).collect();
    let mut floods = vec![lines.world.open(0, &FlowPlan::default())];
    for port in 1..count as u16 {
        for _ in 0..adversary.flows {
            let plan = adversary.reserve.map_or_else(FlowPlan::default, reserved);
            floods.push(lines.world.open(port, &plan));
        }
    }
    // The buckets, each as the time at which it is full again.
    let (mut full_at, depth) = (vec![Time::ORIGIN; sound.len()], rate(own).time_for(burst * LEN));
    for _ in 0..300 {
        for _ in 0..rng.below(2 * packets) {
            let flood = pick(&mut rng, &floods);
            lines.arrive(&[flood], if flood.port.0 == 0 { LEN } else { adversary.len });
        }
        for (leg, full_at) in sound.iter().zip(&mut full_at) {
            let now = lines.world.now;
            let time = rate(own).time_for(LEN);
            while rng.chance(0.9) && (*full_at).max(now) + time <= now + depth {
                *full_at = (*full_at).max(now) + time;
                lines.arrive(&[*leg], LEN);
            }
        }
        lines.run(lines.world.now + Span::from_micros(rng.below(20_000)));
    }
    let theirs = |port: u16, flow| sound.iter().any(|leg| (leg.port.0, leg.flow) == (port, flow));
    lines.dropped.iter().filter(|(port, packet, _)| theirs(*port, packet.flow)).count()
}

#[test]
fn a_flow_that_keeps_its_contract_loses_nothing_to_another_ports_flood() {
    let mut hurt = 0;
    for seed in 0..rounds(4) {
        for reserve in [None, Some(10_000), Some(9_000_000)] {
            for (len, link, flows) in
                [(LARGEST, 64_000, 1), (40, 64_000, 1), (LARGEST, 100_000_000, 4), (250, LINK, 20)]
            {
                let adversary = Adversary { len, reserve, link, flows };
                let lost = conforming_beside(seed, adversary, PushOut::Shares);
                assert_eq!(lost, 0, "seed {seed}, {adversary:?}");
                hurt += usize::from(conforming_beside(seed, adversary, PushOut::LongestQueue) > 0);
            }
        }
    }
    assert!(hurt as u64 > rounds(4), "push-out of the longest queue hurt {hurt} times");
}
