//! Toy drivers: each uses the contract as a later feature will, in at most 60 lines, and none
//! needs a special case in the switch.

mod common;

use common::{World, kind, rate, reserved};
use std::collections::VecDeque;
use tidegate_core::context::{Body, Ctx, Reason, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::dropper::{Dropper, DropperKind, Occupancy};
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading};
use tidegate_core::packet::{BodyId, Colour, FlowIx, Mark, Packet, PortIx};
use tidegate_core::queues::{Queued, Queues};
use tidegate_core::scheduler::{Participation, Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{Change, ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Round robin over flows, as a user would write it outside the crate.
#[derive(Default)]
struct RoundRobin {
    turn: VecDeque<FlowIx>,
}

impl Scheduler for RoundRobin {
    fn set_flow(&mut self, _: Time, _: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        Ok(())
    }
    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }
    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        if queues.len(packet.flow) == 0 && queues.takes_part(packet.flow) {
            self.turn.push_back(packet.flow);
        }
    }
    fn select(&self, _: Time, _: &Queues) -> Select {
        self.turn.front().map_or(Select::Idle, |flow| Select::Flow(*flow))
    }
    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.turn.pop_front();
        if queues.len(packet.flow) > 0 {
            self.turn.push_back(packet.flow);
        }
    }
    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        self.turn.retain(|flow| *flow != packet.flow || queues.len(*flow) > 0);
    }
    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        self.turn.retain(|other| *other != flow);
        if queues.takes_part(flow) && queues.len(flow) > 0 {
            self.turn.push_back(flow);
        }
    }
    fn memory(&self) -> usize {
        0
    }
}

fn round_robin() -> SchedulerKind {
    SchedulerKind::custom(|| Box::<RoundRobin>::default())
}

/// Credit pauses a flow (Absent): it sends exactly its credit, the others what they like, and
/// on new credit it takes its place at the end of the round.
#[test]
fn a_credit_paused_round_robin() {
    let mut world = World::with(round_robin());
    let legs: Vec<_> = (0..3).map(|_| world.open(0, &FlowPlan::default())).collect();
    for _ in 0..6 {
        legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 53));
    }
    let mut credit = [2, u32::MAX, u32::MAX];
    let mut order = Vec::new();
    while let Some(packet) = world.send(0) {
        order.push(packet.flow.0);
        credit[packet.flow.ix()] -= 1;
        if credit[packet.flow.ix()] == 0 {
            world.take_part(legs[packet.flow.ix()], Participation::Absent);
        }
        if order.len() == 9 {
            credit[0] = 4;
            world.take_part(legs[0], Participation::Active);
        }
    }
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 1, 2, 1, 2, 1, 0, 2, 1, 0, 2, 0, 0]);
}

/// A virtual source: each VC is shaped to its own rate, and what its shaper lets go joins one
/// class queue, FIFO in the order of release.
#[test]
fn per_vc_shaped_queues_feed_a_class_queue() {
    let class = ClassPlan::new(kind("fifo"));
    let port = PortPlan { classes: vec![class], ..PortPlan::new(kind("strict-priority")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None });
    // 100 bytes at 80 and 40 kbit/s: 10 ms and 20 ms a packet.
    let shaped = |bits| FlowPlan {
        class: Some(0),
        shaper: Some(ShaperPlan { rate: rate(bits), burst: 100, queue: None, excess: Excess::Wait }),
        ..FlowPlan::default()
    };
    let (fast, slow) = (world.open(0, &shaped(80_000)), world.open(0, &shaped(40_000)));
    for _ in 0..4 {
        world.arrive(&[slow], 100);
        world.arrive(&[fast], 100);
    }
    let sent = world.run(0, rate(80_000_000), Time::ORIGIN + Span::from_secs(1));
    let wire = Span::from_micros(10);
    let at = |ms| Time::ORIGIN + Span::from_millis(ms) + wire;
    let second = |ms| at(ms) + wire;
    // At 20 ms both conform; the one that arrived at its shaper first goes first.
    let expected = [
        (slow, at(0)),
        (fast, second(0)),
        (fast, at(10)),
        (slow, at(20)),
        (fast, second(20)),
        (fast, at(30)),
        (slow, at(40)),
        (slow, at(60)),
    ];
    assert_eq!(sent, expected.map(|(leg, time)| (leg.flow.0, time)));
}

/// Colours what is beyond a number of packets, and refuses it where the queue is long.
struct EveryOther(u32);
impl Meter for EveryOther {
    fn see(&mut self, _: &mut Ctx<'_>, _: ProfileIx, packet: &mut Packet) -> Reading {
        self.0 += 1;
        packet.mark =
            packet.mark.coloured(if self.0.is_multiple_of(2) { Colour::Red } else { Colour::Green });
        Verdict::Accept.into()
    }
}
struct InOut;
impl Dropper for InOut {
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        match (packet.mark.colour(), at.queue.packets) {
            (Colour::Red, 4..) => Verdict::Drop(Reason::EarlyDrop),
            (_, 8..) => Verdict::Congested(Reason::EarlyDrop),
            _ => Verdict::Accept,
        }
    }
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Occupancy) -> Verdict {
        let late = cx.now.since(packet.arrived) > Span::from_secs(1);
        if late { Verdict::Drop(Reason::SojournTime) } else { Verdict::Accept }
    }
}

