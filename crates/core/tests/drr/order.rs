//! The order of service.

use crate::common::lines::Lines;
use crate::common::twins::Twins;
use crate::common::{World, pick, rate, reserved, rounds};
use crate::drr;
use crate::model::Drr;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

/// Reservations from a hundredth of `unreserved` on, so that quanta are from a few bytes to many
/// packets.
fn any_contract(rng: &mut Rng) -> Contract {
    let reserve = pick(rng, &[None, Some(1_000), Some(3_333), Some(100_000), Some(777_777)]);
    Contract { reserve: reserve.map(rate), ..Contract::default() }
}

#[test]
fn packets_are_those_of_the_papers_loop() {
    let mut pushed_out = 0;
    for seed in 0..rounds(20) {
        for (most, gated) in [(None, true), (Some(12), false), (Some(40), false)] {
            let mut rng = Rng::named(seed, "deficits");
            let (quantum, unreserved) = pick(&mut rng, &[(1_500, 100_000), (9_000, 10_000), (100, 50_000)]);
            let model = Drr::new(quantum, unreserved);
            let mut twins = Twins::new(drr(quantum, unreserved), rate(8_000_000), most, model);
            let flows = 1 + rng.below(9);
            twins.storm(&mut rng, flows, gated, any_contract, |_| 0);
            pushed_out += twins.pushed_out;
        }
    }
    assert!(pushed_out > 500, "{pushed_out}");
}

/// A packet of several quanta: the turns that passed before it may be sent are not lost when its
/// flow is held.
#[test]
fn a_flow_that_is_held_keeps_the_turns_that_have_passed() {
    let mut world = World::with(drr(100, 10_000));
    let legs = [0; 3].map(|_| world.open(0, &FlowPlan::default()));
    // Alone, it has had four quanta, and the fifth is that of its turn.
    world.arrive(&[legs[1]], 450);
    world.take_part(legs[1], Participation::Held);
    (0..2).for_each(|_| _ = world.arrive(&[legs[0]], 100));
    world.arrive(&[legs[2]], 450);
    world.take_part(legs[1], Participation::Active);
    let order: Vec<_> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow).collect();
    assert_eq!(order, [legs[0], legs[1], legs[0], legs[2]].map(|leg| leg.flow));
}

/// A ceiling holds a flow after every packet, and takes nothing of its quantum away: one above the
/// fair share leaves it that.
#[test]
fn a_flow_with_a_ceiling_has_its_whole_turn() {
    let link = rate(10_000_000);
    for quantum in [1_500, 15_000, 100_000] {
        let mut lines = Lines::new(World::with(drr(quantum, 10_000)), &[link]);
        lines.world.audited = false;
        let ceiling = Some(rate(6_000_000));
        let capped = lines.world.open(0, &FlowPlan { ceiling, ..FlowPlan::default() });
        let other = lines.world.open(0, &FlowPlan::default());
        for leg in [capped, other] {
            (0..900).for_each(|_| _ = lines.world.arrive(&[leg], 1_000));
        }
        lines.run(Time::ORIGIN + Span::from_secs(1));
        let sent = |leg: Leg| lines.sent.iter().filter(|sent| sent.packet.flow == leg.flow).count() as u64;
        let (capped, other) = (sent(capped), sent(other));
        assert!(capped + other >= 1_250, "{capped} and {other}");
        assert!(capped.abs_diff(other) <= 2 * quantum / 1_000 + 2, "quantum {quantum}: {capped} and {other}");
    }
}

/// A flow that sends for long without rivals has nothing saved, and nothing to pay, when they come:
/// the rest of its turn.
#[test]
fn a_flow_without_rivals_saves_nothing() {
    let mut world = World::with(drr(1_500, 10_000));
    let legs = [0; 2].map(|_| world.open(0, &FlowPlan::default()));
    for _ in 0..100 {
        world.arrive(&[legs[0]], 100);
        assert_eq!(world.send(0).unwrap().flow, legs[0].flow);
    }
    // Turns are of fifteen packets, and it has ten of the seventh.
    (0..60).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 100)));
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    assert!(order[..5].iter().all(|flow| *flow == 0), "{order:?}");
    let turns = order[5..110].chunks(15).enumerate();
    assert!(turns.into_iter().all(|(nth, turn)| turn.iter().all(|flow| *flow == 1 - nth as u32 % 2)));
}

/// Rounds without a packet are counted, not gone through: 64 KiB by quanta of a byte, and a hundred
/// thousand flows.
#[test]
fn short_quanta_take_no_longer() {
    let mut world = World::with(drr(1, 10_000));
    world.audited = false;
    let legs: Vec<Leg> = (0..3).map(|_| world.open(0, &FlowPlan::default())).collect();
    let mut sent = [0u64; 3];
    (0..2_000).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 65_535)));
    while let Some(packet) = world.send(0) {
        sent[packet.flow.ix()] += 1;
        assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 1);
    }
    assert_eq!(sent, [2_000; 3]);

    let mut world = World::with(drr(100, 10_000));
    world.audited = false;
    let legs: Vec<Leg> = (0..100_000).map(|_| world.open(0, &FlowPlan::default())).collect();
    (0..2).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 1_000)));
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    assert!(order.iter().copied().eq((0..200_000).map(|nth| nth % 100_000)));
}

/// From one bit a second to ten terabit a second: the least quantum is a byte, and no flow starves.
#[test]
fn the_smallest_and_the_largest_reservations_take_turns() {
    let mut world = World::with(drr(1_514, 10_000));
    let legs = [1, 7, 10_000_000_000_000].map(|bits| world.open(0, &reserved(bits)));
    for _ in 0..40 {
        (0..10).for_each(|_| _ = world.arrive(&[legs[2]], 65_535));
        legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 4));
    }
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    // The largest has all that it has sent before the others have had a quantum of four bytes.
    assert!(order[..440].iter().all(|flow| *flow == legs[2].flow.0) && order.len() == 520, "{order:?}");
    let ahead = order[440..].iter().scan(0i32, |ahead, flow| {
        *ahead += if *flow == legs[0].flow.0 { 1 } else { -1 };
        Some(*ahead)
    });
    assert!(ahead.clone().all(|ahead| (-3..=1).contains(&ahead)), "{:?}", ahead.collect::<Vec<_>>());
}
