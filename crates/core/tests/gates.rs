//! Effect of a gate on a flow's place in the order: a held flow keeps it and may catch up, an
//! absent one comes back as a newcomer would, and never gains by having been away.

mod common;

use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

const SCHEDULERS: [&str; 8] =
    ["fifo", "strict-priority", "virtual-clock", "fifo-plus", "round-robin", "drr", "edf", "jitter-edd"];
/// Rates without common factors, so that stamps do not coincide.
const RIVALS: [u64; 3] = [1_000_003, 499_979, 250_007];

/// A flow with a reservation, and the deadline that follows from it.
fn promised(bits: u64) -> FlowPlan {
    let mut plan = reserved(bits);
    plan.contract.deadline = Some(rate(bits).time_for(2_000));
    plan
}

/// The places in the order of service that `subject`'s packets take among its rivals', who
/// always have packets. It sends `before` packets at the start, is away for a while, and has
/// `waiting` packets when it is there again.
fn places(name: &str, seed: u64, before: u32, waiting: u32, how: How) -> Vec<usize> {
    let mut rng = Rng::named(seed, name);
    let mut world = World::with(kind(name));
    world.audited = false;
    let rivals = RIVALS.map(|bits| world.open(0, &promised(bits)));
    let bits = pick(&mut rng, &[300_007, 2_000_003, 50_021]);
    let mut subject = world.open(0, &promised(bits));
    let link = rate(4_000_000);
    let mut sent = Vec::new();
    let mut serve = |world: &mut World, rng: &mut Rng, until: Time| {
        while world.now < until {
            for rival in rivals {
                if rng.chance(0.4) {
                    world.arrive(&[rival], 40 + rng.below(1460) as u32);
                }
            }
            match world.send(0) {
                Some(packet) => {
                    world.wait(link.time_for(packet.len));
                    sent.push(packet);
                }
                None => world.wait(Span::from_millis(1)),
            }
        }
    };
    (0..before).for_each(|_| _ = world.arrive(&[subject], 1000));
    serve(&mut world, &mut rng, Time::ORIGIN + Span::from_millis(500));
    if how == How::Away {
        world.take_part(subject, Participation::Absent);
        (0..waiting).for_each(|_| _ = world.arrive(&[subject], 1000));
    }
    serve(&mut world, &mut rng, Time::ORIGIN + Span::from_millis(1500));
    match how {
        How::Away => world.take_part(subject, Participation::Active),
        How::Newcomer => {
            subject = world.open(0, &promised(bits));
            (0..waiting).for_each(|_| _ = world.arrive(&[subject], 1000));
        }
        How::Stayed => (0..waiting).for_each(|_| _ = world.arrive(&[subject], 1000)),
    }
    serve(&mut world, &mut rng, Time::ORIGIN + Span::from_secs(4));
    let is_subject = |place: &usize| sent[*place].flow == subject.flow;
    (0..sent.len()).filter(is_subject).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    /// Absent, its packets waiting.
    Away,
    /// Not there before: the packets arrive when the absent flow would be back.
    Newcomer,
    /// Never absent, but silent for the time.
    Stayed,
}

#[test]
fn an_absent_flow_comes_back_exactly_as_a_newcomer() {
    for name in SCHEDULERS {
        for seed in 0..rounds(15) {
            let away = places(name, seed, 0, 8, How::Away);
            assert_eq!(away.len(), 8);
            assert_eq!(away, places(name, seed, 0, 8, How::Newcomer), "{name}, seed {seed}");
        }
    }
}

/// With or without packets before, whatever its clock says: the k-th packet is never sooner
/// than the k-th of one that was silent, and loses no debt.
#[test]
fn an_absent_flow_gains_nothing_over_one_that_was_silent() {
    for seed in 0..rounds(15) {
        for before in [1, 4, 40] {
            let away = places("virtual-clock", seed, before, 8, How::Away);
            let stayed = places("virtual-clock", seed, before, 8, How::Stayed);
            assert!(away.iter().zip(&stayed).all(|(away, stayed)| away >= stayed), "seed {seed}, {before}");
        }
    }
}

/// Two flows send exactly their reservations, on a link that is just fast enough; one is away for
/// 200 ms, 25 packets. Held, it is served alone until it has caught up; absent, they take turns.
#[test]
fn a_held_flow_catches_up_and_an_absent_one_does_not() {
    for (gate, alone) in [(Participation::Held, 25), (Participation::Absent, 0)] {
        let mut world = World::with(kind("virtual-clock"));
        // 1000 bytes at 1 Mbit/s are 8 ms, and half of it on the wire.
        let legs = [1_000_000; 2].map(|bits| world.open(0, &reserved(bits)));
        let mut served = Vec::new();
        for step in 0..300 {
            match step {
                101 => world.take_part(legs[0], gate),
                151 => world.take_part(legs[0], Participation::Active),
                _ => {}
            }
            if step % 2 == 0 {
                legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 1000));
            }
            let sent = world.send(0).map(|packet| packet.flow);
            assert!(sent != Some(legs[0].flow) || !(101..151).contains(&step));
            served.extend(sent.filter(|_| step >= 151));
            world.wait(Span::from_millis(4));
        }
        let first = served.iter().take_while(|flow| **flow == legs[0].flow).count();
        assert!(first.abs_diff(alone) <= 1, "{gate:?}: {first} packets in a row");
        let turns = served[first..].windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns + 5 > served.len() - first, "{gate:?}: {turns} turns in {served:?}");
    }
}

