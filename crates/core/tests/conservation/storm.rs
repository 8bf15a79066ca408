//! A switch to which anything happens.

use crate::common::lines::Lines;
use crate::common::{World, pick, plans, rate};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::dropper::DropperKind;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, SchedulerKind};
use tidegate_core::switch::plan::{FlowPlan, SwitchPlan};
use tidegate_core::units::Span;

pub struct Storm {
    pub rng: Rng,
    pub lines: Lines,
    pub plan: SwitchPlan,
    /// Schedulers of the plans.
    schedulers: Vec<SchedulerKind>,
    droppers: Vec<DropperKind>,
    pub open: Vec<(Leg, FlowPlan)>,
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
    pub fn new(
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

    pub fn open(&mut self) {
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
    pub fn arrive(&mut self) {
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

    pub fn take_part(&mut self, how: Participation) {
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
    pub fn reconfigure(&mut self, wanted: SwitchPlan) {
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
    pub fn another_plan(&mut self) -> SwitchPlan {
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
    pub fn step(&mut self) {
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
    pub fn drain(&mut self) {
        for (leg, _) in self.open.clone() {
            self.lines.world.take_part(leg, Participation::Active);
        }
        self.lines.drain();
    }

    pub fn check(&self, what: &str) {
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
