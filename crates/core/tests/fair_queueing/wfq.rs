//! WFQ beside the fluid server that it follows, in exact rationals.

use super::gps::{Gps, Ratio};
use crate::common::lines::Lines;
use crate::common::{World, kind, pick, rate, rounds};
use std::collections::BTreeMap;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// The weight of a flow without a reservation, in kbit/s.
const UNRESERVED: u64 = 10;
/// In kbit/s. Times per byte are whole numbers of ticks.
const RESERVES: &[Option<u64>] = &[None, Some(10), Some(40), Some(50), Some(100), Some(250), Some(800)];
const LINK: u64 = 1_000;

fn terms(reserve: Option<u64>) -> FlowPlan {
    let reserve = reserve.map(|kilobits| rate(kilobits * 1_000));
    FlowPlan { contract: Contract { reserve, ..Contract::default() }, ..FlowPlan::default() }
}

fn ticks_per_byte(kilobits: u64) -> u64 {
    rate(kilobits * 1_000).time_for(1).ticks()
}

struct Flow {
    leg: Leg,
    reserve: Option<u64>,
    open: bool,
}

/// WFQ and the fluid server on the same arrivals.
struct Both {
    lines: Lines,
    plan: SwitchPlan,
    gps: Gps,
    flows: Vec<Flow>,
    /// Length and arrival of every body.
    bodies: BTreeMap<u32, (u32, Time)>,
    longest: u32,
    /// Number of pushed-out packets that have left the fluid server.
    removed: usize,
}

impl Both {
    fn new(buffer: Option<Limit>) -> Both {
        let port = PortPlan { rate: Some(rate(LINK * 1_000)), ..PortPlan::new(kind("wfq")) };
        let plan = SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() };
        let mut lines = Lines::new(World::new(&plan), &[rate(LINK * 1_000)]);
        lines.world.audited = false;
        let gps = Gps::new(lines.world.now.ticks(), ticks_per_byte(LINK));
        Both { lines, plan, gps, flows: Vec::new(), bodies: BTreeMap::new(), longest: 0, removed: 0 }
    }

    fn open(&mut self, reserve: Option<u64>) {
        let leg = self.lines.world.open(0, &terms(reserve));
        self.flows.push(Flow { leg, reserve, open: true });
    }

    fn arrive(&mut self, flow: usize, len: u32) {
        let Flow { leg, reserve, open: true } = self.flows[flow] else { return };
        let now = self.lines.world.now;
        self.gps.advance(now.ticks());
        let body = self.lines.arrive(&[leg], len);
        self.gps.arrive(flow, body, len, reserve.unwrap_or(UNRESERVED));
        self.bodies.insert(body, (len, now));
        for (_, packet, _) in &self.lines.dropped[self.removed..] {
            let flow = self.flows.iter().rposition(|flow| flow.leg.flow == packet.flow).unwrap();
            self.gps.remove(flow, packet.body.0);
        }
        self.removed = self.lines.dropped.len();
        self.longest = self.longest.max(len);
    }

    fn change(&mut self, flow: usize, reserve: Option<u64>) {
        if self.flows[flow].open {
            self.lines.world.reconfigure(&self.plan.clone(), &[(self.flows[flow].leg, terms(reserve))]);
            self.flows[flow].reserve = reserve;
        }
    }

    fn close(&mut self, flow: usize) {
        if std::mem::take(&mut self.flows[flow].open) {
            self.lines.world.close(self.flows[flow].leg);
        }
    }

    fn change_rate(&mut self, kilobits: u64) {
        self.gps.advance(self.lines.world.now.ticks());
        self.gps.set_rate(ticks_per_byte(kilobits));
        self.plan.ports[0].rate = Some(rate(kilobits * 1_000));
        self.lines.world.reconfigure(&self.plan.clone(), &[]);
        self.lines.rates[0] = rate(kilobits * 1_000);
    }

    /// Checks that every packet was selected only when the fluid server is not done earlier with
    /// another that waited then; and that it left later than from the fluid server by at most the
    /// time of the longest packet. Returns the greatest delay, as a part of that time.
    fn check(mut self, bounded: bool, what: &str) -> f64 {
        self.lines.drain();
        self.gps.drain();
        // Virtual time and tags are compared in ticks.
        let slack = &Ratio::whole(4);
        let finished = |body: u32| self.gps.finished[body as usize].as_ref().unwrap();
        let sent = |ix: usize| self.lines.sent[ix].packet.body.0;
        let slowest = rate(LINK * 1_000).time_for(self.longest).ticks();
        let mut waiting: Vec<(Time, u32)> = Vec::new();
        let mut gone: BTreeMap<u32, Time> = BTreeMap::new();
        for (_, packet, _) in &self.lines.dropped {
            gone.insert(packet.body.0, packet.arrived);
        }
        let (mut arrivals, mut latest) = (self.bodies.iter().peekable(), 0.0f64);
        for ix in 0..self.lines.sent.len() {
            let (at, body) = (self.lines.sent[ix].at, sent(ix));
            while let Some((other, (_, came))) = arrivals.next_if(|(_, (_, came))| *came <= at) {
                waiting.push((*came, *other));
            }
            waiting.retain(|(_, other)| *other != body);
            // A packet that came at this very moment may have come after the selection.
            let rivals = waiting.iter().filter(|(came, other)| *came < at && !gone.contains_key(other));
            for (_, rival) in rivals {
                assert!(
                    *finished(body) <= finished(*rival) + slack,
                    "{what}: {body} was sent at {at:?} before {rival}"
                );
            }
            let left = (at + self.lines.rates[0].time_for(self.bodies[&body].0)).ticks();
            let late = (&Ratio::whole(left) - finished(body)).floor();
            latest = latest.max(late as f64 / slowest as f64);
            assert!(!bounded || late <= slowest as i128 + 4, "{what}: {body} is {late} ticks late");
        }
        latest
    }
}

