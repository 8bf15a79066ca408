//! The markers by an estimated rate: the shares of their colours in the long run, a worked case of
//! RFC 2859, and properties of every meter.

mod common;

use common::{pick, rate, rounds};
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::contract::Contract;
use tidegate_core::meter::mode::Mode;
use tidegate_core::meter::tsw_tagger::{Approach, Tagging, TswTaggerParams};
use tidegate_core::meter::tsw2cm::Tsw2CmParams;
use tidegate_core::meter::tsw3cm::Tsw3CmParams;
use tidegate_core::meter::{BuiltInMeter, Meter, MeterKind, ProfileIx};
use tidegate_core::packet::{BodyId, Colour, Mark, Packet};
use tidegate_core::params::{BuiltIn, PolicyParams, Role, Value};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

const ONE: ProfileIx = ProfileIx(0);
use Colour::{Green, Red};

fn build(kind: &BuiltInMeter, terms: &Contract) -> Box<dyn Meter + Send> {
    let mut meter = MeterKind::BuiltIn(kind.clone()).build().unwrap();
    meter.set_profile(ONE, terms);
    meter
}

fn see(meter: &mut dyn Meter, rng: &mut Rng, now: Time, mut packet: Packet) -> (Verdict, Mark) {
    let out = &mut Vec::new();
    let reading = meter.see(&mut Ctx { now, rng, out }, ONE, &mut packet);
    (reading.verdict, packet.mark)
}

fn marked(len: u32, mark: Mark) -> Packet {
    let mut packet = Packet::new(BodyId(0), len);
    packet.mark = mark;
    packet
}

fn coloured(len: u32, colour: Colour) -> Packet {
    marked(len, Mark::NONE.coloured(colour))
}

fn tagger(approach: Approach, tagging: Tagging) -> BuiltInMeter {
    let window = Some(Span::from_millis(100));
    BuiltInMeter::TswTagger(TswTaggerParams {
        window,
        packets: None,
        round_trips: None,
        approach,
        tagging,
        mode: Mode::Blind,
    })
}

fn two() -> BuiltInMeter {
    BuiltInMeter::Tsw2Cm(Tsw2CmParams {
        window: Some(Span::from_secs(1)),
        packets: None,
        round_trips: None,
        mode: Mode::Blind,
    })
}

fn three(seconds: u64) -> BuiltInMeter {
    let window = Some(Span::from_secs(seconds));
    BuiltInMeter::Tsw3Cm(Tsw3CmParams { window, packets: None, round_trips: None, mode: Mode::Blind })
}

fn terms(target: u64, peak: u64) -> Contract {
    Contract { reserve: Some(rate(target)), peak: Some(rate(peak)), ..Contract::default() }
}

/// The shares of yellow and red in traffic of a constant rate, and the number of packets.
fn shares(kind: &BuiltInMeter, sent: u64, terms: &Contract) -> ([f64; 2], f64) {
    let (mut meter, mut rng) = (build(kind, terms), Rng::named(sent, "shares"));
    let (mut now, packets) = (Time::ORIGIN, 20_000);
    let mut counts = [0.0; 3];
    // Its average is that of the traffic when the window has passed some thirty times, up to 1e-13.
    let settled = Time::ORIGIN + Span::from_secs(40);
    let mut left = packets;
    while left > 0 {
        now += rate(sent).time_for(1000);
        let (_, mark) = see(&mut *meter, &mut rng, now, coloured(1000, Green));
        if now > settled {
            counts[mark.colour() as usize] += 1.0;
            left -= 1;
        }
    }
    let packets = f64::from(packets);
    ([counts[1] / packets, counts[2] / packets], packets)
}

