//! Jitter-EDD: eligibility of packets, the order of deadlines, the value carried, and jitter that
//! does not grow with the number of hops.

mod common;

use common::lines::Lines;
use common::twins::{Line, Model, Twins, Waiting};
use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{BodyId, Leg, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

/// All packets, each with its due time.
struct JitterEdd {
    line: Line,
    due: Vec<(u32, u64)>,
    rate: Rate,
}

impl JitterEdd {
    fn due(&self, body: u32) -> u64 {
        self.due.iter().find(|(other, _)| *other == body).unwrap().1
    }

    fn eligible_at(&self, waiting: &Waiting) -> Time {
        match self.line.flows[waiting.flow].0.deadline {
            Some(_) => waiting.arrived + Span::from_ticks(waiting.carry.max(0) as u64),
            None => waiting.arrived,
        }
    }
}

impl Model for JitterEdd {
    fn line(&mut self) -> &mut Line {
        &mut self.line
    }
    fn arrived(&mut self, waiting: Waiting) {
        let bound = self.line.flows[waiting.flow].0.deadline;
        let own = bound.map_or(Time::NEVER, |bound| self.eligible_at(&waiting) + bound).ticks();
        let before = self.line.of(waiting.flow).filter(|other| other.body < waiting.body);
        let latest = before.map(|other| self.due(other.body)).max().unwrap_or(0);
        self.due.push((waiting.body, own.max(latest)));
    }
    fn takes_part(&mut self, now: Time, flow: usize, before: Participation) {
        let (contract, how) = self.line.flows[flow];
        if before == Participation::Absent
            && how != Participation::Absent
            && let Some(bound) = contract.deadline
        {
            let bodies: Vec<u32> = self.line.of(flow).map(|waiting| waiting.body).collect();
            let own = self.due.iter_mut().filter(|(body, _)| bodies.contains(body));
            own.for_each(|(_, due)| *due = (*due).max((now + bound).ticks()));
        }
    }
    fn start(&mut self, now: Time) -> Option<Waiting> {
        let eligible = self.line.heads().into_iter().filter(|head| self.eligible_at(head) <= now);
        let first = eligible.min_by_key(|head| (self.due(head.body), head.body))?;
        let mut sent = self.line.remove(first.body);
        if self.line.flows[sent.flow].0.deadline.is_some() {
            let out = now + self.rate.time_for(sent.len);
            let ahead = i128::from(self.due(sent.body)) - i128::from(out.ticks());
            sent.carry = ahead.clamp(0, i64::MAX.into()) as i64;
        }
        Some(sent)
    }
    fn next(&mut self) -> Option<Time> {
        self.line.heads().iter().map(|head| self.eligible_at(head)).min()
    }
    fn rank_to_lose(&mut self, last: Waiting) -> u64 {
        self.due(last.body)
    }
}

#[test]
fn the_earliest_deadline_of_eligible_packets_is_served_first() {
    let (mut pushed_out, mut held_back) = (0, 0);
    for seed in 0..rounds(20) {
        for (most, gated) in [(None, true), (Some(12), false), (Some(40), true)] {
            let mut rng = Rng::named(seed, "eligible");
            let link = rate(8_000_000);
            let model = JitterEdd { line: Line::default(), due: Vec::new(), rate: link };
            let mut twins = Twins::new(kind("jitter-edd"), link, most, model);
            let contract = |rng: &mut Rng| Contract {
                deadline: rng.chance(0.8).then(|| Span::from_micros(500 * (1 + rng.below(40)))),
                ..Contract::default()
            };
            let carry = |rng: &mut Rng| match rng.below(3) {
                0 => -(rng.below(1 << 40) as i64),
                _ => Span::from_micros(500 * rng.below(20)).ticks() as i64,
            };
            let flows = 1 + rng.below(9);
            twins.storm(&mut rng, flows, gated, contract, carry);
            (pushed_out, held_back) = (pushed_out + twins.pushed_out, held_back + twins.held_back);
        }
    }
    assert!(pushed_out > 500 && held_back > 500, "{pushed_out} {held_back}");
}

const LINK: u64 = 8_000_000;
const LEN: u32 = 500;

/// A flow of random packets crosses hops with cross traffic of their own, all of it within the
/// condition for its deadlines. Returns the least and the greatest delay of its packets, from their
/// first hop to their last bit's end.
fn delays(name: &str, hops: usize, seed: u64) -> (Span, Span) {
    let mut rng = Rng::named(seed, "hops");
    let bound = |millis| Contract { deadline: Some(Span::from_millis(millis)), ..Contract::default() };
    let open =
        |lines: &mut Lines, contract| lines.world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
    let mut came: Vec<(Time, Packet)> = (0..300)
        .map(|nth| {
            let packet = Packet::new(BodyId(nth), LEN);
            (Time::ORIGIN + Span::from_millis(20 * u64::from(nth) + rng.below(15)), packet)
        })
        .collect();
    let first: Vec<Time> = came.iter().map(|(at, _)| *at).collect();
    for _ in 0..hops {
        let port = PortPlan { rate: Some(rate(LINK)), ..PortPlan::new(kind(name)) };
        let plan = SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() };
        let mut lines = Lines::new(World::new(&plan), &[rate(LINK)]);
        lines.world.audited = false;
        let subject = open(&mut lines, bound(8));
        // Bursts of eight packets, half a millisecond each, every ten or so.
        let cross: Vec<Leg> = [4, 12].map(|millis| open(&mut lines, bound(millis))).to_vec();
        let datagram = open(&mut lines, Contract::default());
        let mut at = Time::ORIGIN;
        for (arrives, packet) in came {
            while at < arrives {
                lines.run(at);
                for leg in &cross {
                    (0..rng.below(5)).for_each(|_| _ = lines.arrive(&[*leg], LEN));
                }
                lines.arrive(&[datagram], LEN);
                at += Span::from_millis(8 + rng.below(8));
            }
            lines.run(arrives);
            lines.world.arrive_packet(&[subject], packet);
            lines.kick();
        }
        lines.drain();
        let own = lines.sent.iter().filter(|sent| sent.packet.flow == subject.flow);
        came = own.map(|sent| (sent.at + rate(LINK).time_for(LEN), sent.packet)).collect();
        came.sort_by_key(|(at, _)| *at);
    }
    let took: Vec<Span> = came.iter().zip(&first).map(|((out, _), first)| out.since(*first)).collect();
    (*took.iter().min().unwrap(), *took.iter().max().unwrap())
}

