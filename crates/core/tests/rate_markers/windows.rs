//! The window over which rates are averaged.

use crate::{ONE, build, coloured, see, tagger, terms};
use Colour::{Green, Red};
use tidegate_core::meter::tsw_tagger::{Approach, Tagging, TswTaggerParams};
use tidegate_core::meter::tsw2cm::Tsw2CmParams;
use tidegate_core::meter::tsw3cm::Tsw3CmParams;
use tidegate_core::meter::{BuiltInMeter, Meter};
use tidegate_core::packet::Colour;
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// Every marker by an estimated rate with this window, which follows `round_trips` round-trip
/// times.
fn followers(window: Span, round_trips: Option<u16>) -> [BuiltInMeter; 4] {
    let tagger = |approach| {
        let (window, tagging) = (Some(window), Tagging::Probabilistic);
        BuiltInMeter::TswTagger(TswTaggerParams {
            window,
            round_trips,
            approach,
            tagging,
            ..TswTaggerParams::example()
        })
    };
    [
        tagger(Approach::Short),
        tagger(Approach::Long),
        BuiltInMeter::Tsw2Cm(Tsw2CmParams { window: Some(window), round_trips, ..Tsw2CmParams::example() }),
        BuiltInMeter::Tsw3Cm(Tsw3CmParams { window: Some(window), round_trips, ..Tsw3CmParams::example() }),
    ]
}

/// A window of n round-trip times of R equals one that was stated so: every packet gets the same
/// colour. A window that follows none, or is told of a time of zero, stays as stated.
#[test]
fn a_window_of_round_trip_times_is_as_one_that_was_stated() {
    let mut told_apart = 0;
    for seed in 0..20 {
        let mut draw = Rng::named(seed, "round trips");
        let (times, round_trip) = (1 + draw.below(4) as u16, Span::from_micros(1 + draw.below(50_000)));
        let (stated, window) = (Span::from_secs(2), Span::from_ticks(round_trip.ticks() * u64::from(times)));
        let gaps: Vec<u64> = (0..400).map(|_| draw.below(1_800)).collect();
        let colours = |kind: &BuiltInMeter, told: Option<Span>| -> Vec<Colour> {
            let (mut meter, mut rng) =
                (build(kind, &terms(8_000_000, 12_000_000)), Rng::named(seed, "colours"));
            if let Some(round_trip) = told {
                meter.set_round_trip(ONE, round_trip);
            }
            let mut now = Time::ORIGIN;
            let mut see = |gap: &u64| {
                now += Span::from_micros(*gap);
                see(&mut *meter, &mut rng, now, coloured(1000, Green)).1.colour()
            };
            gaps.iter().map(&mut see).collect()
        };
        let kinds = followers(stated, Some(times)).into_iter().zip(followers(stated, None));
        for ((follower, unmoved), right) in kinds.zip(followers(window, None)) {
            let [before, after] = [colours(&unmoved, None), colours(&right, None)];
            assert_eq!(colours(&follower, Some(round_trip)), after, "{follower:?}");
            assert_eq!(colours(&unmoved, Some(round_trip)), before, "{unmoved:?}");
            for nothing in [None, Some(Span::ZERO)] {
                assert_eq!(colours(&follower, nothing), before, "{follower:?}");
            }
            told_apart += u32::from(before != after);
        }
    }
    assert!(told_apart > 40, "{told_apart}");
}

/// The window follows each measurement, and the average stays: colours are those of the formula
/// with the window of the time.
#[test]
fn a_window_follows_each_measurement() {
    let mut colours = [0; 2];
    for seed in 0..50 {
        let mut rng = Rng::named(seed, "measurements");
        let (times, stated) = (1 + rng.below(3) as u16, Span::from_micros(1 + rng.below(200_000)));
        let params = TswTaggerParams {
            window: Some(stated),
            round_trips: Some(times),
            approach: Approach::Long,
            tagging: Tagging::Deterministic,
            ..TswTaggerParams::example()
        };
        let mut meter = build(&BuiltInMeter::TswTagger(params), &terms(8_000_000, 8_000_000));
        // In bytes and ticks of 10 ps: 1 MB/s.
        let target = 1e-5;
        let (mut average, mut window, mut now) = (target, stated.ticks() as f64, Time::ORIGIN);
        for nth in 0..400 {
            let gap = if nth == 0 { Span::ZERO } else { Span::from_micros(rng.below(2_000)) };
            now += gap;
            average = (average * window + 1000.0) / (gap.ticks() as f64 + window);
            let expected = if average > target { Red } else { Green };
            let seen = see(&mut *meter, &mut rng, now, coloured(1000, Green)).1.colour();
            assert_eq!(seen, expected, "seed {seed}, packet {nth}");
            colours[usize::from(seen == Red)] += 1;
            if rng.chance(0.2) {
                let round_trip = Span::from_micros(1 + rng.below(100_000));
                meter.set_round_trip(ONE, round_trip);
                window = round_trip.ticks() as f64 * f64::from(times);
            }
        }
    }
    assert!(colours.iter().all(|count| *count > 2_000), "{colours:?}");
}

/// A change of the target leaves the average: packets that were in profile are out at once under a
/// lower target, and a profile without packets starts at its new one.
#[test]
fn a_changed_target_keeps_the_average() {
    let kind = tagger(Approach::Long, Tagging::Deterministic);
    let (mut meter, mut rng) = (build(&kind, &terms(8_000_000, 8_000_000)), Rng::named(1, "change"));
    let mut now = Time::ORIGIN;
    let mut send = |meter: &mut dyn Meter| {
        now += Span::from_millis(2);
        see(meter, &mut rng, now, coloured(1000, Green)).1.colour()
    };
    // The first packets find their own addition to an average at the target.
    assert!((0..500).filter(|_| send(&mut *meter) == Red).count() < 3);
    meter.set_profile(ONE, &terms(3_000_000, 3_000_000));
    assert!((0..500).all(|_| send(&mut *meter) == Red));
    meter.set_profile(ONE, &terms(8_000_000, 8_000_000));
    assert!((0..500).all(|_| send(&mut *meter) == Green));
    // From 8 Mbit/s the average would take ln 4 windows, some 70 packets, to 5 Mbit/s.
    let mut fresh = build(&kind, &terms(8_000_000, 8_000_000));
    fresh.set_profile(ONE, &terms(5_000_000, 5_000_000));
    assert!((0..500).filter(|_| send(&mut *fresh) == Red).count() < 10);
}