#[test]
fn an_in_out_marking_dropper() {
    let dropper = Some(DropperKind::custom(|| Box::new(InOut)).into());
    let meters = vec![MeterKind::custom(|| Box::new(EveryOther(0)))];
    let port = PortPlan { meters, dropper, ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None });
    let leg = world.open(0, &FlowPlan::default());
    for body in 1..=20 {
        let mut packet = Packet::new(BodyId(body), 1000);
        packet.mark = Mark::from_ip(0, 0b10);
        world.arrive_packet(&[leg], packet);
    }
    // In 1 out 2 in 3 out 4, then only the in packets 5, 7, 9, … up to ten of them in all.
    let out: Vec<u32> = world.dropped().iter().map(|(body, ..)| *body).collect();
    assert_eq!(out, [6, 8, 10, 12, 14, 16, 18, 20]);
    let mut marked = Vec::new();
    for _ in 0..12 {
        let packet = world.send(0).unwrap();
        marked.extend(packet.mark.is_congested().then_some(packet.body.0));
    }
    assert_eq!(marked, [13, 15, 17, 19]);
    world.wait(Span::from_secs(2));
    // What has waited too long is dropped when its turn comes.
    world.arrive(&[leg], 1000);
    world.wait(Span::from_secs(2));
    world.arrive_packet(&[leg], Packet::new(BodyId(99), 1000));
    assert_eq!(world.send(0).unwrap().body.0, 99);
    let drops = world.switch.drops(PortIx(0));
    assert_eq!((drops.of(Reason::EarlyDrop), drops.of(Reason::SojournTime)), (8, 1));
    let marks = world.switch.marks(PortIx(0));
    assert_eq!((marks.of(Reason::EarlyDrop), marks.total(), world.switch.counters(leg).marked), (4, 4, 4));
}

/// FIFO+ in miniature: the stamp is the arrival time less what `carry` says the packet is late.
#[derive(Default)]
struct FifoPlus {
    queued: Vec<(u64, u64, FlowIx)>,
    mean: i64,
}
impl Scheduler for FifoPlus {
    fn set_flow(&mut self, _: Time, _: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        Ok(())
    }
    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }
    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        packet.tag = packet.arrived.ticks().saturating_add_signed(-packet.carry);
        self.queued.push((packet.tag, queues.arriving(), packet.flow));
        self.queued.sort();
    }
    fn select(&self, _: Time, _: &Queues) -> Select {
        self.queued.first().map_or(Select::Idle, |(_, _, flow)| Select::Flow(*flow))
    }
    fn dequeued(&mut self, _: &mut Ctx<'_>, _: &mut Packet, _: &Queues) {
        self.queued.remove(0);
    }
    fn removed(&mut self, _: &mut Ctx<'_>, _: &Packet, _: &Queues, _: Removal) {
        self.queued.pop();
    }
    fn rank_to_lose(&self, _: FlowIx, last: &Queued) -> u64 {
        last.packet.tag
    }
    fn take_part(&mut self, _: Time, _: FlowIx, _: Participation, _: &Queues) {}
    fn memory(&self) -> usize {
        size_of_val(&self.mean)
    }
}

/// Two hops: a packet that waited longer than the mean at the first hop overtakes at the second.
#[test]
fn fifo_plus_carries_over_two_hops() {
    let fifo_plus = SchedulerKind::custom(|| Box::<FifoPlus>::default());
    let mut hops = [World::with(fifo_plus.clone()), World::with(fifo_plus)];
    let legs = [0, 1].map(|hop| [0, 1].map(|_| hops[hop].open(0, &FlowPlan::default())));
    let late = hops[0].arrive(&[legs[0][0]], 100);
    hops[0].wait(Span::from_millis(30));
    let mut packet = hops[0].send(0).unwrap();
    // The first hop's mean delay is 10 ms: this packet is 20 ms behind.
    let delay = hops[0].now.since(packet.arrived);
    packet.carry += delay.ticks() as i64 - Span::from_millis(10).ticks() as i64;
    assert_eq!((packet.body.0, packet.carry), (late, Span::from_millis(20).ticks() as i64));

    hops[1].now = hops[0].now;
    let cross = Packet::new(tidegate_core::packet::BodyId(99), 100);
    hops[1].arrive_packet(&[legs[1][1]], cross);
    hops[1].wait(Span::from_millis(15));
    hops[1].arrive_packet(&[legs[1][0]], packet);
    let order = [hops[1].send(0).unwrap(), hops[1].send(0).unwrap()];
    assert_eq!(order.map(|packet| packet.body.0), [late, 99]);
    // The carry arrives as it left.
    assert_eq!(order.map(|packet| packet.carry), [Span::from_millis(20).ticks() as i64, 0]);
}