/// A flow that has sent too fast pays for it, whether or not it was away meanwhile.
#[test]
fn a_flow_ahead_of_its_clock_stays_ahead() {
    let order = |gate| {
        let mut world = World::with(kind("virtual-clock"));
        let (fast, rival) = (world.open(0, &reserved(1_000_000)), world.open(0, &reserved(1_000_003)));
        (0..100).for_each(|_| _ = world.arrive(&[fast], 1000));
        (0..100).for_each(|_| assert_eq!(world.send(0).unwrap().flow, fast.flow));
        world.take_part(fast, gate);
        world.wait(Span::from_millis(400));
        // The fast flow's clock stands at 800 ms; this is 400 ms, half way.
        (0..3).for_each(|_| _ = world.arrive(&[fast], 1000));
        (0..80).for_each(|_| _ = world.arrive(&[rival], 1000));
        world.take_part(fast, Participation::Active);
        let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
        assert_eq!(order.iter().position(|flow| *flow == fast.flow.0), Some(51));
        order
    };
    assert_eq!(order(Participation::Active), order(Participation::Held));
    assert_eq!(order(Participation::Active), order(Participation::Absent));
}

/// FIFO: a flow that was away stands at the end of the queue with all that it has.
#[test]
fn in_fifo_an_absent_flow_queues_up_again() {
    for name in ["fifo", "strict-priority"] {
        let mut world = World::with(kind(name));
        let [away, stays] = [0; 2].map(|_| world.open(0, &FlowPlan::default()));
        let arrive = |world: &mut World, leg: Leg| world.arrive(&[leg], 1000);
        let first = [arrive(&mut world, away), arrive(&mut world, away)];
        world.take_part(away, Participation::Absent);
        let meanwhile = [arrive(&mut world, stays), arrive(&mut world, stays)];
        world.take_part(away, Participation::Active);
        let later = [arrive(&mut world, stays), arrive(&mut world, away)];
        let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.body.0).collect();
        assert_eq!(order, [meanwhile, first, later].concat(), "{name}");
    }
}

/// A level is not a place in the queue: an urgent flow that comes back is urgent.
#[test]
fn an_absent_flow_keeps_its_level() {
    let mut world = World::with(kind("strict-priority"));
    let level =
        |priority| FlowPlan { contract: Contract { priority, ..Contract::default() }, ..FlowPlan::default() };
    let (urgent, other) = (world.open(0, &level(0)), world.open(0, &level(1)));
    world.take_part(urgent, Participation::Absent);
    for leg in [urgent, other, other] {
        world.arrive(&[leg], 1000);
    }
    assert_eq!(world.send(0).unwrap().flow, other.flow);
    world.take_part(urgent, Participation::Active);
    assert_eq!(world.send(0).unwrap().flow, urgent.flow);
}

/// A class none of whose flows takes part is absent as well, and rejoins as a newcomer: after its
/// flow's absence it and an equal rival take turns, instead of catching up.
#[test]
fn a_class_of_absent_flows_gains_nothing() {
    use tidegate_core::switch::plan::{ClassPlan, PortPlan, SwitchPlan};
    let class = ClassPlan { contract: reserved(1_000_000).contract, ..ClassPlan::new(kind("virtual-clock")) };
    let port = PortPlan { classes: vec![class.clone(), class], ..PortPlan::new(kind("virtual-clock")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    let in_class = |ix| FlowPlan { class: Some(ix), ..reserved(1_000_000) };
    let legs = [world.open(0, &in_class(0)), world.open(0, &in_class(1))];
    for _ in 0..200 {
        legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 1000));
    }
    world.take_part(legs[0], Participation::Absent);
    for _ in 0..50 {
        // At the rival's own rate, so that its clock does not run ahead meanwhile.
        assert_eq!(world.send(0).unwrap().flow, legs[1].flow);
        world.wait(rate(1_000_000).time_for(1000));
    }
    world.take_part(legs[0], Participation::Active);
    let mut served = [0i32; 2];
    for _ in 0..100 {
        served[world.send(0).unwrap().flow.ix()] += 1;
        assert!((served[0] - served[1]).abs() <= 2, "{served:?}");
        world.wait(rate(2_000_000).time_for(1000));
    }
}
