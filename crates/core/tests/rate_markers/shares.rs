//! The shares of colours in the long run, and a worked case of RFC 2859.

use crate::common::rate;
use crate::{build, coloured, see, tagger, terms, three, two};
use tidegate_core::context::Verdict;
use tidegate_core::contract::Contract;
use tidegate_core::meter::BuiltInMeter;
use tidegate_core::meter::tsw_tagger::{Approach, Tagging};
use tidegate_core::packet::Colour::{Green, Red};
use tidegate_core::params::Value;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

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