/// Multicast: one stored body, released once, whatever happens to the copies.
#[test]
fn multicast_to_two_ports_stores_one_body() {
    use tidegate_core::params::Limit;
    let ports = vec![PortPlan::new(kind("fifo")), PortPlan::new(kind("virtual-clock"))];
    let mut world = World::new(&SwitchPlan { ports, buffer: Some(Limit::Packets(3)) });
    let both = [world.open(0, &FlowPlan::default()), world.open(1, &reserved(64_000))];
    for _ in 0..3 {
        world.arrive(&both, 500);
    }
    assert_eq!((world.switch.pool().packets, world.switch.pool().bytes), (3, 1500));
    world.start(0);
    world.start(1);
    assert_eq!(world.finish(0).1, Body::Kept);
    assert_eq!(world.switch.pool().packets, 3);
    assert_eq!(world.finish(1).1, Body::Released);
    assert_eq!(world.switch.pool().packets, 2);
    // Two more bodies do not fit: copies are pushed out until a whole body is free.
    world.arrive(&both, 500);
    world.arrive(&both, 500);
    assert_eq!(world.switch.pool().packets, 3);
    let gone = world.dropped();
    assert!(gone.iter().all(|(_, reason, _)| *reason == Reason::PushedOut));
    assert_eq!(gone.iter().filter(|(_, _, body)| *body == Body::Released).count(), 1);
    let mut released = 0;
    for port in [0, 1] {
        while world.start(port).is_some() {
            released += u32::from(world.finish(port).1 == Body::Released);
        }
    }
    assert_eq!((released, world.switch.pool().packets, world.switch.pool().bytes), (3, 0, 0));
}

/// The same scheduler as a built-in and behind `dyn` serves in the same order.
#[test]
fn a_scheduler_behind_dyn_serves_alike() {
    fn boxed() -> Box<dyn Scheduler + Send> {
        Box::new(SchedulerKind::named("virtual-clock").unwrap().build().unwrap())
    }
    let served = |scheduler: SchedulerKind| {
        let mut world = World::with(scheduler);
        let legs = [64_000, 128_000, 256_000].map(|bits| world.open(0, &reserved(bits)));
        let mut order = Vec::new();
        for step in 0..3_000_u32 {
            let draw = world.rng.below(3) as usize;
            world.arrive(&[legs[draw]], 64 + (step % 7) * 200);
            world.wait(Span::from_micros(500));
            if step % 3 > 0 {
                order.extend(world.send(0).map(|packet| packet.body.0));
            }
        }
        order
    };
    let built_in = served(kind("virtual-clock"));
    assert_eq!(built_in.len(), 2000);
    assert_eq!(built_in, served(SchedulerKind::custom(boxed)));
}

/// A live loop that reconfigures under load: nothing is lost, nothing is reordered within a
/// flow, and a bad plan changes nothing.
#[test]
fn a_live_loop_reconfigures_under_load() {
    let class = |scheduler: &str| ClassPlan {
        contract: Contract { reserve: Some(rate(1_000_000)), priority: 1, ..Contract::default() },
        ..ClassPlan::new(kind(scheduler))
    };
    let flat = |name: &str, ceiling| PortPlan { ceiling, ..PortPlan::new(kind(name)) };
    let deep =
        PortPlan { classes: vec![class("fifo"), class("virtual-clock")], ..flat("strict-priority", None) };
    let ports = [
        flat("fifo", None),
        deep.clone(),
        flat("virtual-clock", Some(rate(5_000_000))),
        PortPlan::new(round_robin()),
    ];
    let mut world = World::with(kind("fifo"));
    let legs = [0; 4].map(|port| world.open(port, &reserved(500_000)));
    let (mut sent, mut next) = ([0u32; 4], [0u32; 4]);
    for step in 0..6000_usize {
        let flow = world.rng.below(4) as usize;
        let mut packet =
            Packet::new(tidegate_core::packet::BodyId(next[flow]), 100 + world.rng.below(1400) as u32);
        packet.carry = flow as i64;
        if step < 4000 {
            next[flow] += 1;
            world.arrive_packet(&[legs[flow]], packet);
        }
        if step % 50 == 0 && step < 4000 {
            let port = ports[step / 50 % 4].clone();
            let in_class =
                |ix| FlowPlan { class: port.classes.get(ix).map(|_| ix as u16), ..reserved(500_000) };
            let flows: Vec<_> = legs.iter().enumerate().map(|(ix, leg)| (*leg, in_class(ix % 2))).collect();
            let diff = world.reconfigure(&SwitchPlan { ports: vec![port], buffer: None }, &flows);
            assert_eq!(diff.contains(&Change::Tree(0)), step > 0, "{diff:?}");
            let pool = world.switch.pool();
            assert!(world.cx(|switch, cx| switch.reconfigure(cx, &SwitchPlan::default(), &[])).is_err());
            assert_eq!(world.switch.pool(), pool);
        }
        world.wait(Span::from_micros(if step < 4000 { 900 } else { 10_000 }));
        world.timer(0);
        if let Some(packet) = world.send(0) {
            let flow = packet.carry as usize;
            assert_eq!(packet.body.0, sent[flow], "flow {flow} is out of order at step {step}");
            sent[flow] += 1;
        }
    }
    assert_eq!(sent, next);
    assert!(world.dropped().is_empty());
}
