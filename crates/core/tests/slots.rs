//! Flow indices: one is given to another flow only when nothing tells the two apart, and then
//! it is, so that flows that come and go cost no memory.

mod common;

use common::lines::Lines;
use common::{World, kind, pick, rate, reserved, rounds};
use std::collections::BTreeMap;
use tidegate_core::context::{Body, Reason};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

fn after(millis: u64) -> Time {
    Time::ORIGIN + Span::from_millis(millis)
}

/// Opens, and closes again without a trace: the index that a newcomer gets now.
fn next_index(world: &mut World, plan: &FlowPlan) -> u32 {
    world.open(0, plan).flow.0
}

/// The flow sends `packets` of 1000 bytes on an idle link and closes: the next flow
/// gets its index from `free_at` on, and another index before.
fn assert_free_at(name: &str, plan: &FlowPlan, packets: u32, free_at: Time) {
    for (at, same) in [(Time::from_ticks(free_at.ticks() - 1), false), (free_at, true)] {
        let mut lines = Lines::new(World::with(kind(name)), &[rate(1_000_000_000)]);
        let leg = lines.world.open(0, plan);
        (0..packets).for_each(|_| _ = lines.arrive(&[leg], 1000));
        lines.world.close(leg);
        lines.run(at);
        let index = next_index(&mut lines.world, plan);
        assert_eq!(index == leg.flow.0, same, "{name} at {at:?}");
    }
}

#[test]
fn a_clock_that_is_ahead_keeps_its_index() {
    // 1000 bytes at 1 Mbit/s are 8 ms.
    assert_free_at("virtual-clock", &reserved(1_000_000), 5, after(40));
}

#[test]
fn a_ceiling_that_is_not_clear_keeps_its_index() {
    let plan = FlowPlan { ceiling: Some(rate(1_000_000)), ..FlowPlan::default() };
    assert_free_at("fifo", &plan, 5, after(40));
}

#[test]
fn a_bucket_that_is_not_full_keeps_its_index() {
    let shaper = Some(ShaperPlan {
        rate: rate(1_000_000),
        burst: 3000,
        peak: None,
        queue: None,
        excess: Excess::Wait,
        calendar: None,
    });
    assert_free_at("fifo", &FlowPlan { shaper, ..FlowPlan::default() }, 3, after(24));
}

/// FIFO remembers nothing: the index is free once the last bit is out, and not before.
#[test]
fn a_packet_in_service_keeps_its_index() {
    let mut world = World::with(kind("fifo"));
    let leg = world.open(0, &FlowPlan::default());
    world.arrive(&[leg], 1000);
    world.start(0);
    world.close(leg);
    let other = world.open(0, &FlowPlan::default());
    assert_ne!(leg, other);
    world.switch.audit(world.now).unwrap();
    world.finish(0);
    assert_eq!(world.switch.counters(leg).sent.packets, 1);
    assert_eq!(world.switch.counters(other).sent.packets, 0);
    assert_eq!(world.open(0, &FlowPlan::default()), leg);
    assert_eq!(world.switch.counters(leg).sent.packets, 0);
}

/// A closed flow sends what it has queued, and gets nothing more.
#[test]
fn a_closing_flow_drains_and_accepts_nothing() {
    let mut world = World::with(kind("fifo"));
    let leg = world.open(0, &FlowPlan::default());
    let queued = [0; 2].map(|_| world.arrive(&[leg], 1000));
    world.take_part(leg, Participation::Absent);
    world.close(leg);
    let late = world.arrive(&[leg], 1000);
    assert_eq!(world.dropped(), [(late, Reason::NoFlow, Body::Released)]);
    let sent: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.body.0).collect();
    assert_eq!(sent, queued);
    assert_eq!(world.switch.counters(leg).arrived.packets, 2);
}

/// Credit that comes late for a closed flow does not shut the flow that has its index now.
#[test]
fn a_reused_index_starts_with_an_open_gate() {
    let mut world = World::with(kind("fifo"));
    let leg = world.open(0, &FlowPlan::default());
    world.close(leg);
    world.take_part(leg, Participation::Absent);
    assert_eq!(world.open(0, &FlowPlan::default()), leg);
    world.arrive(&[leg], 1000);
    assert!(world.start(0).is_some());
}

