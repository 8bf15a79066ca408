//! VirtualClock with a bound on the lead: its promises, against adversaries, and the order of
//! service against the definition.

mod common;

use common::{World, pick, rate, reserved, rounds};
use std::collections::VecDeque;
use tidegate_core::packet::Leg;
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::virtual_clock::VirtualClockParams;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::units::{Rate, Span, Time};

/// Half a tick a packet, over the packets of a test.
const ROUNDING: Span = Span::from_ticks(100_000);

fn bounded(lead: Span) -> SchedulerKind {
    let params = VirtualClockParams { lead: Some(lead), ..VirtualClockParams::example() };
    SchedulerKind::BuiltIn(BuiltInScheduler::VirtualClock(params))
}

/// A packet that is queued.
struct Queued {
    body: u32,
    len: u32,
    arrived: Time,
    /// Stamp without a bound on the lead.
    unbounded: Time,
    /// Time at which the packet became the first of its flow.
    first_since: Option<Time>,
}

/// A flow as the definition has it: the stamp of its first packet, from that of the packet before.
struct Flow {
    leg: Leg,
    reserve: Rate,
    queue: VecDeque<Queued>,
    /// The first packet's stamp; of a flow without packets, the last one's.
    stamp: Time,
    /// auxVC without a bound on the lead.
    unbounded: Time,
}

/// One link, by the scheduler and by the definition.
struct Bench {
    world: World,
    link: Rate,
    lead: Span,
    flows: Vec<Flow>,
    /// Time at which the packet in service is out.
    free_at: Time,
    /// Greatest lateness of packets: after their stamp without a bound on the lead, and after
    /// `lead` and their own service from when they became the first.
    latest: [Span; 2],
}

impl Bench {
    fn new(link: u64, lead: Span, reserves: &[u64]) -> Bench {
        let mut world = World::with(bounded(lead));
        world.audited = false;
        let open = |bits: &u64| Flow {
            leg: world.open(0, &reserved(*bits)),
            reserve: rate(*bits),
            queue: VecDeque::new(),
            stamp: Time::from_ticks(0),
            unbounded: Time::from_ticks(0),
        };
        let flows = reserves.iter().map(open).collect();
        let free_at = world.now;
        Bench { world, link: rate(link), lead, flows, free_at, latest: [Span::ZERO; 2] }
    }

    fn arrive(&mut self, ix: usize, len: u32) {
        let now = self.world.now;
        let flow = &mut self.flows[ix];
        let body = self.world.arrive(&[flow.leg], len);
        flow.unbounded = flow.unbounded.max(now) + flow.reserve.time_for(len);
        let unbounded = flow.unbounded;
        flow.queue.push_back(Queued { body, len, arrived: now, unbounded, first_since: None });
        if flow.queue.len() == 1 {
            self.renew(ix);
        }
    }

    /// The flow has another first packet: its stamp, by the definition.
    fn renew(&mut self, ix: usize) {
        let (now, flow) = (self.world.now, &mut self.flows[ix]);
        if let Some(first) = flow.queue.front_mut() {
            first.first_since = Some(now);
            let from = flow.stamp.max(first.arrived).min(now + self.lead);
            flow.stamp = from + flow.reserve.time_for(first.len);
        }
    }

    /// Runs the link until then.
    fn run(&mut self, until: Time) {
        loop {
            if self.free_at > until {
                break;
            }
            self.world.now = self.world.now.max(self.free_at);
            let waiting = self.flows.iter().filter_map(|flow| {
                let first = flow.queue.front()?;
                Some((flow.stamp, first.body))
            });
            let first = waiting.min_by_key(|(stamp, _)| *stamp);
            let Some(sent) = self.world.start(0) else {
                assert!(first.is_none());
                break;
            };
            let (stamp, _) = first.unwrap();
            let ix = self.flows.iter().position(|flow| flow.leg.flow == sent.flow).unwrap();
            // Among equal stamps, the scheduler takes the packet that came first.
            assert_eq!(self.flows[ix].stamp, stamp);
            let packet = self.flows[ix].queue.pop_front().unwrap();
            assert_eq!(packet.body, sent.body.0);
            self.free_at = self.world.now + self.link.time_for(packet.len);
            self.world.finish(0);
            let own = self.flows[ix].reserve.time_for(packet.len);
            let promised = [packet.unbounded, packet.first_since.unwrap() + self.lead + own];
            for (latest, promised) in self.latest.iter_mut().zip(promised) {
                *latest = self.free_at.since(promised).max(*latest);
            }
            self.renew(ix);
        }
        self.world.now = until;
    }

    /// Greatest allowed lateness: a longest packet, and for each flow the part of its longest
    /// packet's time beyond `lead`.
    fn allowed(&self, longest: &[u32]) -> Span {
        let one = self.link.time_for(*longest.iter().max().unwrap());
        let excess = |(flow, len): (&Flow, &u32)| {
            let beyond = (flow.reserve.time_for(*len)).as_secs_f64() - self.lead.as_secs_f64();
            beyond.max(0.0) * flow.reserve.bits_per_second() / self.link.bits_per_second()
        };
        let more: f64 = self.flows.iter().zip(longest).map(excess).sum();
        one + Span::from_secs_f64(more) + ROUNDING
    }
}

