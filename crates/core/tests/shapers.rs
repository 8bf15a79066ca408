//! Shapers: packets leave as a bucket of tokens allows, as early as it allows, in the order of
//! arrival; packets beyond the limit of the queue are dropped.

mod common;

use common::{World, kind, pick, rate, rounds};
use std::collections::BTreeMap;
use tidegate_core::context::{Effect, Reason};
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, PushOut, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// A bucket that is filled tick by tick, at a rate of whole ticks a byte: it counts in ticks.
struct Bucket {
    ticks_per_byte: i128,
    burst: i128,
    tokens: i128,
    seen: Time,
    queue: Vec<(u32, u32)>,
    limit: Option<Limit>,
}

impl Bucket {
    fn new(ticks_per_byte: u64, burst: u32, limit: Option<Limit>) -> Bucket {
        let burst = i128::from(burst) * i128::from(ticks_per_byte);
        let ticks_per_byte = i128::from(ticks_per_byte);
        Bucket { ticks_per_byte, burst, tokens: burst, seen: Time::ORIGIN, queue: Vec::new(), limit }
    }

    fn fill(&mut self, now: Time) {
        self.tokens = (self.tokens + i128::from(now.since(self.seen).ticks())).min(self.burst);
        self.seen = now;
    }

    /// A packet larger than the bucket needs a full one.
    fn needs(&self, len: u32) -> i128 {
        (i128::from(len) * self.ticks_per_byte).min(self.burst)
    }

    /// Takes the tokens of bytes that are sent beside its packets.
    fn charge(&mut self, now: Time, len: u32) {
        self.fill(now);
        self.tokens -= i128::from(len) * self.ticks_per_byte;
    }

    /// Releases the packets that may leave by now.
    fn release(&mut self, now: Time) -> Vec<u32> {
        let mut gone = Vec::new();
        while let Some((body, len)) = self.queue.first().copied() {
            let (tokens, since) = (self.tokens, i128::from(now.since(self.seen).ticks()));
            if (tokens + since).min(self.burst) < self.needs(len) {
                break;
            }
            self.fill(now);
            self.tokens -= i128::from(len) * self.ticks_per_byte;
            self.queue.remove(0);
            gone.push(body);
        }
        gone
    }

    /// Time at which the first in the queue may leave.
    fn next(&self) -> Option<Time> {
        let (_, len) = self.queue.first()?;
        let missing = (self.needs(*len) - self.tokens).max(0);
        Some(self.seen + Span::from_ticks(u64::try_from(missing).unwrap()))
    }

    /// Returns true if there is room for a packet that has to wait.
    fn admits(&self, len: u32) -> bool {
        let bytes: u64 = self.queue.iter().map(|(_, len)| u64::from(*len)).sum();
        let packets = self.queue.len() as u64 + 1;
        self.limit.is_none_or(|limit| limit.admits(packets, bytes + u64::from(len)))
    }
}

fn shaped(ticks_per_byte: u64, burst: u32, queue: Option<Limit>) -> FlowPlan {
    let rate = rate(800_000_000_000 / ticks_per_byte);
    FlowPlan {
        shaper: Some(ShaperPlan { rate, burst, peak: None, queue, excess: Excess::Wait, calendar: None }),
        ..FlowPlan::default()
    }
}

/// The latest wake-up that was asked for.
fn wake(world: &mut World) -> Option<Time> {
    world.wakes().last().copied()
}

/// Sends all packets that may go now on a link that takes no time.
fn send_all(world: &mut World) -> Vec<u32> {
    std::iter::from_fn(|| world.send(0)).map(|packet| packet.body.0).collect()
}

