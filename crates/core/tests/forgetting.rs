//! A switch that forgets flows sends the same packets as one that never does: a flow that is closed
//! as soon as it is forgettable, and opened again by its next packet, changes nothing for itself or
//! for others.

mod common;

use common::{World, every_work_conserving_scheduler, pick, rate, rounds};
use std::collections::BTreeMap;
use tidegate_core::contract::Contract;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const FLOWS: usize = 6;
const LINK: u64 = 10_000_000;

/// A packet: time, flow and length.
type Arrival = (Time, usize, u32);

/// A switch with one port, the link behind it, and its flows.
struct Side {
    world: World,
    plans: Vec<FlowPlan>,
    legs: Vec<Option<Leg>>,
    /// Time at which the last bit of the packet in service is out.
    free_at: Time,
    /// Packets that began to be sent, and the time.
    sent: Vec<(u32, Time)>,
    /// Time at which to ask again, by flow that was not forgettable.
    ask_at: BTreeMap<usize, Time>,
    closed: u64,
    /// Flows that were closed after they had not been forgettable at first.
    closed_late: u64,
}

impl Side {
    fn new(plan: &SwitchPlan, plans: &[FlowPlan]) -> Side {
        let mut world = World::new(plan);
        let legs = plans.iter().map(|plan| Some(world.open(0, plan))).collect();
        Side {
            world,
            plans: plans.to_vec(),
            legs,
            free_at: Time::NEVER,
            sent: Vec::new(),
            ask_at: BTreeMap::new(),
            closed: 0,
            closed_late: 0,
        }
    }

    fn arrive(&mut self, flow: usize, len: u32) {
        let leg = match self.legs[flow] {
            Some(leg) => leg,
            None => self.world.open(0, &self.plans[flow]),
        };
        self.legs[flow] = Some(leg);
        self.ask_at.remove(&flow);
        self.world.arrive(&[leg], len);
    }

    fn start(&mut self) {
        if self.free_at == Time::NEVER
            && let Some(packet) = self.world.start(0)
        {
            self.sent.push((packet.body.0, self.world.now));
            self.free_at = self.world.now + rate(LINK).time_for(packet.len);
        }
    }

    /// Closes the flows that are forgettable.
    fn forget(&mut self) {
        let now = self.world.now;
        for flow in 0..FLOWS {
            let Some(leg) = self.legs[flow] else { continue };
            match self.world.switch.forgettable_at(now, leg) {
                Some(at) if at <= now => {
                    self.world.close(leg);
                    self.legs[flow] = None;
                    self.closed += 1;
                    self.closed_late += u64::from(self.ask_at.remove(&flow).is_some());
                }
                Some(at) => _ = self.ask_at.insert(flow, at),
                None => {}
            }
        }
    }

    /// Processes the events until then; flows are closed if `forgets`.
    fn advance(&mut self, until: Time, forgets: bool) {
        loop {
            let wake = self.world.wakes().into_iter().filter(|at| *at > self.world.now).min();
            let ask = self.ask_at.values().copied().filter(|at| *at > self.world.now).min();
            let next = self.free_at.min(wake.unwrap_or(Time::NEVER)).min(ask.unwrap_or(Time::NEVER));
            self.world.now = next.min(until);
            if next > until {
                return;
            }
            if self.free_at == next {
                self.free_at = Time::NEVER;
                self.world.finish(0);
            }
            self.world.timer(0);
            self.start();
            if forgets {
                self.forget();
            }
        }
    }
}

/// Bursts and silences, of flows that send rarely and flows that always send.
fn workload(rng: &mut Rng) -> Vec<Arrival> {
    let mut now = Time::ORIGIN;
    let lengths: Vec<&[u32]> =
        (0..FLOWS).map(|_| pick(rng, &[&[100][..], &[1_500], &[64, 576, 1_500]])).collect();
    let busy = rng.below(FLOWS as u64) as usize;
    let mut arrivals = Vec::new();
    for _ in 0..150 {
        let flow = if rng.chance(0.4) { busy } else { rng.below(FLOWS as u64) as usize };
        for _ in 0..pick(rng, &[1, 1, 2, 6]) {
            arrivals.push((now, flow, pick(rng, lengths[flow])));
        }
        let most = pick(rng, &[1, 500, 2_000, 20_000]);
        now += Span::from_micros(1 + rng.below(most));
    }
    arrivals
}

/// Reservations in bit/s: together less than the link, about as much, and much more.
const RESERVES: &[&[Option<u64>]] = &[
    &[None, Some(100_000), Some(1_000_000)],
    &[None, Some(1_000_000), Some(3_000_000)],
    &[Some(5_000_000), Some(20_000_000), Some(70_000_000)],
];

fn flows(rng: &mut Rng, in_tree: bool) -> Vec<FlowPlan> {
    let reserves = pick(rng, RESERVES);
    let flow = |ix: usize| {
        let contract = Contract {
            reserve: pick(rng, reserves).map(rate),
            priority: (ix % 3) as u8,
            deadline: Some(Span::from_millis(5 * (ix as u64 + 1))),
            ..Contract::default()
        };
        FlowPlan {
            class: in_tree.then_some(ix as u16 % 2),
            contract,
            ceiling: (ix == 5 && rng.chance(0.5)).then(|| rate(2_000_000)),
            // The reservation makes no share of the pool, which would come and go with the flow.
            transient: true,
            spared: None,
            ..FlowPlan::default()
        }
    };
    (0..FLOWS).map(flow).collect()
}

