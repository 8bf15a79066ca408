//! The receiver's meter: packets inside the profile lose their congestion indication and nothing
//! else, packets outside keep it, and usage is counted.

mod common;

use common::{World, kind, pick, rate, rounds};
use tidegate_core::context::Reason;
use tidegate_core::contract::Contract;
use tidegate_core::meter::clearing::{Charges, ClearingExcess, ClearingParams};
use tidegate_core::meter::srtcm::SrTcmParams;
use tidegate_core::meter::tsw_tagger::{Approach, Tagging, TswTaggerParams};
use tidegate_core::meter::{BuiltInMeter, MeterKind, Usage};
use tidegate_core::packet::{BodyId, Colour, Leg, Mark, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{FlowPlan, MAX_METERS, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};

fn clearing(params: ClearingParams) -> MeterKind {
    MeterKind::BuiltIn(BuiltInMeter::Clearing(params))
}

/// A port with these meters, and flows that share a profile at each.
fn port(meters: Vec<MeterKind>, contract: Contract, flows: usize) -> (World, Vec<Leg>) {
    let plan = PortPlan { meters, profiles: vec![contract], ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![plan], ..SwitchPlan::default() });
    let plan = FlowPlan { profiles: [Some(0); MAX_METERS], ..FlowPlan::default() };
    let legs = (0..flows).map(|_| world.open(0, &plan)).collect();
    (world, legs)
}

/// Usage of the profiles of a flow, meter by meter.
fn usage(world: &World, leg: Leg) -> Vec<Usage> {
    world.switch.usage(leg).map(|used| used.usage).collect()
}

/// The mark with which a packet leaves; `None` when it was dropped by the meter.
fn pass(world: &mut World, leg: Leg, len: u32, mark: Mark) -> Option<Mark> {
    let mut packet = Packet::new(BodyId(1), len);
    packet.mark = mark;
    world.arrive_packet(&[leg], packet);
    let left = world.send(0).map(|packet| packet.mark);
    assert_eq!(left.is_none(), world.dropped().iter().any(|(_, reason, _)| *reason == Reason::Meter));
    left
}

/// Tokens in bits times the ticks of a second, which three flows share.
#[test]
fn what_is_inside_the_profile_is_cleared() {
    let (mut inside, mut outside) = (0, 0);
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "clearing");
        let bits = pick(&mut rng, &[64_000u64, 1_000_000, 5_000_000]);
        let burst = 1500 + rng.below(20_000) as u32;
        let excess = pick(&mut rng, &[ClearingExcess::Pass, ClearingExcess::Drop]);
        let contract = Contract { reserve: Some(rate(bits)), workahead: Some(burst), ..Contract::default() };
        let meter = clearing(ClearingParams { excess, ..ClearingParams::example() });
        let (mut world, legs) = port(vec![meter], contract, 3);
        let depth = i128::from(burst) * 8 * i128::from(TICKS_PER_SECOND);
        let (mut level, mut filled) = (depth, Time::ORIGIN);
        let mut used = Usage::NOTHING;
        for _ in 0..500 {
            world.wait(Span::from_ticks(rng.below(2 * rate(bits).time_for(750).ticks())));
            let len = 1 + rng.below(1500) as u32;
            let came = Mark::from_ip(46, rng.below(4) as u8)
                .coloured(pick(&mut rng, &[Colour::Green, Colour::Yellow]));
            let came = if rng.chance(0.3) { came.congested() } else { came };
            let left = pass(&mut world, pick(&mut rng, &legs), len, came);

            let gained = i128::from(world.now.since(filled).ticks()) * i128::from(bits);
            (level, filled) = ((level + gained).min(depth), world.now);
            let need = i128::from(len) * 8 * i128::from(TICKS_PER_SECOND);
            let congested = if came.has_met_congestion() { u64::from(len) } else { 0 };
            if need <= level {
                level -= need;
                used.coloured[0] += u64::from(len);
                used.congested_inside += congested;
                let left = left.unwrap();
                assert!(!left.has_met_congestion());
                assert_eq!((left.dscp(), left.colour()), (46, came.colour()));
                assert_eq!(left.is_ecn_capable(), came.is_ecn_capable());
                inside += congested;
            } else {
                used.coloured[2] += u64::from(len);
                used.congested_outside += congested;
                assert_eq!(left, (excess == ClearingExcess::Pass).then_some(came));
                outside += congested;
            }
        }
        for leg in legs {
            assert_eq!(usage(&world, leg), [used], "seed {seed}");
        }
    }
    assert!(inside > 10_000 && outside > 10_000, "{inside} {outside}");
}

/// By an estimated rate: up to 4/3 of the target all is inside, far above it nothing is; without a
/// target nothing ever is.
#[test]
fn a_window_makes_the_profile_a_rate() {
    let params = ClearingParams {
        window: Some(Span::from_millis(100)),
        approach: Approach::Short,
        tagging: Tagging::Probabilistic,
        excess: ClearingExcess::Pass,
        ..ClearingParams::example()
    };
    let came = Mark::from_ip(0, 1).congested();
    for (reserve, sent, share) in
        [(Some(1_000_000), 1_300_000, 1.0), (Some(1_000_000), 2_100_000, 0.0), (None, 1_000, 0.0)]
    {
        let contract = Contract { reserve: reserve.map(rate), ..Contract::default() };
        let (mut world, legs) = port(vec![clearing(params)], contract, 1);
        let mut cleared = 0;
        for nth in 0..2_000 {
            world.wait(rate(sent).time_for(500));
            let left = pass(&mut world, legs[0], 500, came).unwrap();
            cleared += u64::from(nth >= 1_000 && !left.has_met_congestion());
        }
        assert_eq!(cleared as f64 / 1_000.0, share, "{reserve:?} {sent}");
    }
}

