//! Toy drivers: each uses the contract as a later feature will, in at most 60 lines, and none
//! needs a special case in the switch.

#[path = "../common/mod.rs"]
mod common;
mod detectors;
mod droppers;
mod meters;
mod schedulers;
#[path = "../common/toy.rs"]
mod toy;

use common::{World, kind, rate, reserved};
use std::collections::VecDeque;
use tidegate_core::context::{Body, Ctx, Reason, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::dropper::{Dropper, DropperKind, Occupancy};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{
    Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use tidegate_core::queues::Queues;
use tidegate_core::scheduler::{Participation, Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PlanChange, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// Round robin over flows, a quantum of packets a turn, as a user would write it outside the crate.
pub struct RoundRobin {
    quantum: u32,
    /// Packets that the first flow has sent in its turn.
    used: u32,
    turn: VecDeque<FlowIx>,
}
impl RoundRobin {
    /// Takes a flow out of the round, if it is not to stay.
    fn leave(&mut self, flow: FlowIx, stays: bool) {
        let first = self.turn.front().copied();
        self.turn.retain(|other| *other != flow || stays);
        if self.turn.front().copied() != first {
            self.used = 0;
        }
    }
}

impl Scheduler for RoundRobin {
    fn set_flow(&mut self, _: Time, _: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        Ok(())
    }
    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
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
        self.used += 1;
        if self.used < self.quantum && queues.len(packet.flow) > 0 {
            return;
        }
        self.used = 0;
        self.turn.pop_front();
        if queues.len(packet.flow) > 0 {
            self.turn.push_back(packet.flow);
        }
    }
    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        self.leave(packet.flow, queues.len(packet.flow) > 0);
    }
    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        self.leave(flow, false);
        if queues.takes_part(flow) && queues.len(flow) > 0 {
            self.turn.push_back(flow);
        }
    }
    fn memory(&self) -> usize {
        0
    }
}

parameters! {
    /// Parameters of the round.
    #[derive(Copy)]
    pub struct RoundRobinParams {
        /// Packets that a flow may send in its turn
        quantum: u32,
    }
}

impl PolicyParams for RoundRobinParams {
    type Policy = RoundRobin;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "turns-of-packets",
        title: "Turns of packets",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves flows in turns of a number of packets.",
        source: "a test",
        params: RoundRobinParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<RoundRobin, Refused> {
        Ok(RoundRobin { quantum: self.quantum, used: 0, turn: VecDeque::new() })
    }

    fn example() -> RoundRobinParams {
        RoundRobinParams { quantum: 2 }
    }
}

fn round_robin(quantum: u32) -> SchedulerKind {
    SchedulerKind::outside(RoundRobinParams { quantum })
}

/// Refuses packets that would make the queue longer than a number of packets.
pub struct AtMost(u64);
impl Dropper for AtMost {
    fn arrive(&mut self, _: &mut Ctx<'_>, _: &Packet, at: &Occupancy) -> Verdict {
        if at.queue.packets < self.0 { Verdict::Accept } else { Verdict::Drop(Reason::QueueLimit) }
    }
}

parameters! {
    /// The parameter of the limit.
    #[derive(Copy)]
    pub struct AtMostParams {
        /// Most packets that wait
        limit: u32,
    }
}

impl PolicyParams for AtMostParams {
    type Policy = AtMost;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "at-most",
        title: "At most",
        role: Role::Dropper,
        help: "Drops packets beyond a number of packets.",
        source: "a test",
        params: AtMostParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<AtMost, Refused> {
        Ok(AtMost(u64::from(self.limit)))
    }

    fn example() -> AtMostParams {
        AtMostParams { limit: 5 }
    }
}

/// One declaration makes policies with different parameters: turns of the quantum while all have
/// packets, and as many drops as are beyond the limit.
#[test]
fn policies_from_outside_have_parameters() {
    for (quantum, limit) in [(1, 60), (3, 45), (7, 10)] {
        let dropper = Some(DropperKind::outside(AtMostParams { limit: limit as u32 }).into());
        let port = PortPlan { dropper, ..PortPlan::new(round_robin(quantum)) };
        let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
        let legs: Vec<_> = (0..3).map(|_| world.open(0, &FlowPlan::default())).collect();
        (0..20).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 53)));
        assert_eq!(world.dropped().len() as u64, 60 - limit);
        let sent: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
        let expected = (0..limit as u32).map(|nth| nth / quantum % 3);
        let backlogged = limit as usize / 3 / quantum as usize * quantum as usize * 3;
        assert!(expected.take(backlogged).eq(sent[..backlogged].iter().copied()), "{quantum}: {sent:?}");
        assert_eq!(sent.len() as u64, limit);
    }
}

/// Credit pauses a flow (Absent): it sends exactly its credit, the others any amount, and on new
/// credit it takes its place at the end of the round.
#[test]
fn a_credit_paused_round_robin() {
    let mut world = World::with(round_robin(1));
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

/// A virtual source: each VC is shaped to its own rate, and packets released by its shaper join one
/// class queue, FIFO in the order of release.
#[test]
fn per_vc_shaped_queues_feed_a_class_queue() {
    let class = ClassPlan::new(kind("fifo"));
    let port = PortPlan { classes: vec![class], ..PortPlan::new(kind("strict-priority")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    // 100 bytes at 80 and 40 kbit/s: 10 ms and 20 ms a packet.
    let shaped = |bits| FlowPlan {
        class: Some(0),
        shaper: Some(ShaperPlan {
            rate: rate(bits),
            burst: 100,
            peak: None,
            queue: None,
            excess: Excess::Wait,
            calendar: None,
        }),
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

/// Multicast: one stored body, released once, whatever happens to the copies.
#[test]
fn multicast_to_two_ports_stores_one_body() {
    use tidegate_core::params::Limit;
    let ports = vec![PortPlan::new(kind("fifo")), PortPlan::new(kind("virtual-clock"))];
    let mut world =
        World::new(&SwitchPlan { ports, buffer: Some(Limit::Packets(3)), ..SwitchPlan::default() });
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

/// A scheduler serves in the same order as a built-in and behind `dyn`.
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
    assert_eq!(built_in, served(kind("virtual-clock").made_by(boxed)));
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
        PortPlan::new(round_robin(1)),
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
            let diff = world.reconfigure(
                &SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() },
                &flows,
            );
            assert_eq!(diff.contains(&PlanChange::Tree(0)), step > 0, "{diff:?}");
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
