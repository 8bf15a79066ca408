//! A packet that finds an idle port may start without a place in the queue; the outcome is the
//! same.

mod common;

use common::plans::{droppers, monitor};
use common::{World, every_scheduler, pick, rate, reserved, rounds};
use std::collections::BTreeSet;
use tidegate_core::meter::MeterKind;
use tidegate_core::meter::flow_monitor::MonitorExcess;
use tidegate_core::packet::{BodyId, Leg, Packet, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::StartOutcome;
use tidegate_core::switch::plan::{DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::Span;

const FLOWS: u64 = 5;
const PORT: PortIx = PortIx(0);

/// Two switches with the same packets. One starts its port after each arrival, the other has
/// packets start at once.
struct Pair {
    after: World,
    at_once: World,
    legs: Vec<Leg>,
    bodies: u32,
    /// Packets that started at once.
    started: u64,
    /// True if packets pass a meter, and a dropper.
    guards: (bool, bool),
}

impl Pair {
    fn new(rng: &mut Rng, scheduler: &SchedulerKind) -> Option<Pair> {
        let buffer = pick(rng, &[None, None, Some(Limit::Packets(3)), Some(Limit::Bytes(2000))]);
        let (meters, dropper) = (meters(rng), dropper(rng));
        let guards = (!meters.is_empty(), dropper.is_some());
        let port =
            PortPlan { meters, dropper, rate: Some(rate(1_000_000)), ..PortPlan::new(scheduler.clone()) };
        let plan = SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() };
        let (mut after, mut at_once) = (World::new(&plan), World::new(&plan));
        for world in [&mut after, &mut at_once] {
            world.switch.report_released(true);
        }
        let mut legs = Vec::new();
        // Under ceilings no packet starts at once.
        let has_ceilings = rng.chance(0.25);
        for flow in 0..FLOWS {
            let mut plan = reserved(80_000);
            match rng.below(8) {
                0 if has_ceilings => plan.ceiling = Some(rate(200_000)),
                1 => plan.shaper = Some(shaper()),
                2 => plan = FlowPlan::default(),
                _ => {}
            }
            // Some schedulers serve flows with a reservation only.
            legs.push(after.try_open(0, &plan).ok()?);
            assert_eq!(at_once.try_open(0, &plan).ok(), legs.last().copied(), "flow {flow}");
        }
        Some(Pair { after, at_once, legs, bodies: 0, started: 0, guards })
    }

    fn arrive(&mut self, flow: usize, len: u32, carry: i64) {
        self.bodies += 1;
        let mut packet = Packet::new(BodyId(self.bodies), len);
        packet.carry = carry;
        let leg = self.legs[flow];
        let ready = self.after.cx(|switch, cx| switch.arrive_for(cx, leg, &mut packet.clone()));
        if ready.should_start() {
            self.after.start(0);
        }
        let outcome = self.at_once.cx(|switch, cx| switch.arrive_and_start(cx, leg, &mut packet, || true));
        self.start_at_once(outcome);
    }

    /// Ends the service, releases the packets due from shapers, and starts the next packet.
    fn turn(&mut self) {
        self.both(|world| {
            if world.switch.in_service(PORT).is_some() {
                world.finish(0);
            }
        });
        self.after.timer(0);
        self.after.start(0);
        let outcome = self.at_once.cx(|switch, cx| switch.timer_and_start(cx, PORT, || true));
        self.start_at_once(outcome);
    }

    fn start_at_once(&mut self, outcome: StartOutcome) {
        match outcome {
            StartOutcome::Started => self.started += 1,
            StartOutcome::Waits(ready) if ready.should_start() => _ = self.at_once.start(0),
            StartOutcome::Waits(_) => {}
        }
    }

    fn both(&mut self, mut act: impl FnMut(&mut World)) {
        act(&mut self.after);
        act(&mut self.at_once);
    }

    fn compare(&mut self, what: &str) {
        let serving = |world: &World| world.switch.in_service(PORT).copied();
        assert_eq!(serving(&self.after), serving(&self.at_once), "{what}");
        assert_eq!(self.after.out, self.at_once.out, "{what}");
        for leg in &self.legs {
            assert_eq!(self.after.switch.counters(*leg), self.at_once.switch.counters(*leg), "{what}");
        }
        let stats = |world: &World| {
            let stats = world.switch.queue_stats(world.now, PORT).unwrap();
            (stats.area(), stats.busy(), stats.longest, stats.seen)
        };
        assert_eq!(stats(&self.after), stats(&self.at_once), "{what}");
        self.both(|world| world.out.clear());
    }
}

/// No meter, or one that reports or refuses packets beyond a reservation.
fn meters(rng: &mut Rng) -> Vec<MeterKind> {
    match rng.below(3) {
        0 => vec![monitor(pick(rng, &[MonitorExcess::Warn, MonitorExcess::Drop]))],
        _ => Vec::new(),
    }
}

/// No dropper, or any, for the queue of the port or of each flow.
fn dropper(rng: &mut Rng) -> Option<DropperPlan> {
    let scope = pick(rng, &[Scope::Node, Scope::Flow]);
    let mut every = droppers();
    let kind = every.swap_remove(rng.below(every.len() as u64) as usize);
    rng.chance(0.4).then_some(DropperPlan { kind, scope, detector: None })
}

/// A shaper that releases one packet at a time: of several, the first would start before the next
/// one finds its flow's queue.
fn shaper() -> ShaperPlan {
    ShaperPlan {
        rate: rate(400_000),
        burst: 1500,
        peak: Some(rate(4_000_000)),
        queue: None,
        excess: Excess::Wait,
        calendar: None,
    }
}

#[test]
fn a_packet_that_starts_at_once_is_as_one_that_was_queued() {
    let (mut refused, mut starts, mut guarded) = (0, Vec::new(), BTreeSet::new());
    for scheduler in every_scheduler() {
        let name = scheduler.record().name;
        let mut started = 0;
        for round in 0..rounds(20) {
            let mut rng = Rng::named(round, name);
            let Some(mut pair) = Pair::new(&mut rng, &scheduler) else {
                refused += 1;
                continue;
            };
            // Packets of a flow that may not send keep the queue from becoming empty.
            let all_take_part = rng.chance(0.5);
            for step in 0..400 {
                let flow = rng.below(FLOWS) as usize;
                match rng.below(20) {
                    0..7 => pair.arrive(flow, pick(&mut rng, &[1, 40, 500, 1500]), rng.below(1000) as i64),
                    7..15 => pair.turn(),
                    15..18 => {
                        let span = Span::from_micros(700 * rng.below(9));
                        pair.both(|world| world.wait(span));
                    }
                    _ if all_take_part => pair.turn(),
                    _ => {
                        let how = [Participation::Active, Participation::Held, Participation::Absent];
                        let (leg, how) = (pair.legs[flow], pick(&mut rng, &how));
                        pair.both(|world| world.take_part(leg, how));
                    }
                }
                pair.compare(&format!("{name}, round {round}, step {step}"));
            }
            started += pair.started;
            if pair.started > 0 {
                guarded.insert(pair.guards);
            }
        }
        if started > 0 {
            starts.push(name.to_owned());
        }
    }
    // The cases that the test is about came up.
    assert!(starts.iter().any(|name| name == "fifo") && starts.iter().any(|name| name == "round-robin"));
    assert_eq!(guarded.len(), 4, "{guarded:?}");
    assert!(refused < rounds(40), "{refused}");
}