/// Each meter on the way reports its own usage, in their order.
#[test]
fn a_cascade_tells_the_usage_of_each_meter() {
    let contract = Contract { reserve: Some(rate(8_000)), workahead: Some(1500), ..Contract::default() };
    let marker = MeterKind::BuiltIn(BuiltInMeter::SrTcm(SrTcmParams::example()));
    let meters =
        vec![marker, clearing(ClearingParams { excess: ClearingExcess::Drop, ..ClearingParams::example() })];
    let (mut world, legs) = port(meters, contract, 1);
    let came = Mark::from_ip(0, 0b11);
    assert_eq!(pass(&mut world, legs[0], 1000, came).map(Mark::ecn), Some(0b10));
    assert_eq!(pass(&mut world, legs[0], 1000, came), None);
    assert_eq!(pass(&mut world, legs[0], 500, Mark::NONE).map(Mark::colour), Some(Colour::Green));
    let used = Usage { coloured: [1500, 0, 1000], congested_inside: 1000, congested_outside: 1000 };
    // A marker does not look for congestion.
    let marked = Usage { coloured: used.coloured, ..Usage::NOTHING };
    assert_eq!(usage(&world, legs[0]), [marked, used]);
    let at: Vec<_> = world.switch.usage(legs[0]).map(|used| (used.class, used.nth, used.profile)).collect();
    assert_eq!(at, [(None, 0, Some(0)), (None, 1, Some(0))]);
}

/// A round-trip time reaches the flow's profile at every meter that follows it, its own or a shared
/// one, and no other flow's.
#[test]
fn a_round_trip_time_is_told_where_the_flow_is_metered() {
    let params = TswTaggerParams {
        window: Some(Span::from_secs(1)),
        round_trips: Some(1),
        tagging: Tagging::Deterministic,
        ..TswTaggerParams::example()
    };
    let tagger = || MeterKind::BuiltIn(BuiltInMeter::TswTagger(params));
    let contract = Contract { reserve: Some(rate(8_000_000)), ..Contract::default() };
    for shares in [true, false] {
        let green_after = |told: Option<usize>| {
            let meters = vec![clearing(ClearingParams::example()), tagger()];
            let (mut world, legs) = port(meters, contract, 1);
            let [own, other] = [(); 2].map(|()| world.open(0, &FlowPlan { contract, ..FlowPlan::default() }));
            let leg = if shares { legs[0] } else { own };
            assert!(world.switch.follows_round_trips(leg.port));
            if let Some(whose) = told {
                world.switch.set_round_trip([leg, other][whose], Span::from_millis(5));
            }
            // A burst of 600 kB, then 50 ms at the target: a window of a second remembers it.
            for _ in 0..400 {
                pass(&mut world, leg, 1500, Mark::NONE);
            }
            let mut left = None;
            for _ in 0..33 {
                world.wait(Span::from_micros(1500));
                left = pass(&mut world, leg, 1500, Mark::NONE);
            }
            left.unwrap().colour() == Colour::Green
        };
        assert!(!green_after(None) && green_after(Some(0)) && !green_after(Some(1)), "{shares}");
    }
    let (world, legs) = port(vec![clearing(ClearingParams::example())], contract, 1);
    assert!(!world.switch.follows_round_trips(legs[0].port));
}

/// With a filter, green packets find the profile as if they were alone, and the others pass as they
/// came.
#[test]
fn a_filter_charges_green_packets_alone() {
    let (mut cleared, mut dropped, mut passed) = (0, 0, 0);
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "filter");
        let contract =
            Contract { reserve: Some(rate(100_000)), workahead: Some(4000), ..Contract::default() };
        let excess = pick(&mut rng, &[ClearingExcess::Pass, ClearingExcess::Drop]);
        let window = pick(&mut rng, &[None, Some(Span::from_millis(50))]);
        let params = ClearingParams {
            excess,
            window,
            tagging: Tagging::Deterministic,
            charges: Charges::Green,
            ..ClearingParams::example()
        };
        let (mut filtered, legs) = port(vec![clearing(params)], contract, 1);
        let all = ClearingParams { charges: Charges::All, ..params };
        let (mut alone, alone_legs) = port(vec![clearing(all)], contract, 1);
        for _ in 0..500 {
            let gap = Span::from_micros(rng.below(30_000));
            filtered.wait(gap);
            alone.wait(gap);
            let len = 1 + rng.below(1500) as u32;
            // A packet of the codepoint AF13 shows that it is out, too.
            let out = pick(&mut rng, &[Mark::from_ip(46, 1).coloured(Colour::Red), Mark::from_ip(14, 1)]);
            let came = if rng.chance(0.5) { Mark::from_ip(46, 1) } else { out }.congested();
            let left = pass(&mut filtered, legs[0], len, came);
            if came.shown_colour() == Colour::Green {
                assert_eq!(left, pass(&mut alone, alone_legs[0], len, came));
                cleared += u64::from(left.is_some_and(|left| !left.has_met_congestion()));
                dropped += u64::from(left.is_none());
            } else {
                assert_eq!(left, Some(came));
                passed += 1;
            }
        }
        assert_eq!(usage(&filtered, legs[0]), usage(&alone, alone_legs[0]));
    }
    assert!(cleared > 500 && dropped > 200 && passed > 1000, "{cleared} {dropped} {passed}");
}