/// Changes besides the flows that come and go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    None,
    Weights,
    WeightsAndRates,
}

fn workload(seed: u64, buffer: Option<Limit>, changes: Changes) -> (Both, [u64; 4]) {
    let mut rng = Rng::named(seed, "gps");
    let mut both = Both::new(buffer);
    (0..2 + rng.below(6)).for_each(|_| both.open(pick(&mut rng, RESERVES)));
    let mut done = [0; 4];
    for _ in 0..150 {
        let flow = rng.below(both.flows.len() as u64) as usize;
        match rng.below(24) {
            0..12 => both.arrive(flow, pick(&mut rng, &[1, 40, 100, 500, 1_500])),
            12 => (0..8).for_each(|_| both.arrive(flow, 1_500)),
            13..20 => {
                let until = both.lines.world.now + Span::from_ticks(rng.below(400_000_000));
                both.lines.run(until);
            }
            20 => {
                both.open(pick(&mut rng, RESERVES));
                done[0] += 1;
            }
            21 => {
                both.close(flow);
                done[1] += 1;
            }
            22 if changes != Changes::None => {
                both.change(flow, pick(&mut rng, RESERVES));
                done[2] += 1;
            }
            23 if changes == Changes::WeightsAndRates => {
                both.change_rate(pick(&mut rng, &[250, 500, LINK]));
                done[3] += 1;
            }
            _ => {}
        }
    }
    if changes == Changes::WeightsAndRates {
        both.change_rate(LINK);
    }
    (both, done)
}

/// Over random workloads with flows that join, leave and change their weights.
#[test]
fn packets_leave_in_the_fluid_order_and_at_most_a_packet_late() {
    let (mut latest, mut done) = (0.0f64, [0; 4]);
    for seed in 0..rounds(40) {
        let (both, counts) = workload(seed, None, Changes::Weights);
        latest = latest.max(both.check(true, &format!("seed {seed}")));
        (0..4).for_each(|ix| done[ix] += counts[ix]);
    }
    assert!(latest > 0.8, "the bound was hardly approached: {latest}");
    assert!(done[..3].iter().all(|count| *count > 100), "{done:?}");
}

/// Pushed-out packets leave the fluid server. Weights do not change: otherwise a packet may stay.
#[test]
fn what_is_pushed_out_leaves_the_fluid_server() {
    let mut dropped = 0;
    for seed in 0..rounds(15) {
        let (mut both, _) = workload(seed, Some(Limit::Packets(6)), Changes::None);
        both.lines.drain();
        dropped += both.lines.dropped.len();
        both.check(true, &format!("seed {seed}"));
    }
    assert!(dropped > 150, "{dropped}");
}

/// The packet in service when the rate changes leaves at the rate that it began with: the order
/// stays, the bound is the constant server's.
#[test]
fn another_rate_of_the_link_keeps_the_fluid_order() {
    let mut changes = 0;
    for seed in 0..rounds(15) {
        let (both, done) = workload(seed, None, Changes::WeightsAndRates);
        changes += done[3];
        both.check(false, &format!("seed {seed}"));
    }
    assert!(changes > 40, "{changes}");
}

/// The rate is unknown: the change is refused, and the switch stays unchanged.
#[test]
fn a_server_without_a_rate_is_refused() {
    let mut world = World::with(kind("wfq"));
    let refused = world.try_open(0, &terms(Some(100))).unwrap_err();
    assert_eq!(refused.0, "wfq needs a rate that is known at all times, and there is none");
}