/// Every packet spends its bound at every hop but the last, and is out by its bound there: jitter
/// is less than one bound, whatever the number of hops. Without regulators it grows with them.
#[test]
fn jitter_is_that_of_the_last_hop() {
    let bound = Span::from_millis(8);
    let mut spread = [[Span::ZERO; 5]; 2];
    for seed in 0..rounds(4) {
        for hops in 1..=5u64 {
            for (ix, name) in ["jitter-edd", "edf"].into_iter().enumerate() {
                let (least, most) = delays(name, hops as usize, seed);
                let all = Span::from_ticks(bound.ticks() * hops);
                assert!(most <= all, "{name}: {most:?} over {hops} hops");
                if ix == 0 {
                    let before = Span::from_ticks(bound.ticks() * (hops - 1));
                    assert!(least >= before + rate(LINK).time_for(LEN), "{least:?} over {hops} hops");
                }
                let jitter = Span::from_ticks(most.ticks() - least.ticks());
                let at = &mut spread[ix][hops as usize - 1];
                *at = (*at).max(jitter);
            }
        }
    }
    let [regulated, unregulated] = spread;
    assert!(regulated.iter().all(|jitter| *jitter < bound), "{regulated:?}");
    assert!(unregulated[4].ticks() > 2 * unregulated[0].ticks(), "{unregulated:?}");
    assert!(unregulated[4].ticks() > 2 * regulated[4].ticks(), "{regulated:?} {unregulated:?}");
}

/// The link is idle while a packet is held, wakes up on time, and a flow without a deadline goes
/// meanwhile.
#[test]
fn a_held_packet_keeps_nobody_else_waiting() {
    let mut lines = Lines::new(World::with(kind("jitter-edd")), &[rate(LINK)]);
    let contract = Contract { deadline: Some(Span::from_millis(5)), ..Contract::default() };
    let held = lines.world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
    let datagram = lines.world.open(0, &FlowPlan::default());
    let mut packet = Packet::new(BodyId(1_000), LEN);
    packet.carry = Span::from_millis(3).ticks() as i64;
    lines.world.arrive_packet(&[held], packet);
    lines.kick();
    assert!(lines.sent.is_empty());
    lines.run(Time::ORIGIN + Span::from_millis(1));
    lines.arrive(&[datagram], LEN);
    lines.drain();
    let at: Vec<_> = lines.sent.iter().map(|sent| (sent.packet.flow, sent.at.since(Time::ORIGIN))).collect();
    assert_eq!(at, [(datagram.flow, Span::from_millis(1)), (held.flow, Span::from_millis(3))]);
}

/// A hundred thousand flows, one of which sends at a time.
#[test]
fn many_regulated_flows_are_sent_in_the_order_of_eligibility() {
    let mut world = World::with(kind("jitter-edd"));
    world.audited = false;
    let mut rng = Rng::named(1, "many");
    let contract = Contract { deadline: Some(Span::from_secs(1)), ..Contract::default() };
    let mut times = Vec::new();
    for body in 0..100_000 {
        let leg = world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
        let mut packet = Packet::new(BodyId(body), pick(&mut rng, &[1, 65_535]));
        packet.carry = rng.below(1 << 36) as i64;
        times.push(packet.carry);
        world.arrive_packet(&[leg], packet);
    }
    times.sort_unstable();
    let mut sent = Vec::new();
    for at in &times {
        world.now = Time::ORIGIN + Span::from_ticks(*at as u64);
        sent.extend(world.send(0).map(|packet| packet.carry));
    }
    assert_eq!(sent.len(), times.len());
}
