//! The oracle is a fluid simulation in exact rationals that does not share the
//! arithmetic of the module: it drains the backlog, in bytes, between arrivals.

use super::*;
use crate::units::TICKS_PER_SECOND;
use proptest::prelude::*;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

/// Returns W in whole bytes, rounded up, and for each packet the delay in exact units of
/// 1/numerator(bits) ticks, for a server of exactly `bits` bit/s.
///
/// Backlogs are kept as whole numbers of 1/(8 × 10¹¹) byte: in one tick the server
/// sends bits/(8 × 10¹¹) byte.
fn fluid(bits: u64, arrivals: &[(u64, u32)]) -> (u64, Vec<(i128, i128)>) {
    let unit = 8 * i128::from(TICKS_PER_SECOND);
    let (mut backlog, mut last, mut most, mut delays) = (0i128, 0u64, 0i128, Vec::new());
    for (at, bytes) in arrivals {
        backlog = (backlog - i128::from(at - last) * i128::from(bits)).max(0);
        backlog += i128::from(*bytes) * unit;
        last = *at;
        most = most.max(backlog);
        delays.push((backlog, i128::from(bits))); // ticks = backlog / bits
    }
    (u64::try_from((most + unit - 1) / unit).unwrap(), delays)
}

fn workload(gaps: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut at = 0;
    let arrival = |(gap, bytes): &(u64, u32)| {
        at += gap;
        (at, *bytes)
    };
    gaps.iter().map(arrival).collect()
}

fn run(bits: u64, arrivals: &[(u64, u32)]) -> (u64, Vec<Span>) {
    let mut ideal = Workahead::new(rate(bits));
    let delays = arrivals.iter().map(|(at, bytes)| ideal.see(Time::ORIGIN + Span::from_ticks(*at), *bytes));
    let delays = delays.collect();
    (ideal.max_backlog(), delays)
}

#[test]
fn a_smooth_flow_has_one_packet_of_workahead() {
    // 250 bytes every 5 ms at 400 kbit/s.
    let arrivals: Vec<_> = (0..1000).map(|k| (k * Span::from_millis(5).ticks(), 250)).collect();
    let (w, delays) = run(400_000, &arrivals);
    assert_eq!(w, 250);
    assert!(delays.iter().all(|d| *d == Span::from_millis(5)));
}

#[test]
fn a_burst_is_its_own_workahead() {
    let (w, delays) = run(400_000, &[(0, 250), (0, 250), (0, 250)]);
    assert_eq!(w, 750);
    assert_eq!(delays, [5, 10, 15].map(Span::from_millis));
    // Half of it has drained when the same amount arrives again.
    let (w, _) = run(400_000, &[(0, 500), (Span::from_millis(5).ticks(), 500)]);
    assert_eq!(w, 750);
}

#[test]
fn a_time_that_goes_back_counts_as_the_latest() {
    let mut ideal = Workahead::new(rate(400_000));
    ideal.see(Time::ORIGIN + Span::from_millis(10), 250);
    assert_eq!(ideal.see(Time::ORIGIN, 250), Span::from_millis(10));
    assert_eq!(ideal.max_backlog(), 500);
}

#[test]
fn peak_rate_of_gaps() {
    let mut peak = PeakRate::new();
    assert_eq!(peak.bits_per_second(), None);
    let mut see = |millis, bytes| {
        peak.see(Time::ORIGIN + Span::from_millis(millis), bytes);
        peak.bits_per_second()
    };
    assert_eq!(see(0, 125), None);
    assert_eq!(see(0, 125), None);
    assert_eq!(see(10, 125), Some(200_000)); // 250 bytes in 10 ms
    assert_eq!(see(20, 1500), Some(200_000));
    assert_eq!(see(23, 1), Some(4_000_000)); // 1500 bytes in 3 ms
    assert_eq!(see(1000, 1), Some(4_000_000));
}

