//! Promises of a shared pool to flows with buckets: while it covers the memory set aside for them,
//! no flow that keeps its rate and its bucket loses a packet, whatever other ports' floods do. The
//! pool's size is worked out here.

mod common;

use common::lines::Lines;
use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{FlowPlan, PacketSizes, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const LARGEST: u32 = 1500;

/// A flow that keeps its rate and its bucket.
struct Sound {
    port: usize,
    bits: u64,
    bucket: u32,
    sizes: [u32; 2],
    /// Time at which its bucket is full again.
    full_at: Time,
}

impl Sound {
    fn random(rng: &mut Rng, port: usize, bits: u64) -> Sound {
        let sizes = pick(rng, &[[250, 250], [40, 40], [40, 1500], [200, 1000], [1500, 1500]]);
        let bucket = sizes[1] * (1 + rng.below(20) as u32) + rng.below(100) as u32;
        Sound { port, bits, bucket, sizes, full_at: Time::ORIGIN }
    }

    fn plan(&self, sizes_are_known: bool) -> FlowPlan {
        let contract =
            Contract { reserve: Some(rate(self.bits)), workahead: Some(self.bucket), ..Contract::default() };
        let [smallest, largest] = self.sizes;
        let sizes = sizes_are_known.then_some(PacketSizes { smallest, largest });
        FlowPlan { contract, sizes, ..FlowPlan::default() }
    }

    /// Takes a packet out of the bucket, if there are tokens for it.
    fn may_send(&mut self, now: Time, len: u32) -> bool {
        let takes = |bytes| rate(self.bits).time_for(bytes);
        let full_at = self.full_at.max(now) + takes(len);
        let may = full_at <= now + takes(self.bucket);
        if may {
            self.full_at = full_at;
        }
        may
    }

    /// Packets and bytes of the bucket and of two packets.
    fn needs(&self) -> [u64; 2] {
        let bucket = u64::from(self.bucket);
        [bucket / u64::from(self.sizes[0]) + 2, bucket + 2 * u64::from(self.sizes[1])]
    }

    /// Its further need at the port: the arrivals at its rate while the largest packet is sent,
    /// less the packet already counted for that.
    fn beyond(&self, link: u64) -> [f64; 2] {
        let bytes = self.bits as f64 * f64::from(LARGEST) / link as f64;
        let beyond = |in_units: f64, one: f64| (in_units - one).max(0.0);
        [beyond((bytes / f64::from(self.sizes[0])).ceil(), 1.0), beyond(bytes, self.sizes[1].into())]
    }
}

/// Ports over one pool, sound flows at some of them and floods at all.
struct Case {
    links: Vec<u64>,
    sound: Vec<Sound>,
    /// Floods, with their ports.
    floods: Vec<(u16, FlowPlan)>,
    limit: Limit,
}

impl Case {
    fn random(rng: &mut Rng) -> Case {
        let links: Vec<u64> =
            (0..2 + rng.below(3)).map(|_| pick(rng, &[1_000_000, 10_000_000, 100_000_000])).collect();
        let (mut sound, mut floods, mut by_rate) = (Vec::new(), Vec::new(), false);
        for (port, link) in links.iter().enumerate() {
            floods.push((port as u16, FlowPlan::default()));
            if port == 0 || rng.chance(0.4) {
                let flows = 1 + rng.below(3);
                let part = pick(rng, &[1, 10, 95]);
                sound.extend((0..flows).map(|_| Sound::random(rng, port, link * part / 100 / flows)));
            } else if rng.chance(0.7) {
                // Other flows' reservations by rate, however large, take nothing from buckets.
                floods.push((port as u16, reserved(link * pick(rng, &[1, 90]) / 100)));
                by_rate = true;
            }
        }
        // The pool in packets and bytes: the need of all flows, and for every port the largest
        // further need there. Half of the memory in no bucket is shared by rates, where any flow
        // reserves by rate.
        let in_bytes = usize::from(rng.chance(0.5));
        let needed: u64 = sound.iter().map(|flow| flow.needs()[in_bytes]).sum();
        let beyond = links.iter().enumerate().map(|(port, link)| {
            let here = sound.iter().filter(|flow| flow.port == port);
            [1.0, f64::from(LARGEST)][in_bytes] + here.map(|flow| flow.beyond(*link)[in_bytes]).sum::<f64>()
        });
        let most = beyond.fold(0.0, f64::max) * links.len() as f64 * if by_rate { 2.0 } else { 1.0 };
        let size = needed + most.ceil() as u64;
        let limit = if in_bytes == 1 { Limit::Bytes(size) } else { Limit::Packets(size) };
        Case { links, sound, floods, limit }
    }

    /// Number of packets that sound flows lose, and that floods lose.
    fn run(mut self, rng: &mut Rng, sizes_are_known: bool) -> (usize, usize) {
        let plan = SwitchPlan {
            ports: vec![PortPlan::new(kind("virtual-clock")); self.links.len()],
            buffer: Some(self.limit),
            ..SwitchPlan::default()
        };
        let rates: Vec<_> = self.links.iter().map(|link| rate(*link)).collect();
        let mut lines = Lines::new(World::new(&plan), &rates);
        lines.world.audited = false;
        let open = |lines: &mut Lines, port: usize, plan: &FlowPlan| lines.world.open(port as u16, plan);
        let legs: Vec<Leg> =
            self.sound.iter().map(|flow| open(&mut lines, flow.port, &flow.plan(sizes_are_known))).collect();
        let floods: Vec<Leg> =
            self.floods.iter().map(|(port, plan)| open(&mut lines, usize::from(*port), plan)).collect();
        let (Limit::Packets(pool) | Limit::Bytes(pool)) = self.limit;
        let mut arrived = 0;
        for _ in 0..60 {
            // A flood that fills the pool before the bursts, and one that comes between them.
            let flood = pick(rng, &floods);
            let len = pick(rng, &[40, 500, LARGEST]);
            let fills = if matches!(self.limit, Limit::Packets(_)) { pool } else { pool / u64::from(len) };
            for _ in 0..pick(rng, &[0, fills / 3, fills + 1]) {
                lines.arrive(&[flood], len);
                arrived += 1;
            }
            let (together, between) = (rng.chance(0.5), pick(rng, &floods));
            for (leg, flow) in legs.iter().zip(&mut self.sound) {
                let len = pick(rng, &flow.sizes);
                while (together || rng.chance(0.9)) && flow.may_send(lines.world.now, len) {
                    lines.arrive(&[*leg], len);
                    arrived += 1;
                    if rng.chance(0.3) {
                        lines.arrive(&[between], pick(rng, &[40, LARGEST]));
                        arrived += 1;
                    }
                }
            }
            let pause = pick(rng, &[0, 20, 2_000, 60_000]);
            lines.run(lines.world.now + Span::from_micros(rng.below(pause + 1)));
        }
        lines.world.switch.audit(lines.world.now).unwrap();
        lines.drain();
        assert_eq!(lines.sent.len() + lines.dropped.len(), arrived, "each packet is sent or lost");
        assert_eq!(lines.released, arrived as u64);
        let is_sound = |port: u16, flow| legs.iter().any(|leg| (leg.port.0, leg.flow) == (port, flow));
        let lost = lines.dropped.iter().filter(|(port, packet, _)| is_sound(*port, packet.flow)).count();
        (lost, lines.dropped.len() - lost)
    }
}

#[test]
fn a_flow_within_its_rate_and_bucket_loses_nothing_to_another_ports_flood() {
    let (mut flooded, mut hurt_by_rates) = (0, 0);
    for seed in 0..rounds(200) {
        let case = || Case::random(&mut Rng::named(seed, "buckets"));
        let (lost, by_floods) = case().run(&mut Rng::named(seed, "arrivals"), true);
        assert_eq!(lost, 0, "seed {seed}: {:?} for {:?} bit/s", case().limit, case().links);
        flooded += usize::from(by_floods > 100);
        // Shares by rate alone do not cover buckets.
        hurt_by_rates += usize::from(case().run(&mut Rng::named(seed, "arrivals"), false).0 > 0);
    }
    assert!(flooded as u64 > rounds(150) && hurt_by_rates as u64 > rounds(30), "{flooded}, {hurt_by_rates}");
}

/// Where the pool is smaller than the needs of all ports, each gets its part of it: a port that
/// holds less than this loses nothing.
#[test]
fn a_pool_that_is_too_small_is_divided_by_what_ports_need() {
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "too small");
        let needs = [10 + rng.below(40), 10 + rng.below(40)];
        // Less than both needs together, and more than the two packets of each.
        let pool = needs[0].max(needs[1]) + rng.below(needs[0].min(needs[1]));
        let plan = SwitchPlan {
            ports: vec![PortPlan::new(kind("virtual-clock")); 2],
            buffer: Some(Limit::Packets(pool)),
            ..SwitchPlan::default()
        };
        let mut world = World::new(&plan);
        let legs: Vec<Leg> = (0..2u16)
            .map(|port| {
                let bucket = (needs[usize::from(port)] - 2) as u32 * LARGEST;
                let reserve = Some(rate(pick(&mut rng, &[100_000, 9_000_000])));
                let contract = Contract { reserve, workahead: Some(bucket), ..Contract::default() };
                let sizes = Some(PacketSizes { smallest: LARGEST, largest: LARGEST });
                world.open(port, &FlowPlan { contract, sizes, ..FlowPlan::default() })
            })
            .collect();
        // Both ports flood: in the end each holds its part, to a packet.
        for _ in 0..200 {
            world.arrive(&[pick(&mut rng, &legs)], LARGEST);
        }
        for (leg, need) in legs.iter().zip(needs) {
            let part = pool as f64 * need as f64 / (needs[0] + needs[1]) as f64;
            let held = world.switch.backlog(leg.port).packets as f64;
            assert!((held - part).abs() <= 1.0, "seed {seed}: {held} of {part} in {pool}");
        }
    }
}

