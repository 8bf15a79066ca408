//! Reports of a port's meters on profiles: each by its place, those of flows apart from those that
//! flows share.

mod common;

use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::meter::mode::Mode;
use tidegate_core::meter::srtcm::SrTcmParams;
use tidegate_core::meter::{BuiltInMeter, MeterKind, Usage};
use tidegate_core::packet::{BodyId, Colour, Leg, Mark, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, MAX_METERS, PortPlan, SwitchPlan};
use tidegate_core::units::Span;

fn marker(mode: Mode) -> MeterKind {
    MeterKind::BuiltIn(BuiltInMeter::SrTcm(SrTcmParams { mode }))
}

fn profile(bits: u64, burst: u32) -> Contract {
    Contract { reserve: Some(rate(bits)), workahead: Some(burst), ..Contract::default() }
}

/// The bytes that a flow's meters found green, yellow and red, by class, and the profile that they
/// were charged to.
fn told(world: &World, leg: Leg) -> Vec<(Option<u16>, Option<u16>, [u64; 3])> {
    world.switch.usage(leg).map(|used| (used.class, used.profile, used.usage.coloured)).collect()
}

/// A cascade: flows of two classes have a profile each at the meter of their class, and share one
/// at the port's, which never improves a colour. The port's record is the sum over its flows, red
/// packets stay red there, and the green packets of the port are those that its last meter found
/// green.
#[test]
fn an_aggregate_is_charged_with_what_its_flows_were_left() {
    let (mut yellowed, mut green) = (0, 0);
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "cascade");
        let class = || ClassPlan { meters: vec![marker(Mode::Blind)], ..ClassPlan::new(kind("fifo")) };
        let plan = PortPlan {
            classes: vec![class(), class()],
            meters: vec![marker(Mode::Aware)],
            profiles: vec![profile(1_000_000, 9_000)],
            ..PortPlan::new(kind("fifo"))
        };
        let mut world = World::new(&SwitchPlan { ports: vec![plan], ..SwitchPlan::default() });
        world.switch.count_green(PortIx(0));
        let shared = [None, Some(0), None, None];
        let flow = |class| FlowPlan {
            class: Some(class),
            contract: profile(800_000, 4_000),
            profiles: shared,
            ..FlowPlan::default()
        };
        let legs = [0, 0, 1].map(|class| world.open(0, &flow(class)));
        let mut left = [0; 3];
        for _ in 0..400 {
            world.wait(Span::from_micros(rng.below(6_000)));
            let len = 40 + rng.below(1_460) as u32;
            world.arrive_packet(&[pick(&mut rng, &legs)], Packet::new(BodyId(1), len));
            left[world.send(0).unwrap().mark.colour() as usize] += u64::from(len);
        }
        let of_flows: Vec<_> = legs.iter().map(|leg| told(&world, *leg)).collect();
        let mut sums = [0; 3];
        for (told, class) in of_flows.iter().zip([0, 0, 1]) {
            let [(own, None, coloured), (None, Some(0), aggregate)] = told[..] else { panic!("{told:?}") };
            assert_eq!((own, aggregate), (Some(class), left));
            sums = [0, 1, 2].map(|colour| sums[colour] + coloured[colour]);
        }
        assert_eq!(sums.iter().sum::<u64>(), left.iter().sum::<u64>());
        assert!(left[0] <= sums[0] && left[2] >= sums[2], "seed {seed}: {sums:?} {left:?}");
        assert_eq!(world.switch.green(PortIx(0)).unwrap().bytes, left[0]);
        yellowed += u64::from(left[2] > sums[2]);
        green += u64::from(left[0] > 0);
    }
    assert!(yellowed > rounds(20) / 2 && green == rounds(20), "{yellowed} {green}");
}

/// A change of a flow's plan for another shaper, as a new pace is, leaves it in the profile that it
/// shares.
#[test]
fn a_new_shaper_leaves_the_flow_in_its_profile() {
    let profiles = vec![profile(1_000_000, 9_000)];
    let plan = PortPlan { meters: vec![marker(Mode::Blind)], profiles, ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![plan], ..SwitchPlan::default() });
    let given = FlowPlan { profiles: [Some(0), None, None, None], ..FlowPlan::default() };
    let leg = world.open(0, &given);
    let plan = world.switch.plan_of(leg).unwrap();
    assert_eq!(plan, given);
    let shaper = Some(ShaperPlan {
        rate: rate(500_000),
        burst: 1_500,
        peak: None,
        queue: None,
        excess: Excess::Wait,
        calendar: None,
    });
    _ = world.switch.change(world.now, leg, &FlowPlan { shaper, ..plan }).unwrap();
    world.arrive(&[leg], 700);
    assert_eq!(told(&world, leg), [(None, Some(0), [700, 0, 0])]);
}

/// Flows without a meter are not reported, and their packets count as green, as they are.
#[test]
fn what_nobody_colours_is_green() {
    let plan = PortPlan::new(kind("fifo"));
    let mut world = World::new(&SwitchPlan { ports: vec![plan], ..SwitchPlan::default() });
    let shared = FlowPlan { profiles: [None; MAX_METERS], ..FlowPlan::default() };
    let leg = world.open(0, &shared);
    assert_eq!(world.switch.green(PortIx(0)), None);
    world.arrive(&[leg], 700);
    world.switch.count_green(PortIx(0));
    world.arrive(&[leg], 500);
    let mut red = Packet::new(BodyId(1), 300);
    red.mark = Mark::NONE.coloured(Colour::Red);
    world.arrive_packet(&[leg], red);
    assert_eq!(world.switch.green(PortIx(0)).map(|green| (green.packets, green.bytes)), Some((1, 500)));
    assert_eq!(world.switch.usage(leg).count(), 0);
}

/// Records add up, and the usage since a record is the rest of the sum.
#[test]
fn what_was_used_since_is_the_difference() {
    let one = Usage { coloured: [1, 2, 3], congested_inside: 4, congested_outside: 5 };
    let other = Usage { coloured: [70, 60, 50], congested_inside: 40, congested_outside: 30 };
    assert_eq!(one.and(&other).since(&one), other);
    assert_eq!(one.and(&Usage::NOTHING), one);
}