fn switch(scheduler: &SchedulerKind, in_tree: bool, told: bool, buffer: Option<Limit>) -> SwitchPlan {
    let class = |bits| ClassPlan {
        contract: Contract { reserve: Some(rate(bits)), ..Contract::default() },
        ..ClassPlan::new(scheduler.clone())
    };
    let classes = if in_tree { vec![class(2_000_000), class(6_000_000)] } else { Vec::new() };
    let port = PortPlan { classes, rate: told.then(|| rate(LINK)), ..PortPlan::new(scheduler.clone()) };
    SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() }
}

#[test]
fn forgetting_flows_changes_no_departure() {
    for scheduler in every_work_conserving_scheduler() {
        let (mut closed, mut closed_late) = (0, 0);
        let name = scheduler.record().name;
        // A closed flow leaves its savings behind there, as its chapter says.
        if name == "pulse" {
            continue;
        }
        for seed in 0..rounds(12) {
            let mut rng = Rng::named(seed, "forgetting");
            let (in_tree, told) = (rng.chance(0.3), name == "wfq" || rng.chance(0.7));
            // A full pool evicts from the queues, whichever flows are open.
            let buffer = rng.chance(0.3).then_some(Limit::Packets(10));
            let plan = switch(&scheduler, in_tree && name != "wfq", told, buffer);
            let plans = flows(&mut rng, in_tree && name != "wfq");
            let (mut forgets, mut remembers) = (Side::new(&plan, &plans), Side::new(&plan, &plans));
            for (at, flow, len) in workload(&mut rng) {
                for (side, does) in [(&mut forgets, true), (&mut remembers, false)] {
                    side.advance(at, does);
                    side.arrive(flow, len);
                    side.start();
                }
            }
            for (side, does) in [(&mut forgets, true), (&mut remembers, false)] {
                side.advance(side.world.now + Span::from_secs(2), does);
            }
            let differs = forgets.sent.iter().zip(&remembers.sent).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{name}, seed {seed}");
            assert_eq!(forgets.sent.len(), remembers.sent.len(), "{name}, seed {seed}");
            closed += forgets.closed;
            closed_late += forgets.closed_late;
        }
        assert!(closed > 500 && closed_late > 25, "{name}: {closed} forgotten, {closed_late} of them later");
    }
}

/// A flow far ahead of its clock is closed. A new tree has no memory of it, so the next flow takes
/// its index.
#[test]
fn a_new_tree_remembers_no_closed_flow() {
    for classes in [0, 1] {
        let plan = |scheduler: &str| {
            let class = ClassPlan::new(common::kind(scheduler));
            let port = PortPlan { classes: vec![class; classes], ..PortPlan::new(common::kind(scheduler)) };
            SwitchPlan { ports: vec![port], ..SwitchPlan::default() }
        };
        let flow = FlowPlan { class: (classes > 0).then_some(0), ..common::reserved(1_000) };
        let mut world = World::new(&plan("virtual-clock"));
        let leg = world.open(0, &flow);
        for _ in 0..10 {
            world.arrive(&[leg], 1_500);
            world.send(0);
        }
        world.close(leg);
        assert_ne!(world.open(0, &flow).flow, leg.flow, "its clock is two minutes ahead");
        world.reconfigure(&plan("fifo"), &[]);
        assert_eq!(world.open(0, &flow).flow, leg.flow, "{classes} classes");
    }
}

/// Flows were closed while all were members of the root. Those of a class that is opened then take
/// their indexes.
#[test]
fn flows_of_a_class_take_the_indexes_that_the_root_has_left() {
    let mut world = World::with(common::kind("virtual-clock"));
    let legs: Vec<Leg> = (0..5).map(|_| world.open(0, &common::reserved(1_000))).collect();
    legs.iter().for_each(|leg| world.close(*leg));
    let class = ClassPlan::new(common::kind("fifo"));
    let now = world.now;
    let class = world.switch.open_class(now, PortIx(0), &class).unwrap();
    let flow = FlowPlan { class: Some(class), ..FlowPlan::default() };
    let mut indexes: Vec<_> = (0..5).map(|_| world.open(0, &flow).flow).collect();
    indexes.sort_unstable();
    assert!(indexes.iter().eq(legs.iter().map(|leg| &leg.flow)), "{indexes:?}");
    let (first, second) =
        (Leg { port: PortIx(0), flow: indexes[0] }, Leg { port: PortIx(0), flow: indexes[1] });
    for (leg, len) in [(first, 100), (second, 200), (first, 300)] {
        world.arrive(&[leg], len);
    }
    let sent: Vec<u32> = (0..3).map(|_| world.send(0).unwrap().len).collect();
    assert_eq!(sent, [100, 200, 300]);
}
