//! Properties of every meter.

use crate::common::{pick, rounds};
use crate::{ONE, build, coloured, marked, see, terms};
use Colour::{Green, Red};
use tidegate_core::context::Verdict;
use tidegate_core::contract::Contract;
use tidegate_core::meter::BuiltInMeter;
use tidegate_core::meter::mode::Mode;
use tidegate_core::packet::{Colour, Mark, Packet};
use tidegate_core::params::{NamedPolicy, Role, Value};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

/// Every meter with the values of its example, in both modes where there are two.
fn every_meter() -> Vec<(BuiltInMeter, Option<Mode>)> {
    let in_mode = |example: &BuiltInMeter, word: &str| {
        let values = example.values().into_iter().map(|(name, value)| match name {
            "mode" => (name, Value::Text(word.into())),
            _ => (name, value),
        });
        BuiltInMeter::read(example.record().name, &values.collect::<Vec<_>>()).unwrap().unwrap()
    };
    let modes = |example: BuiltInMeter| match example.values().iter().any(|(name, _)| *name == "mode") {
        true => vec![
            (in_mode(&example, "colour-blind"), Some(Mode::Blind)),
            (in_mode(&example, "colour-aware"), Some(Mode::Aware)),
        ],
        false => vec![(example, None)],
    };
    BuiltInMeter::examples().into_iter().flat_map(modes).collect()
}

/// Arrivals around a megabit a second, with colours.
fn arrivals(seed: u64) -> Vec<(Span, Packet)> {
    let mut rng = Rng::named(seed, "arrivals");
    let mut next = || {
        let gap = pick(&mut rng, &[0, 0, 1, 5, 12, 40, 300]) * rng.below(20_000_000);
        let packet =
            coloured(1 + rng.below(1500) as u32, pick(&mut rng, &[Green, Green, Colour::Yellow, Red]));
        (Span::from_ticks(gap), packet)
    };
    (0..1000).map(|_| next()).collect()
}

/// A megabit a second, with bursts of a few packets.
pub fn profile() -> Contract {
    Contract {
        interval: Some(Span::from_millis(30)),
        workahead: Some(4000),
        excess_burst: Some(3000),
        peak_burst: Some(5000),
        ..terms(1_000_000, 2_000_000)
    }
}

pub fn run(kind: &BuiltInMeter, start: Time, arrivals: &[(Span, Packet)]) -> Vec<(Verdict, Mark)> {
    let (mut meter, mut rng) = (build(kind, &profile()), Rng::named(7, "run"));
    let mut now = start;
    let one = |(gap, packet): &(Span, Packet)| {
        now += *gap;
        see(&mut *meter, &mut rng, now, *packet)
    };
    arrivals.iter().map(one).collect()
}

#[test]
fn starting_later_changes_no_colour() {
    for (kind, _) in every_meter() {
        for seed in 0..rounds(5) {
            let arrivals = arrivals(seed);
            let plain = run(&kind, Time::ORIGIN, &arrivals);
            for days in [1, 9, 5 * 365] {
                let start = Time::ORIGIN + Span::from_secs(days * 86_400);
                assert_eq!(run(&kind, start, &arrivals), plain, "{kind:?}, seed {seed}");
            }
        }
    }
}

/// A meter that heeds colours never improves one; one that colours drops nothing, and has counted
/// the packets that it passes as green, yellow and red; others that count have counted all bytes.
#[test]
fn colours_never_improve_and_nothing_is_lost() {
    let (mut worse, mut better) = (0, 0);
    for (kind, mode) in every_meter() {
        let colours = kind.record().role == Role::Meter { colours: true };
        for seed in 0..rounds(5) {
            let (mut meter, mut rng) = (build(&kind, &profile()), Rng::named(seed, "passes"));
            let (mut now, mut bytes) = (Time::ORIGIN, [0; 3]);
            for (gap, packet) in arrivals(seed) {
                now += gap;
                let (verdict, mark) = see(&mut *meter, &mut rng, now, packet);
                assert!(!colours || verdict == Verdict::Accept);
                bytes[mark.colour() as usize] += u64::from(packet.len);
                let (came, left) = (packet.mark.colour(), mark.colour());
                assert!(mode == Some(Mode::Blind) || left >= came, "{kind:?}");
                worse += u64::from(left > came);
                better += u64::from(left < came);
            }
            if let Some(usage) = meter.usage(ONE) {
                assert_eq!(usage.coloured.iter().sum::<u64>(), bytes.iter().sum::<u64>(), "{kind:?}");
                assert!(!colours || usage.coloured == bytes, "{kind:?}");
                assert_eq!((usage.congested_inside, usage.congested_outside), (0, 0));
            }
            assert!(!colours || meter.usage(ONE).is_some());
            meter.forget(ONE);
            meter.set_profile(ONE, &profile());
            assert!(meter.usage(ONE).is_none_or(|usage| usage.coloured == [0; 3]));
        }
    }
    assert!(worse > 1000 && better > 1000, "{worse} {better}");
}

/// Behind any meter, one that heeds colours makes no packet green, or yellow, that was worse.
#[test]
fn a_cascade_never_turns_red_into_green() {
    for (first, _) in every_meter() {
        for (second, _) in every_meter().into_iter().filter(|(_, mode)| *mode != Some(Mode::Blind)) {
            let arrivals = arrivals(3);
            let between = run(&first, Time::ORIGIN, &arrivals);
            let passed = arrivals.iter().zip(&between);
            let second_arrivals: Vec<_> =
                passed.map(|((gap, packet), (_, mark))| (*gap, marked(packet.len, *mark))).collect();
            let after = run(&second, Time::ORIGIN, &second_arrivals);
            for ((_, before), (_, after)) in between.iter().zip(&after) {
                assert!(after.colour() >= before.colour(), "{first:?} before {second:?}");
            }
        }
    }
}

/// The slowest and the fastest profiles, the smallest and the largest packets, and years between
/// them.
#[test]
fn meters_at_the_ends_of_the_scale() {
    for (kind, _) in every_meter() {
        for bits in [1, Rate::MAX_BITS_PER_SECOND] {
            let terms = Contract {
                workahead: Some(1),
                excess_burst: Some(u32::MAX),
                peak_burst: Some(u32::MAX),
                interval: Some(Span::MAX),
                ..terms(bits, bits)
            };
            let (mut meter, mut rng) = (build(&kind, &terms), Rng::named(bits, "ends"));
            let mut now = Time::ORIGIN;
            for _ in 0..200 {
                for len in [1, 65_535] {
                    see(&mut *meter, &mut rng, now, coloured(len, Green));
                }
                now += Span::from_ticks(1 << rng.below(58));
            }
            meter.forgettable_at(ONE);
            // Whatever it owes, an index that goes to another profile owes nothing.
            meter.forget(ONE);
            assert_eq!(meter.forgettable_at(ONE), Time::from_ticks(0), "{kind:?}");
        }
    }
}