/// Flows that flood, pause, burst and keep their rates, whose reservations fill the link; with
/// leads from none to longer than any packet takes.
#[test]
fn bounds_hold_whatever_the_others_do() {
    let mut closest: [f64; 2] = [0.0; 2];
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "lead");
        let link = 1_000_000;
        let reserves: &[u64] = pick(
            &mut rng,
            &[
                &[500_000, 500_000],
                &[900_000, 50_000, 50_000],
                &[20_000, 480_000, 480_000, 20_000],
                &[250_000, 250_000, 100_000, 100_000, 100_000, 100_000, 100_000],
            ],
        );
        let longest: Vec<u32> = reserves.iter().map(|_| pick(&mut rng, &[100, 500, 1500])).collect();
        // The longest that a packet takes at its flow's rate is 600 ms.
        let lead = Span::from_millis(pick(&mut rng, &[0, 1, 20, 100, 600]));
        let mut bench = Bench::new(link, lead, reserves);
        let mut paces: Vec<u64> = vec![1; reserves.len()];
        for step in 0..4000 {
            if step % 200 == 0 {
                // Alone at the link's rate, above it, at the reservation, or silent.
                paces = reserves.iter().map(|_| pick(&mut rng, &[0, 0, 1, 2, 3])).collect();
            }
            for (ix, pace) in paces.iter().enumerate() {
                let keeps = bench.flows[ix].unbounded <= bench.world.now;
                let count = match pace {
                    1 if keeps => 1,
                    2 => u64::from(bench.flows[ix].queue.len() < 40) * rng.below(3),
                    3 if rng.chance(0.01) => 40,
                    _ => 0,
                };
                for _ in 0..count {
                    let len = if rng.chance(0.7) { longest[ix] } else { 40 };
                    bench.arrive(ix, len);
                }
            }
            let until = bench.world.now + Span::from_micros(rng.below(20_000));
            bench.run(until);
        }
        let allowed = bench.allowed(&longest);
        for (closest, latest) in closest.iter_mut().zip(bench.latest) {
            assert!(
                latest <= allowed,
                "seed {seed}, {lead:?}: {latest:?} later than promised, {allowed:?} allowed"
            );
            *closest = closest.max(latest.as_secs_f64() / allowed.as_secs_f64());
        }
    }
    // The workloads come close to the bounds.
    assert!(closest.iter().all(|closest| *closest > 0.5), "{closest:?}");
}

/// A flow that has had the link for itself waits, once others keep it busy: for minutes without a
/// bound, and with one for `lead` and its own service.
#[test]
fn a_past_alone_is_paid_for_no_longer_than_the_lead() {
    let pause = |lead: Span| {
        let mut bench = Bench::new(1_000_000, lead, &[20_000, 20_000]);
        // Each of the two alone, 30 s long, then the other: 1500 bytes take 12 ms.
        let mut pauses = Span::ZERO;
        for (sends, joins) in [(0, None), (0, Some(1))] {
            for _ in 0..2500 {
                if bench.flows[sends].queue.len() < 10 {
                    (0..10).for_each(|_| bench.arrive(sends, 1500));
                }
                if let Some(joins) = joins
                    && bench.flows[joins].queue.len() < 10
                {
                    (0..10).for_each(|_| bench.arrive(joins, 1500));
                }
                let until = bench.world.now + Span::from_millis(12);
                bench.run(until);
                let first = bench.flows[0].queue.front().and_then(|first| first.first_since);
                pauses = pauses.max(bench.world.now.since(first.unwrap_or(bench.world.now)));
            }
        }
        pauses
    };
    // Once the second flow sends too, its clock advances by 600 ms each 12 ms, and catches up
    // sooner than real time.
    assert!(pause(Span::from_secs(100_000)) > Span::from_secs(20));
    let bound = Span::from_millis(250) + Span::from_millis(600) + Span::from_millis(12);
    assert!(pause(Span::from_millis(250)) <= bound);
}

/// The sum of reductions of the stamps of a flow that is never without packets exceeds the range of
/// time.
#[test]
fn stamps_survive_a_backlog_without_end() {
    let lead = Span::from_millis(100);
    let mut bench = Bench::new(1_000_000_000_000, lead, &[1_000, 1_000]);
    // 10⁹ bytes take 8 ms at the link and 8 × 10⁶ s at the reservation: 24 of them are all the time
    // that there is.
    (0..3).for_each(|_| bench.arrive(0, 1_000_000_000));
    for _ in 0..100 {
        bench.arrive(0, 1_000_000_000);
        let until = bench.world.now + Span::from_millis(8);
        bench.run(until);
    }
    // Ahead of the first flow's next packet, and behind it.
    bench.arrive(1, 1_000_000_000);
    bench.arrive(1, 1_100_000_000);
    let until = bench.world.now + Span::from_millis(80);
    bench.run(until);
    assert!(bench.flows.iter().all(|flow| flow.queue.is_empty()));
}