/// A flow at an index that had an owner is served like one at a new index: same packets, same
/// order, against rivals that were there all the time.
#[test]
fn a_reused_index_serves_like_a_new_one() {
    for name in
        ["fifo", "strict-priority", "virtual-clock", "fifo-plus", "round-robin", "drr", "edf", "jitter-edd"]
    {
        for seed in 0..rounds(20) {
            let mut served = Vec::new();
            for reuses in [false, true] {
                let mut rng = Rng::named(seed, name);
                let mut world = World::with(kind(name));
                let rivals = [64_000, 512_000].map(|bits| world.open(0, &reserved(bits)));
                if reuses {
                    let first =
                        world.open(0, &FlowPlan { ceiling: Some(rate(9_000_000)), ..reserved(1_000) });
                    world.arrive(&[first], 40);
                    world.arrive(&[first], 40);
                    world.take_part(first, Participation::Absent);
                    world.close(first);
                    while world.now < after(1000) {
                        world.wait(Span::from_millis(100));
                        world.timer(0);
                        world.send(0);
                    }
                }
                world.now = after(2000);
                let plan = FlowPlan {
                    contract: Contract { priority: 1, ..reserved(256_000).contract },
                    ..FlowPlan::default()
                };
                let newcomer = world.open(0, &plan);
                let opened = world.switch.counters(newcomer).arrived.packets;
                assert_eq!((newcomer.flow.0, opened), (2, 0));
                let mut order = Vec::new();
                for _ in 0..300 {
                    let leg = pick(&mut rng, &[rivals[0], rivals[1], newcomer]);
                    world.arrive(&[leg], 40 + rng.below(1460) as u32);
                    world.wait(Span::from_micros(rng.below(9000)));
                    if rng.chance(0.7) {
                        order.extend(world.send(0).map(|packet| (packet.flow, packet.len)));
                    }
                }
                served.push(order);
            }
            assert_eq!(served[0], served[1], "{name}, seed {seed}");
        }
    }
}

/// Debt stays with the index: an innocent newcomer does not inherit it.
#[test]
fn a_newcomer_inherits_no_debt() {
    let mut world = World::with(kind("virtual-clock"));
    let rival = world.open(0, &reserved(1_000_000));
    let fast = world.open(0, &reserved(1_000_000));
    (0..50).for_each(|_| _ = world.arrive(&[fast], 1000));
    while world.send(0).is_some() {}
    world.close(fast);
    let newcomer = world.open(0, &reserved(1_000_000));
    (0..4).for_each(|_| {
        world.arrive(&[rival], 1000);
        world.arrive(&[newcomer], 1000);
    });
    let order: Vec<Leg> =
        std::iter::from_fn(|| world.send(0)).map(|packet| Leg { flow: packet.flow, ..rival }).collect();
    assert_eq!(order, [rival, newcomer].repeat(4));
}

/// Short flows by the thousand, in every class: the memory stays what it was after the first few.
#[test]
fn memory_does_not_grow_with_flows_that_come_and_go() {
    let class = |parent| ClassPlan {
        parent,
        contract: Contract { reserve: Some(rate(1_000_000)), ..Contract::default() },
        ..ClassPlan::new(kind("virtual-clock"))
    };
    let port =
        PortPlan { classes: vec![class(None), class(None), class(Some(0))], ..PortPlan::new(kind("fifo")) };
    let mut lines = Lines::new(
        World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() }),
        &[rate(1_000_000_000)],
    );
    lines.world.audited = false;
    let mut rng = Rng::named(1, "come and go");
    let mut open: BTreeMap<u64, Leg> = BTreeMap::new();
    let mut memory = 0;
    let (flows, warm_up) = (rounds(100_000), 10_000);
    for flow in 0..flows {
        // The classes change their popularity; at most ten flows are open at once.
        let class = if flow % 1000 < 900 { flow / 1000 % 4 } else { rng.below(4) };
        let class = (class as u16).checked_sub(1);
        let shaper = ShaperPlan {
            rate: rate(10_000_000),
            burst: 1500,
            peak: None,
            queue: None,
            excess: Excess::Wait,
            calendar: None,
        };
        let shaper = rng.chance(0.3).then_some(shaper);
        let ceiling = rng.chance(0.3).then(|| rate(100_000_000));
        let plan = FlowPlan { class, shaper, ceiling, ..reserved(10_000_000) };
        let leg = lines.world.open(0, &plan);
        open.insert(flow, leg);
        for _ in 0..rng.below(3) {
            lines.arrive(&[leg], 1000);
        }
        let until = lines.world.now + Span::from_micros(rng.below(4000));
        lines.run(until);
        if open.len() > 10 {
            let (_, leg) = open.pop_first().unwrap();
            lines.world.close(leg);
        }
        lines.sent.clear();
        if flow == warm_up {
            memory = lines.world.switch.memory();
        }
    }
    let now = lines.world.switch.memory();
    assert!(now <= memory, "{memory} bytes after {warm_up} flows, {now} after {flows}");
    let last = lines.world.open(0, &reserved(1000)).flow.0;
    assert!(last < 200, "index {last} for at most ten open flows");
}