#[test]
fn packets_leave_when_the_tokens_are_there_and_not_before() {
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "shapers");
        let mut world = World::with(kind("fifo"));
        let mut flows: Vec<(Leg, Bucket)> = (0..1 + rng.below(4))
            .map(|_| {
                // 8 Mbit/s, 80 Mbit/s and 800 kbit/s; bursts below and above the largest packet.
                let ticks = pick(&mut rng, &[100_000, 10_000, 1_000_000]);
                let burst = pick(&mut rng, &[1, 500, 1500, 4000]);
                let limit = pick(&mut rng, &[None, Some(Limit::Packets(3)), Some(Limit::Bytes(4000))]);
                (world.open(0, &shaped(ticks, burst, limit)), Bucket::new(ticks, burst, limit))
            })
            .collect();
        let mut wake_at: Option<Time> = None;
        for _ in 0..400 {
            let until = world.now + Span::from_micros(rng.below(5000));
            // Every instant at which one of the buckets lets something go.
            while let Some(next) = flows.iter().filter_map(|(_, bucket)| bucket.next()).min()
                && next <= until
            {
                assert!(wake_at.is_some_and(|at| at <= next), "nobody asked to be woken by {next:?}");
                world.now = next;
                world.out.clear();
                world.timer(0);
                wake_at = wake(&mut world);
                let expected: Vec<u32> =
                    flows.iter_mut().flat_map(|(_, bucket)| bucket.release(next)).collect();
                let mut sent = send_all(&mut world);
                sent.sort();
                let mut sorted = expected.clone();
                sorted.sort();
                assert_eq!(sent, sorted, "seed {seed} at {next:?}");
            }
            world.now = until;
            let ix = rng.below(flows.len() as u64) as usize;
            let len = pick(&mut rng, &[40, 500, 1500, 3000]);
            let (leg, bucket) = &mut flows[ix];
            let body = world.arrive(&[*leg], len);
            bucket.queue.push((body, len));
            let gone = bucket.release(until);
            assert_eq!(send_all(&mut world), gone);
            let mut dropped = Vec::new();
            if gone.is_empty() {
                bucket.queue.pop();
                if bucket.admits(len) {
                    bucket.queue.push((body, len));
                } else {
                    dropped.push(body);
                }
            }
            wake_at = wake(&mut world).or(wake_at);
            let reported: Vec<u32> = world
                .dropped()
                .iter()
                .map(|(body, reason, _)| {
                    assert_eq!(*reason, Reason::Shaper);
                    *body
                })
                .collect();
            assert_eq!(reported, dropped, "seed {seed}");
            if rng.chance(0.2) {
                let (leg, bucket) = &mut flows[ix];
                let beside = pick(&mut rng, &[40, 1500]);
                world.switch.charge_shaper(until, *leg, beside);
                bucket.charge(until, beside);
            }
        }
    }
}

/// A flow that always has packets gets its burst and then its rate, to the packet.
#[test]
fn a_backlogged_flow_gets_its_burst_and_its_rate() {
    let mut world = World::with(kind("fifo"));
    let leg = world.open(0, &shaped(33_333, 4000, None));
    world.audited = false;
    let mut rng = Rng::named(1, "backlogged");
    (0..2000).for_each(|_| _ = world.arrive(&[leg], pick(&mut rng, &[40, 576, 1500])));
    let mut bytes = 0;
    let end = Time::ORIGIN + Span::from_millis(200);
    loop {
        while let Some(packet) = world.send(0) {
            bytes += u64::from(packet.len);
        }
        let allowed = 4000 + world.now.since(Time::ORIGIN).ticks() / 33_333;
        assert!(bytes <= allowed + 1 && bytes + 1500 > allowed, "{bytes} of {allowed} at {:?}", world.now);
        let Some(at) = wake(&mut world).filter(|at| *at <= end) else { break };
        world.now = world.now.max(at);
        world.out.clear();
        world.timer(0);
    }
    assert!(world.now > Time::ORIGIN + Span::from_millis(190));
}

