//! FQ-CoDel's scheduler: the RFC's loop, step by step; its promises to a sparse flow and to
//! backlogged ones; and with CoDel at each flow's queue, the delay of a sparse flow beside flows
//! that do not answer.

mod common;

use common::lines::Lines;
use common::lists::{Model, assert_sparse, beside};
use common::{World, pick, rate, rounds};
use std::collections::VecDeque;
use tidegate_core::context::Reason;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::packet::PortIx;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::{DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::{Span, Time};

fn scheduler(quantum: u64) -> SchedulerKind {
    let values = [("quantum", Value::Size(quantum))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("drr++", &values).unwrap().unwrap())
}

/// The lists of section 4, with the queues.
struct Lists {
    quantum: i64,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Deficit and packets of each flow: number and length.
    flows: Vec<(i64, VecDeque<(u32, u32)>)>,
}

impl Lists {
    fn new(quantum: u64, flows: usize) -> Lists {
        let flows = vec![(0, VecDeque::new()); flows];
        Lists { quantum: quantum as i64, new: VecDeque::new(), old: VecDeque::new(), flows }
    }
}

impl Model for Lists {
    fn enqueue(&mut self, flow: usize, body: u32, len: u32) {
        self.flows[flow].1.push_back((body, len));
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.flows[flow].0 = self.quantum;
            self.new.push_back(flow);
        }
    }

    fn dequeue(&mut self) -> Option<(u32, u32)> {
        // The link does not ask in vain.
        self.flows.iter().find(|(_, packets)| !packets.is_empty())?;
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            let (deficit, packets) = &mut self.flows[flow];
            if *deficit <= 0 {
                *deficit += self.quantum;
                list.pop_front();
                self.old.push_back(flow);
            } else if let Some((body, len)) = packets.pop_front() {
                *deficit -= i64::from(len);
                return Some((body, len));
            } else {
                list.pop_front();
                if is_new {
                    self.old.push_back(flow);
                }
            }
        }
    }
}

#[test]
fn packets_are_sent_as_the_lists_say() {
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "lists");
        let quantum = pick(&mut rng, &[1, 100, 1514, 5000, 100_000]);
        let flows = 1 + rng.below(8) as usize;
        let mut lines = Lines::new(World::with(scheduler(quantum)), &[rate(10_000_000)]);
        let legs: Vec<_> = (0..flows).map(|_| lines.world.open(0, &FlowPlan::default())).collect();
        let mut lists = Lists::new(quantum, flows);
        let loads = [0.7, 0.95, 1.3];
        let (real, sent) = beside(&mut lines, &legs, &mut lists, &mut rng, &loads, |_, _| {});
        assert_eq!(real, sent, "seed {seed}: quantum {quantum}");
    }
}

/// Flows that are backlogged together differ by less than a quantum and a packet.
#[test]
fn backlogged_flows_share_equally() {
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "shares");
        let quantum = pick(&mut rng, &[300, 1514, 6000]);
        let mut lines = Lines::new(World::with(scheduler(quantum)), &[rate(10_000_000)]);
        lines.world.audited = false;
        let legs: Vec<_> = (0..4).map(|_| lines.world.open(0, &FlowPlan::default())).collect();
        for _ in 0..400 {
            legs.iter().for_each(|leg| _ = lines.world.arrive(&[*leg], pick(&mut rng, &[40, 576, 1500])));
        }
        let mut sent = [0i64; 4];
        lines.run(Time::ORIGIN + Span::from_millis(300));
        for packet in &lines.sent {
            sent[packet.packet.flow.ix()] += i64::from(packet.packet.len);
            let (most, least) = (sent.iter().max().unwrap(), sent.iter().min().unwrap());
            assert!(most - least <= quantum as i64 + 2 * 1500, "{sent:?}, quantum {quantum}");
        }
    }
}

/// A flow that sends less than a quantum at a time, and less than its share, waits for one packet
/// in service at most, whatever the others have queued.
#[test]
fn a_sparse_flow_waits_for_one_packet() {
    let mut lines = Lines::new(World::with(scheduler(1514)), &[rate(10_000_000)]);
    lines.world.audited = false;
    let legs: Vec<_> = (0..9).map(|_| lines.world.open(0, &FlowPlan::default())).collect();
    for _ in 0..300 {
        legs[1..].iter().for_each(|leg| _ = lines.world.arrive(&[*leg], 1500));
    }
    // Until the others are new no more.
    lines.run(Time::ORIGIN + Span::from_millis(50));
    assert_sparse(&mut lines, &legs[..1], Span::from_micros(15_700), 200, 1500);
}

/// With CoDel at each flow's queue: a flow at half its share loses nothing and waits little, while
/// one that floods has its packets dropped and keeps its own queue.
#[test]
fn codel_at_each_flow_drops_of_the_flow_that_floods() {
    let codel = BuiltInDropper::read("codel", &[]).unwrap().unwrap();
    let dropper = DropperPlan { kind: DropperKind::BuiltIn(codel), scope: Scope::Flow, detector: None };
    let port = PortPlan { dropper: Some(dropper), ..PortPlan::new(scheduler(1514)) };
    let plan = SwitchPlan { ports: vec![port], ..SwitchPlan::default() };
    let link = rate(10_000_000);
    let mut world = World::new(&plan);
    world.audited = false;
    let mut lines = Lines::new(world, &[link]);
    let legs = [0, 1].map(|_| lines.world.open(0, &FlowPlan::default()));
    let (mut came, mut rng) = (Vec::new(), Rng::named(1, "flood"));
    let end = Time::ORIGIN + Span::from_secs(20);
    let mut next = [Time::ORIGIN; 2];
    while let Some((flow, at)) =
        next.iter().copied().enumerate().min_by_key(|(_, at)| *at).filter(|(_, at)| *at < end)
    {
        lines.run(at);
        let body = lines.arrive(&[legs[flow]], 1000);
        came.push((body, at));
        // 2.5 Mbit/s beside 15 Mbit/s.
        let gap = Span::from_micros(if flow == 0 { 3_200 } else { 533 });
        next[flow] = at + if flow == 0 { gap } else { rng.exponential(gap) };
    }
    let drops = lines.world.switch.drops(PortIx(0));
    assert_eq!(lines.world.switch.counters(legs[0]).dropped.packets, 0);
    assert!(drops.of(Reason::SojournTime) > 500, "{drops:?}");
    assert_eq!(drops.total(), drops.of(Reason::SojournTime));
    for sent in lines.sent.iter().filter(|sent| sent.packet.flow == legs[0].flow) {
        let at = came.iter().find(|(body, _)| *body == sent.packet.body.0).unwrap().1;
        assert!(sent.at.since(at) <= Span::from_ticks(2 * link.time_for(1000).ticks()));
    }
}
