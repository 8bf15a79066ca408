//! The curve W(r) of packets against a fluid server, and its contract against the filter that
//! enforces it.

use super::super::contract::Arrivals;
use super::super::{Mended, Trace, TraceFlow, Video, read};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use tidegate_core::shaper::TokenBucket;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

fn trace(flows: Vec<Vec<(Span, u32)>>) -> Arc<Trace> {
    let (packets, bytes) = (flows.iter().map(|flow| flow.len() as u64).sum(), 0);
    let flow = |packets| TraceFlow { name: "f".into(), packets, period: Span::ZERO, headers: None };
    let flows = flows.into_iter().map(flow).collect();
    let mended = Mended::default();
    Arc::new(Trace { flows, packets, bytes, span: Span::ZERO, reordered: 0, cut: None, mended })
}

fn at_times(gaps: &[(u64, u32)]) -> Vec<(Span, u32)> {
    let mut now = 0;
    let at = |(gap, bytes): &(u64, u32)| {
        now += gap;
        (Span::from_ticks(now), *bytes)
    };
    gaps.iter().map(at).collect()
}

/// Returns (W in bytes rounded up, the longest backlog in ticks × bit/s) of an ideal server,
/// drained between arrivals.
fn fluid(bits: u64, packets: &[(Span, u32)]) -> (u64, i128) {
    let unit = 8 * i128::from(TICKS_PER_SECOND);
    let (mut backlog, mut last, mut most) = (0i128, 0, 0);
    for (at, bytes) in packets {
        backlog =
            (backlog - i128::from(at.ticks() - last) * i128::from(bits)).max(0) + i128::from(*bytes) * unit;
        (last, most) = (at.ticks(), most.max(backlog));
    }
    (u64::try_from((most + unit - 1) / unit).unwrap(), most)
}