/// The pool counts packets that wait in shapers; when it is exhausted, packets in the queues go
/// first, and nothing breaks whatever the order of events.
#[test]
fn shaped_flows_share_an_exhausted_pool() {
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "exhausted");
        let limit = Limit::Packets(1 + rng.below(12));
        let ports = vec![PortPlan::new(kind("virtual-clock")), PortPlan::new(kind("fifo"))];
        let mut world = World::new(&SwitchPlan { ports, buffer: Some(limit), ..SwitchPlan::default() });
        let legs: Vec<Leg> = (0..6)
            .map(|ix| {
                let queue = pick(&mut rng, &[None, Some(Limit::Packets(3))]);
                let plan = if ix % 3 == 0 { FlowPlan::default() } else { shaped(100_000, 1500, queue) };
                world.open(ix % 2, &plan)
            })
            .collect();
        let mut last: BTreeMap<Leg, u32> = BTreeMap::new();
        let (mut arrived, mut left) = (0, 0);
        let count = |world: &mut World, left: &mut u64| {
            *left += world.dropped().len() as u64;
            let pool = world.switch.pool();
            assert!(limit.admits(pool.packets, pool.bytes), "{pool:?}, {limit:?}");
        };
        for step in 0..800 {
            let port = rng.below(2) as u16;
            match rng.below(10) {
                0..5 if step < 600 => {
                    let leg = pick(&mut rng, &legs);
                    let other = pick(&mut rng, &legs);
                    let to = if rng.chance(0.2) && other != leg { vec![leg, other] } else { vec![leg] };
                    arrived += to.len() as u64;
                    world.arrive(&to, 100 + rng.below(1400) as u32);
                }
                5..7 => {
                    if world.switch.is_idle(tidegate_core::packet::PortIx(port)) {
                        world.start(port);
                    } else {
                        let packet = world.finish(port).0;
                        left += 1;
                        let leg = Leg { port: tidegate_core::packet::PortIx(port), flow: packet.flow };
                        assert!(last.insert(leg, packet.body.0) < Some(packet.body.0), "out of order");
                    }
                }
                7..9 => world.wait(Span::from_micros(rng.below(2000))),
                _ => world.timer(port),
            }
            count(&mut world, &mut left);
        }
        for port in [0, 1, 0, 1] {
            world.wait(Span::from_secs(1));
            if !world.switch.is_idle(tidegate_core::packet::PortIx(port)) {
                world.finish(port);
                left += 1;
            }
            // Every call releases the packets that conform by then; a second apart that is one
            // packet at least.
            for _ in 0..20 {
                world.wait(Span::from_millis(2));
                world.timer(port);
                while world.send(port).is_some() {
                    left += 1;
                }
            }
            count(&mut world, &mut left);
        }
        assert_eq!((arrived, world.switch.pool().packets), (left, 0), "seed {seed}");
    }
}

/// Where everything waits in shapers, the flow with most waiting packets pays; by the paper's rule,
/// the flow that has just sent.
#[test]
fn a_pool_full_of_shaped_packets_is_paid_for_by_the_longest_or_the_latest() {
    for push_out in [PushOut::Shares, PushOut::LongestQueue] {
        let plan = SwitchPlan {
            ports: vec![PortPlan::new(kind("fifo"))],
            buffer: Some(Limit::Packets(6)),
            push_out,
            ..SwitchPlan::default()
        };
        let mut world = World::new(&plan);
        let [many, few] = [0; 2].map(|_| world.open(0, &shaped(1_000_000, 500, None)));
        // The first of each passes.
        for leg in [many, few] {
            world.arrive(&[leg], 500);
            world.send(0);
        }
        let waiting = [many, many, many, many, few, few].map(|leg| world.arrive(&[leg], 500));
        assert!(world.dropped().is_empty());
        let more = world.arrive(&[few], 500);
        let goes = if push_out == PushOut::Shares { waiting[3] } else { more };
        assert_eq!(world.dropped().iter().map(|(body, ..)| *body).collect::<Vec<_>>(), [goes]);
    }
}

/// Without its shaper a flow's packets go at once, those that waited first.
#[test]
fn a_shaper_that_is_taken_away_reorders_nothing() {
    let mut world = World::with(kind("fifo"));
    let leg = world.open(0, &shaped(1_000_000, 500, None));
    let waiting: Vec<u32> = (0..4).map(|_| world.arrive(&[leg], 500)).collect();
    let plan = SwitchPlan { ports: vec![PortPlan::new(kind("fifo"))], buffer: None, ..SwitchPlan::default() };
    world.reconfigure(&plan, &[(leg, FlowPlan::default())]);
    let due = wake(&mut world).unwrap();
    assert!(due <= world.now);
    // Another packet comes before the timer does.
    let next = world.arrive(&[leg], 500);
    world.timer(0);
    assert_eq!(send_all(&mut world), [waiting, vec![next]].concat());
    assert!(world.out.iter().all(|effect| matches!(effect, Effect::Wake { .. })));
}