/// A contract that changes, or ends, changes the share at once, whether it is changed by itself or
/// by a new plan.
#[test]
fn shares_follow_contracts() {
    let plan = SwitchPlan {
        ports: vec![PortPlan::new(kind("virtual-clock")); 2],
        buffer: Some(Limit::Packets(40)),
        ..SwitchPlan::default()
    };
    let sizes = Some(PacketSizes { smallest: 500, largest: 500 });
    let flow = |packets: u32| {
        let contract = Contract {
            reserve: Some(rate(1_000_000)),
            workahead: Some(500 * packets),
            ..Contract::default()
        };
        FlowPlan { contract, sizes, ..FlowPlan::default() }
    };
    let kept = |change: &dyn Fn(&mut World, Leg)| {
        let mut world = World::new(&plan);
        let leg = world.open(0, &flow(4));
        let flood = world.open(1, &FlowPlan::default());
        change(&mut world, leg);
        (0..40).for_each(|_| _ = world.arrive(&[leg], 500));
        (0..200).for_each(|_| _ = world.arrive(&[flood], 500));
        world.switch.backlog(leg.port).packets
    };
    // 6 of 40 places are set aside for 4 packets, and the rest is shared equally.
    assert_eq!(kept(&|_, _| ()), 6 + 17);
    assert_eq!(kept(&|world, leg| _ = world.cx(|s, cx| s.change(cx.now, leg, &flow(18))).unwrap()), 20 + 10);
    assert_eq!(kept(&|world, leg| _ = world.reconfigure(&plan, &[(leg, flow(18))])), 20 + 10);
    let smaller = SwitchPlan { buffer: Some(Limit::Packets(30)), ..plan.clone() };
    assert_eq!(kept(&|world, leg| _ = world.reconfigure(&smaller, &[(leg, flow(18))])), 20 + 5);
    // Without a bucket it reserves by rate: half of the pool, and half of the other half.
    assert_eq!(kept(&|world, leg| _ = world.reconfigure(&plan, &[(leg, reserved(1_000_000))])), 20 + 10);
    // A second flow beside it brings its own, until it ends.
    let second = |ends: bool| {
        kept(&move |world, _| {
            let other = world.open(1, &flow(8));
            if ends {
                world.close(other);
            }
        })
    };
    assert_eq!((second(false), second(true)), (6 + 12, 6 + 17));
}