/// Draws packets, some of them simultaneous, the others microseconds to a tenth of a second apart.
fn gaps() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0), 100_000..=200_000_000u64, 0..=10_000_000_000u64];
    prop::collection::vec((gap, 1u32..=1500), 2..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_curve_is_that_of_a_fluid_server(gaps in gaps(), points in 2usize..40) {
        let packets = at_times(&gaps);
        prop_assume!(packets.last().unwrap().0 > packets[0].0);
        let arrivals = Arrivals::of_flows(&trace(vec![packets.clone()]), &[0]);
        let seen = arrivals.observe();
        let rates = arrivals.rates(points);
        prop_assert!(rates.len() <= points && rates.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(Some(rates[0]), seen.mean_rate);
        prop_assert!(*rates.last().unwrap() >= seen.peak_rate.unwrap());
        let mut before = u64::MAX;
        for rate in &rates {
            let at = arrivals.at(*rate).unwrap();
            let (w, most) = fluid(*rate, &packets);
            // The rate is stored to 2⁻²⁴ ticks a byte.
            prop_assert!(at.workahead.abs_diff(w) <= 1, "{} {w}", at.workahead);
            let longest = most / i128::from(*rate);
            prop_assert!((i128::from(at.delay_max.ticks()) - longest).abs() <= 200 + longest / 1_000_000);
            prop_assert!(at.delay_p99 <= at.delay_max && at.workahead <= before);
            before = at.workahead;
        }
    }

    /// The suggested contract passes every packet; with a W two bytes smaller it does not.
    #[test]
    fn the_filter_of_a_fitting_contract_drops_nothing(gaps in gaps(), factor in 1u64..8) {
        let packets = at_times(&gaps);
        prop_assume!(packets.last().unwrap().0 > packets[0].0);
        let arrivals = Arrivals::of_flows(&trace(vec![packets.clone()]), &[0]);
        let fitting = arrivals.contract(arrivals.rates(2)[0] * factor).unwrap();
        prop_assert!(fitting.peak >= fitting.reserve && fitting.reserve >= arrivals.rates(2)[0] * factor);
        let rate = Rate::from_bits_per_second(fitting.reserve).unwrap();
        let dropped = |workahead: u64, peak: Option<Rate>| {
            let mut bucket = TokenBucket::new(rate, workahead as u32).with_peak(peak);
            let drops = |(at, bytes): &&(Span, u32)| {
                let now = Time::ORIGIN + *at;
                let conforms = bucket.conforms_at(*bytes) <= now;
                if conforms {
                    bucket.take(now, *bytes);
                }
                !conforms
            };
            packets.iter().filter(drops).count()
        };
        // Packets of one time have no gap that fits a peak rate.
        let peak = Rate::from_bits_per_second(fitting.peak).filter(|_| !arrivals.has_equal_times());
        prop_assert_eq!(dropped(fitting.workahead, peak), 0);
        let longest = u64::from(packets.iter().map(|packet| packet.1).max().unwrap());
        if fitting.workahead > longest + 2 {
            prop_assert!(dropped(fitting.workahead - 2, None) > 0);
        }
    }

    /// Several flows together are all their packets in the order of time.
    #[test]
    fn flows_are_taken_together(one in gaps(), other in gaps(), bits in 1_000u64..10_000_000) {
        let (one, other) = (at_times(&one), at_times(&other));
        let both = Arrivals::of_flows(&trace(vec![one.clone(), other.clone()]), &[1, 0]);
        let mut merged: Vec<_> = one.into_iter().chain(other).collect();
        merged.sort_by_key(|packet| packet.0);
        prop_assert_eq!(both.count(), merged.len());
        prop_assert!(both.at(bits).unwrap().workahead.abs_diff(fluid(bits, &merged).0) <= 1);
    }
}

#[test]
fn a_constant_rate_has_one_rate_and_a_packet_of_workahead() {
    let packets = (0..100).map(|nth| (Span::from_millis(20 * nth), 200)).collect();
    let arrivals = Arrivals::of_flows(&trace(vec![packets]), &[0]);
    assert_eq!(arrivals.rates(30), [80_000]);
    assert_eq!(arrivals.duration(), Span::from_secs(2));
    let at = arrivals.at(80_000).unwrap();
    assert_eq!(
        (at.workahead, at.delay_max, at.delay_p99),
        (200, Span::from_millis(20), Span::from_millis(20))
    );
    let fitting = arrivals.contract(79_990).unwrap();
    assert_eq!((fitting.reserve, fitting.workahead, fitting.peak), (80_000, 200, 80_000));
}

/// A frame arrives as a whole, followed by its interval: also the last one, and empty ones before
/// and after.
#[test]
fn the_frames_of_a_video_stand_for_their_intervals() {
    let video = Video { frames: vec![0, 1000, 0, 3000, 500, 0], cut: None };
    let arrivals = Arrivals::of_video(&video, 25.0).unwrap();
    assert_eq!((arrivals.count(), arrivals.bytes()), (3, 4500));
    assert_eq!(arrivals.duration(), Span::from_millis(240));
    // 4500 bytes in 240 ms; 3000 in one interval, also where the next frame or the rest of the file
    // is empty.
    for frames in [vec![1000, 3000, 0, 500], vec![500, 3000]] {
        let video = Video { frames, cut: None };
        assert_eq!(Arrivals::of_video(&video, 25.0).unwrap().observe().peak_rate, Some(600_000));
    }
    assert_eq!(arrivals.observe().mean_rate, Some(150_000));
    assert_eq!(arrivals.rates(2), [150_000, 600_000]);
    // At 150 kbit/s, 750 bytes an interval: of 1000 bytes none are left two intervals later, of
    // 3000 there are 2250.
    assert_eq!(arrivals.at(150_000).unwrap().workahead, 3000);
    assert_eq!(arrivals.at(150_000).unwrap().delay_max, Span::from_millis(160));
    assert!(Arrivals::of_video(&video, 1e-9).is_none());
}

#[test]
fn what_comes_at_one_time_has_no_rate() {
    let arrivals = Arrivals::of_flows(&trace(vec![vec![(Span::ZERO, 100), (Span::ZERO, 50)]]), &[0]);
    assert!(arrivals.rates(30).is_empty());
    let one = read(&b"0.5 100\n"[..], Path::new("a")).unwrap();
    assert!(Arrivals::of_flows(&Arc::new(one), &[0]).rates(30).is_empty());
}
