//! Whatever happens — random trees, ceilings, shapers, droppers, pools, multicast, gates, flows
//! that come and go, plans that change under load — no packet and no body is lost or duplicated,
//! none overtakes within its flow, nothing that may be sent waits, and nothing of it leaves a
//! trace.

mod common;

use common::lines::Lines;
use common::{World, every_scheduler, pick, plans, rate, rounds};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::dropper::DropperKind;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{FlowPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

struct Storm {
    rng: Rng,
    lines: Lines,
    plan: SwitchPlan,
    /// Schedulers of the plans.
    schedulers: Vec<SchedulerKind>,
    droppers: Vec<DropperKind>,
    open: Vec<(Leg, FlowPlan)>,
    /// Flows that are closed, and perhaps not yet drained.
    closing: Vec<(Leg, FlowPlan)>,
    /// Legs whose gates the test has shut.
    shut: BTreeSet<Leg>,
    arrived_copies: u64,
    arrived_bodies: u64,
    /// Flows and plans that a scheduler refused.
    refused: u64,
}

impl Storm {
    fn new(
        seed: u64,
        name: &str,
        ports: usize,
        schedulers: Vec<SchedulerKind>,
        droppers: Vec<DropperKind>,
    ) -> Storm {
        let mut rng = Rng::named(seed, name);
        let plan = plans::switch(&mut rng, ports, &schedulers);
        let plan = plans::with_droppers(&mut rng, plan, &droppers);
        let lines = Lines::new(World::new(&plan), &vec![rate(10_000_000); ports]);
        Storm {
            rng,
            lines,
            plan,
            schedulers,
            droppers,
            open: Vec::new(),
            closing: Vec::new(),
            shut: BTreeSet::new(),
            arrived_copies: 0,
            arrived_bodies: 0,
            refused: 0,
        }
    }

    fn open(&mut self) {
        let port = self.rng.below(self.plan.ports.len() as u64) as u16;
        let plan = plans::flow(&mut self.rng, &self.plan.ports[usize::from(port)]);
        let opened = self.lines.world.try_open(port, &plan);
        self.lines.world.switch.audit(self.lines.world.now).unwrap();
        let Ok(leg) = opened else {
            self.refused += 1;
            return;
        };
        assert!(self.open.iter().all(|(other, _)| *other != leg), "{leg:?} is open twice");
        self.closing.retain(|(other, _)| *other != leg);
        self.open.push((leg, plan));
    }

    fn close(&mut self) {
        if self.open.len() > 1 {
            let (leg, plan) = self.open.swap_remove(self.rng.below(self.open.len() as u64) as usize);
            self.lines.world.close(leg);
            self.shut.remove(&leg);
            self.lines.kick();
            self.closing.push((leg, plan));
        }
    }

    /// A packet arrives at one leg, or at one at each of several ports.
    fn arrive(&mut self) {
        let mut to: Vec<Leg> = Vec::new();
        for _ in 0..pick(&mut self.rng, &[1, 1, 1, 3]) {
            let (leg, _) = pick(&mut self.rng, &self.open);
            if to.iter().all(|other| other.port != leg.port) {
                to.push(leg);
            }
        }
        // Now and then a packet comes for a flow that is gone.
        if self.rng.chance(0.05)
            && let Some((leg, _)) = self.closing.last()
        {
            to = vec![*leg];
        }
        self.arrived_copies += to.len() as u64;
        self.arrived_bodies += 1;
        let millisecond = Span::from_millis(1).ticks() as i64;
        self.lines.world.carry = pick(&mut self.rng, &[0, 0, millisecond, 7 * millisecond, -millisecond]);
        self.lines.arrive(&to, pick(&mut self.rng, &[40, 576, 1000, 1500]));
        self.lines.world.carry = 0;
        // A packet that was in service when the pool became smaller cannot be taken.
        let switch = &self.lines.world.switch;
        let ports = (0..self.plan.ports.len()).map(|port| PortIx(port as u16));
        let busy = ports.filter(|port| !switch.is_idle(*port)).count() as u64;
        let (pool, limit) = (switch.pool(), self.plan.buffer);
        let fits = limit.is_none_or(|limit| limit.admits(pool.packets, pool.bytes));
        assert!(fits || pool.packets <= busy, "{pool:?}, {limit:?}");
    }

    fn take_part(&mut self, how: Participation) {
        let (leg, _) = pick(&mut self.rng, &self.open);
        if how == Participation::Active {
            self.shut.remove(&leg);
        } else {
            self.shut.insert(leg);
        }
        self.lines.world.take_part(leg, how);
        self.lines.kick();
    }

    /// Reconfigures the switch. Draining flows must be given their new place, too.
    fn reconfigure(&mut self, wanted: SwitchPlan) {
        let counters = |leg: Leg| self.lines.world.switch.counters(leg);
        self.closing.retain(|(leg, _)| {
            let counters = counters(*leg);
            counters.sent.packets + counters.dropped.packets < counters.arrived.packets
        });
        let mut flows = Vec::new();
        let before = (self.open.clone(), self.closing.clone());
        for (leg, plan) in self.open.iter_mut().chain(&mut self.closing) {
            let port = &wanted.ports[usize::from(leg.port.0)];
            let stays = plan.class.is_none_or(|class| usize::from(class) < port.classes.len())
                && plan.profiles.iter().flatten().all(|profile| usize::from(*profile) < port.profiles.len());
            if !stays || self.rng.chance(0.5) {
                *plan = plans::flow(&mut self.rng, port);
                flows.push((*leg, *plan));
            }
        }
        if self.lines.world.try_reconfigure(&wanted, &flows).is_err() {
            // Nothing has changed: the old plan is still in force.
            (self.open, self.closing) = before;
            self.refused += 1;
            assert!(self.lines.world.reconfigure(&self.plan, &self.open).is_empty());
            return;
        }
        assert!(self.lines.world.reconfigure(&wanted, &flows).is_empty(), "the plan is in force");
        while self.lines.rates.len() < wanted.ports.len() {
            self.lines.add(rate(10_000_000));
        }
        self.lines.kick();
        self.plan = wanted;
    }

    /// An equal plan, one with other rates and ceilings, or an entirely different one.
    fn another_plan(&mut self) -> SwitchPlan {
        let ports = (self.plan.ports.len() + self.rng.below(2) as usize).min(4);
        let wanted = plans::switch(&mut self.rng, ports, &self.schedulers);
        let mut wanted = plans::with_droppers(&mut self.rng, wanted, &self.droppers);
        if self.rng.chance(0.6) {
            for (port, before) in wanted.ports.iter_mut().zip(&self.plan.ports) {
                let drawn = std::mem::replace(&mut port.classes, before.classes.clone());
                for (class, drawn) in port.classes.iter_mut().zip(drawn) {
                    (class.contract, class.ceiling) = (drawn.contract, drawn.ceiling);
                }
                port.scheduler = before.scheduler.clone();
            }
        }
        wanted
    }

    /// One thing happens, and nothing leaves through a gate that is shut.
    fn step(&mut self) {
        let before = self.lines.sent.len();
        self.something();
        for sent in &self.lines.sent[before..] {
            let leg = Leg { port: PortIx(sent.port), flow: sent.packet.flow };
            assert!(!self.shut.contains(&leg), "{leg:?} is shut");
        }
    }

    fn something(&mut self) {
        match self.rng.below(100) {
            0..50 => self.arrive(),
            50..80 => {
                let until = self.lines.world.now + Span::from_micros(self.rng.below(3000));
                self.lines.run(until);
            }
            80..85 => self.open(),
            85..89 => self.close(),
            89..97 => {
                let gate = pick(
                    &mut self.rng,
                    &[
                        Participation::Active,
                        Participation::Active,
                        Participation::Held,
                        Participation::Absent,
                    ],
                );
                self.take_part(gate);
            }
            _ => {
                let wanted = self.another_plan();
                self.reconfigure(wanted);
            }
        }
    }

    /// Opens all gates and runs until the switch is empty.
    fn drain(&mut self) {
        for (leg, _) in self.open.clone() {
            self.lines.world.take_part(leg, Participation::Active);
        }
        self.lines.drain();
    }

    fn check(&self, what: &str) {
        let (sent, dropped) = (self.lines.sent.len() as u64, self.lines.dropped.len() as u64);
        assert_eq!(self.arrived_copies, sent + dropped, "{what}: copies");
        assert_eq!(self.arrived_bodies, self.lines.released, "{what}: bodies");
        let pool = self.lines.world.switch.pool();
        assert_eq!((pool.packets, pool.bytes), (0, 0), "{what}");
        let mut last = BTreeMap::new();
        for sent in &self.lines.sent {
            let before = last.insert((sent.port, sent.packet.flow), sent.packet.body);
            assert!(before < Some(sent.packet.body), "{what}: {sent:?} after {before:?}");
        }
        for port in 0..self.plan.ports.len() {
            let port = PortIx(port as u16);
            assert_eq!(self.lines.world.switch.backlog(port).packets, 0);
            assert!(self.lines.world.switch.is_idle(port));
        }
    }
}

#[test]
fn nothing_is_lost_duplicated_or_reordered() {
    for seed in 0..rounds(60) {
        let mut storm =
            Storm::new(seed, "storm", 1 + seed as usize % 3, plans::schedulers(), plans::droppers());
        while storm.open.len() < 4 {
            storm.open();
        }
        (0..400).for_each(|_| storm.step());
        storm.drain();
        storm.check(&format!("seed {seed}"));
    }
}

/// Classes that wait for slots of their own, while the link is busy with others', contracts change
/// and packets are pushed out: the audit of every step checks that each is let go in time.
#[test]
fn classes_with_slots_are_let_go() {
    let slotted =
        |kind: &SchedulerKind| kind.is_slotted() || kind.record().is_some_and(|record| record.name == "fifo");
    let kinds: Vec<SchedulerKind> = plans::schedulers().into_iter().filter(slotted).collect();
    for seed in 0..rounds(60) {
        let mut storm = Storm::new(seed, "slots", 1, kinds.clone(), plans::drop_tails());
        while storm.open.len() < 6 {
            storm.open();
        }
        (0..400).for_each(|_| storm.step());
        storm.drain();
        storm.check(&format!("seed {seed}"));
    }
}

/// Schedulers that forget the past. Not among them: slots are laid out in the order in which flows
/// came, Pulse keeps its flows' unsent credit, and deficit round robins keep the flow that sent
/// last in their lists until another one does.
fn forgetful() -> Vec<SchedulerKind> {
    let remembers = |name: &str| name == "pulse" || name.contains("drr");
    let forgets = |kind: &SchedulerKind| {
        !kind.is_slotted() && kind.record().is_some_and(|record| !remembers(record.name))
    };
    every_scheduler().into_iter().filter(forgets).collect()
}

/// After any sequence of plans and any traffic, once all is sent and time has passed, the switch is
/// the one that a fresh switch with the last plan is.
#[test]
fn any_way_to_a_plan_ends_in_the_same_switch() {
    for seed in 0..rounds(30) {
        let mut storm = Storm::new(seed, "plans", 1 + seed as usize % 2, forgetful(), plans::drop_tails());
        while storm.open.len() < 6 {
            storm.open();
        }
        for _ in 0..200 {
            match storm.rng.below(100) {
                0..50 => storm.arrive(),
                50..85 => {
                    let until = storm.lines.world.now + Span::from_micros(storm.rng.below(3000));
                    storm.lines.run(until);
                }
                85..95 => {
                    let gate = pick(
                        &mut storm.rng,
                        &[Participation::Active, Participation::Held, Participation::Absent],
                    );
                    storm.take_part(gate);
                }
                _ => {
                    let wanted = storm.another_plan();
                    storm.reconfigure(wanted);
                }
            }
        }
        // A last plan that is the last one but for rates: no tree is built anew by it. Monitors go:
        // they remember what they have seen of an average interval, however long ago.
        let mut wanted = storm.another_plan();
        for port in &mut wanted.ports {
            port.meters.clear();
            port.classes.iter_mut().for_each(|class| class.meters.clear());
        }
        storm.reconfigure(wanted);
        storm.drain();
        storm.check(&format!("seed {seed}"));
        storm.lines.world.wait(Span::from_secs(1_000_000));

        let mut fresh = Lines::new(World::starting(storm.lines.world.now, &storm.plan), &storm.lines.rates);
        let mut flows = storm.open.clone();
        flows.sort_by_key(|(leg, _)| *leg);
        for (leg, plan) in &flows {
            assert_eq!(fresh.world.open(leg.port.0, plan), *leg);
        }
        let seen = |lines: &mut Lines| {
            let mut rng = Rng::named(seed, "afterwards");
            let (sent, dropped) = (lines.sent.len(), lines.dropped.len());
            let mut first = None;
            for _ in 0..150 {
                let (leg, _) = pick(&mut rng, &flows);
                match rng.below(10) {
                    0..5 => {
                        let body = lines.arrive(&[leg], 40 + rng.below(1460) as u32);
                        first = first.or(Some(body));
                    }
                    5..9 => {
                        let until = lines.world.now + Span::from_micros(rng.below(3000));
                        lines.run(until);
                    }
                    _ => {
                        lines.world.take_part(
                            leg,
                            pick(
                                &mut rng,
                                &[Participation::Active, Participation::Held, Participation::Absent],
                            ),
                        );
                        lines.kick();
                    }
                }
            }
            flows.iter().for_each(|(leg, _)| lines.world.take_part(*leg, Participation::Active));
            lines.drain();
            let first = first.unwrap();
            let sent: Vec<(Time, u16, u32)> = lines.sent[sent..]
                .iter()
                .map(|sent| (sent.at, sent.port, sent.packet.body.0 - first))
                .collect();
            let dropped: Vec<(u16, u32)> = lines.dropped[dropped..]
                .iter()
                .map(|(port, packet, _)| (*port, packet.body.0 - first))
                .collect();
            (sent, dropped)
        };
        assert_eq!(seen(&mut storm.lines), seen(&mut fresh), "seed {seed}");
    }
}

/// A class that only closed flows belonged to can be taken away.
#[test]
fn closed_flows_do_not_keep_their_class() {
    let mut rng = Rng::named(1, "classes");
    let with_class = loop {
        let plan = plans::switch(&mut rng, 1, &forgetful());
        if !plan.ports[0].classes.is_empty() {
            break plan;
        }
    };
    let mut without = with_class.clone();
    without.ports[0].classes.clear();
    let mut world = World::new(&with_class);
    let leg = world.open(0, &FlowPlan { class: Some(0), ..FlowPlan::default() });
    let refused = world.cx(|switch, cx| switch.reconfigure(cx, &without, &[]));
    assert!(refused.is_err(), "an open flow does");
    world.close(leg);
    world.reconfigure(&without, &[]);
    assert_eq!(world.open(0, &FlowPlan::default()), leg);
}

/// A pool that becomes smaller than its content is within its limit at once.
#[test]
fn a_smaller_pool_is_within_its_limit_at_once() {
    let mut rng = Rng::named(1, "smaller");
    let mut plan = plans::switch(&mut rng, 2, &forgetful());
    plan.buffer = None;
    for port in &mut plan.ports {
        port.dropper = None;
        port.classes.iter_mut().for_each(|class| class.dropper = None);
    }
    let mut world = World::new(&plan);
    let shaper =
        Some(ShaperPlan { rate: rate(1000), burst: 100, peak: None, queue: None, excess: Excess::Wait });
    let legs = [(0, None), (1, None), (0, shaper), (1, shaper)]
        .map(|(port, shaper)| world.open(port, &FlowPlan { shaper, ..FlowPlan::default() }));
    (0..10).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 100)));
    for packets in [30, 15, 3] {
        plan.buffer = Some(Limit::Packets(packets));
        world.reconfigure(&plan, &[]);
        assert_eq!(world.switch.pool().packets, packets);
    }
}