/// Rates at which a byte takes a whole number of ticks: nothing is ever rounded.
const EXACT: [u64; 6] = [8_000, 400_000, 1_000_000, 10_000_000, 1_000_000_000, 100_000_000_000];

/// Gaps close to the packets' transmission times, so that busy periods are long.
fn gaps(bits: u64) -> impl Strategy<Value = Vec<(u64, u32)>> {
    let mean = 8 * TICKS_PER_SECOND / bits * 750;
    prop::collection::vec((prop_oneof![Just(0), 0..=2 * mean], 1u32..=1500), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_the_fluid_server_exactly((bits, gaps) in prop::sample::select(&EXACT[..]).prop_flat_map(|b| (Just(b), gaps(b)))) {
        let arrivals = workload(&gaps);
        let (w, delays) = run(bits, &arrivals);
        let (expected, exact) = fluid(bits, &arrivals);
        prop_assert_eq!(w, expected);
        for (delay, (numerator, denominator)) in delays.iter().zip(exact) {
            prop_assert_eq!(i128::from(delay.ticks()) * denominator, numerator);
        }
    }

    /// At any rate: half a tick per packet, and the error of the stored rate.
    #[test]
    fn it_is_the_fluid_server_to_the_rounding((bits, gaps) in (1_000u64..10_000_000).prop_flat_map(|b| (Just(b), gaps(b)))) {
        let arrivals = workload(&gaps);
        let (w, delays) = run(bits, &arrivals);
        let (expected, exact) = fluid(bits, &arrivals);
        prop_assert!(w.abs_diff(expected) <= 1, "{} {}", w, expected);
        for (k, (delay, (numerator, denominator))) in delays.iter().zip(exact).enumerate() {
            let difference = (i128::from(delay.ticks()) * denominator - numerator).abs();
            let allowed = denominator * (k as i128 + 1) / 2 + denominator + (numerator >> 36);
            prop_assert!(difference <= allowed, "packet {}", k);
        }
    }

    #[test]
    fn shifting_time_changes_nothing(gaps in gaps(1_000_000), shift in 0u64..1 << 60) {
        let arrivals = workload(&gaps);
        let shifted: Vec<_> = arrivals.iter().map(|(at, bytes)| (at + shift, *bytes)).collect();
        prop_assert_eq!(run(1_234_567, &arrivals), run(1_234_567, &shifted));
    }

    /// At its peak rate a flow with spaced packets never waits; W is the largest instant.
    #[test]
    fn at_the_peak_rate_nothing_is_left_over(gaps in prop::collection::vec((1u64..1 << 40, 1u32..=1500), 2..100)) {
        let arrivals = workload(&gaps);
        let mut peak = PeakRate::new();
        arrivals.iter().for_each(|(at, bytes)| peak.see(Time::ORIGIN + Span::from_ticks(*at), *bytes));
        let bits = peak.bits_per_second().unwrap();
        let brute = arrivals.windows(2).map(|w| {
            (u128::from(w[0].1) * 8 * u128::from(TICKS_PER_SECOND)).div_ceil(u128::from(w[1].0 - w[0].0))
        }).max().unwrap();
        prop_assert_eq!(u128::from(bits), brute);
        if bits <= Rate::MAX_BITS_PER_SECOND {
            let (w, _) = fluid(bits, &arrivals);
            prop_assert_eq!(w, u64::from(arrivals.iter().map(|a| a.1).max().unwrap()));
        }
    }

    #[test]
    fn a_higher_rate_never_delays_more(gaps in gaps(1_000_000), more in 1u64..1_000_000) {
        let arrivals = workload(&gaps);
        let (slow, fast) = (run(1_000_000, &arrivals), run(1_000_000 + more, &arrivals));
        prop_assert!(fast.0 <= slow.0);
        prop_assert!(fast.1.iter().zip(&slow.1).all(|(f, s)| f <= s));
    }
}