/// Sent at a constant rate R, a share of P is out in the long run: (R − R_T) / R_T with the first
/// approach; nothing up to 4/3 R_T, and then the same share, with the second; with the RFC's
/// markers the share that keeps CTR green and PTR − CTR yellow. The tolerance is the 99.9 %
/// interval of that many draws.
#[test]
fn shares_in_the_long_run_are_those_of_the_formulas() {
    const TARGET: f64 = 1e6;
    for sent in [900_000, 1_000_000, 1_100_000, 1_300_000, 1_400_000, 1_900_000, 2_500_000] {
        let over = sent as f64 / TARGET - 1.0;
        let long = over.clamp(0.0, 1.0);
        let short = if over > 1.0 / 3.0 { long } else { 0.0 };
        let committed = TARGET / sent as f64;
        let red = (1.0 - 1.5 * committed).max(0.0);
        for (kind, expected) in [
            (tagger(Approach::Long, Tagging::Probabilistic), [0.0, long]),
            (tagger(Approach::Short, Tagging::Probabilistic), [0.0, short]),
            (tagger(Approach::Long, Tagging::Deterministic), [0.0, if over > 0.0 { 1.0 } else { 0.0 }]),
            (tagger(Approach::Short, Tagging::Deterministic), [0.0, if short > 0.0 { 1.0 } else { 0.0 }]),
            (two(), [0.0, (1.0 - committed).max(0.0)]),
            (three(1), [(1.0 - committed).max(0.0) - red, red]),
        ] {
            // At the target itself an average is above it by the remainder of its first packet, and
            // by rounding.
            if sent == 1_000_000 && expected[1] == 0.0 && kind.values().iter().any(is_deterministic) {
                continue;
            }
            let (found, packets) = shares(&kind, sent, &terms(1_000_000, 1_500_000));
            for (found, expected) in found.into_iter().zip(expected) {
                let interval = 3.29 * (expected * (1.0 - expected) / packets).sqrt();
                assert!(
                    (found - expected).abs() <= interval + 1e-9,
                    "{kind:?} at {sent}: {found}, not {expected}"
                );
            }
        }
    }
}

fn is_deterministic((_, value): &(&'static str, Value)) -> bool {
    *value == Value::Text("deterministic".into())
}

/// RFC 2859, sections 2 and 4, by hand: a window of 1 s, CTR 1000 and PTR 1500 bytes a second. The
/// first packet of 500 bytes finds (1000 + 500) / 1 = 1500, which is PTR: yellow with (1500 − 1000)
/// / 1500, never red. One of 500 bytes at once after it finds 2000: red with (2000 − 1500) / 2000,
/// yellow with (1500 − 1000) / 2000. One of 500 bytes 4 s later finds (2000 + 500) / 5 = 500, below
/// CTR: green.
#[test]
fn three_colours_worked_case() {
    const RUNS: u64 = 20_000;
    let mut counts = [[0u64; 3]; 3];
    for seed in 0..RUNS {
        let mut rng = Rng::named(seed, "worked");
        let mut meter = build(&three(1), &terms(8000, 12_000));
        for (nth, seconds) in [0, 0, 4].into_iter().enumerate() {
            let now = Time::ORIGIN + Span::from_secs(seconds);
            let (_, mark) = see(&mut *meter, &mut rng, now, coloured(500, Green));
            counts[nth][mark.colour() as usize] += 1;
        }
    }
    let expected = [[2.0 / 3.0, 1.0 / 3.0, 0.0], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0]];
    for (found, expected) in counts.iter().flatten().zip(expected.iter().flatten()) {
        let share = *found as f64 / RUNS as f64;
        let interval = 3.29 * (expected * (1.0 - expected) / RUNS as f64).sqrt();
        // PTR is not a binary fraction of bytes a tick.
        assert!((share - expected).abs() <= interval + 1e-9, "{counts:?}");
    }
}

/// R_T = 0: everything is out, also deep under a rate of one bit a second.
#[test]
fn without_a_target_everything_is_out() {
    for kind in [
        tagger(Approach::Long, Tagging::Probabilistic),
        tagger(Approach::Short, Tagging::Probabilistic),
        tagger(Approach::Short, Tagging::Deterministic),
        two(),
        three(1),
    ] {
        let (mut meter, mut rng) = (build(&kind, &Contract::default()), Rng::named(1, "none"));
        let mut now = Time::ORIGIN;
        for _ in 0..1000 {
            let (verdict, mark) = see(&mut *meter, &mut rng, now, coloured(1, Green));
            assert_eq!((verdict, mark.colour()), (Verdict::Accept, Red), "{kind:?}");
            now += Span::from_secs(86_400);
        }
    }
}

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
fn profile() -> Contract {
    Contract {
        interval: Some(Span::from_millis(30)),
        workahead: Some(4000),
        excess_burst: Some(3000),
        peak_burst: Some(5000),
        ..terms(1_000_000, 2_000_000)
    }
}

fn run(kind: &BuiltInMeter, start: Time, arrivals: &[(Span, Packet)]) -> Vec<(Verdict, Mark)> {
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
