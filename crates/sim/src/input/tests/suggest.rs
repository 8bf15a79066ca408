use super::super::suggest::{Outcome, Plan, Reason, Suggestion, suggest};
use super::super::{Trace, TraceFlow};
use proptest::prelude::*;
use tidegate_core::stats::{Workahead, nearest_rank};
use tidegate_core::units::{Rate, Span, Time};

fn trace(flows: Vec<Vec<(u64, u32)>>) -> Trace {
    let flow = |(number, packets): (usize, Vec<(u64, u32)>)| TraceFlow {
        name: format!("f{number}"),
        packets: packets.into_iter().map(|(micros, bytes)| (Span::from_micros(micros), bytes)).collect(),
        period: Span::ZERO,
        headers: None,
    };
    let flows: Vec<TraceFlow> = flows.into_iter().enumerate().map(flow).collect();
    let (packets, bytes) =
        (flows.iter().map(|f| f.packets.len() as u64).sum(), flows.iter().map(|f| f.bytes()).sum());
    let span = flows.iter().map(|f| f.packets[f.packets.len() - 1].0).max().unwrap();
    Trace { flows, packets, bytes, span, reordered: 0 }
}

/// `count` packets of `bytes` bytes every `micros` µs.
fn even(count: u64, micros: u64, bytes: u32) -> Vec<(u64, u32)> {
    (0..count).map(|k| (k * micros, bytes)).collect()
}

/// Bursts of ten packets of 1000 bytes at once, every 100 ms: 800 kbit/s.
fn bursty() -> Vec<(u64, u32)> {
    (0..1000).map(|k| (k / 10 * 100_000, 1000)).collect()
}

fn plan(flows: Vec<Vec<(u64, u32)>>, link: u64, millis: u64) -> Plan {
    suggest(&trace(flows), link, Span::from_millis(millis)).unwrap()
}

/// The promise of every reservation, worked out again, and that the next lower rate of
/// three digits (if it is not below the mean) would not do.
fn check(trace: &Trace, plan: &Plan, link: u64) {
    let extra = plan.longest_packet;
    let p99 = |flow: &TraceFlow, bits: u64| {
        let mut ideal = Workahead::new(Rate::from_bits_per_second(bits).unwrap());
        let mut delays: Vec<_> =
            flow.packets.iter().map(|(t, bytes)| ideal.see(Time::ORIGIN + *t, *bytes)).collect();
        nearest_rank(&mut delays, 99, 100).unwrap() + extra
    };
    assert!(plan.reserved <= link / 100 * 95 + 95);
    assert_eq!(plan.reserved, plan.flows.iter().filter_map(|f| f.reserve).sum::<u64>());
    for (flow, seen) in trace.flows.iter().zip(&plan.flows) {
        let Some(reserve) = seen.reserve else {
            assert_eq!(seen.promised_p99, None);
            continue;
        };
        assert_eq!(seen.promised_p99, Some(p99(flow, reserve)));
        assert!(p99(flow, reserve) <= plan.target);
        let digit = 10u64.pow(reserve.ilog10().saturating_sub(2));
        assert_eq!(reserve % digit, 0);
        let lower = if reserve == digit * 100 { reserve - (digit / 10).max(1) } else { reserve - digit };
        match seen.reason {
            Reason::MeanRate => {
                assert!(lower < seen.mean_rate.unwrap() && reserve >= seen.mean_rate.unwrap())
            }
            reason => assert!(reason == Reason::Target && p99(flow, lower) > plan.target),
        }
    }
}

#[test]
fn a_smooth_flow_gets_its_mean_rate_and_a_burst_more() {
    let flows = vec![even(1001, 10_000, 125), bursty()];
    let found = plan(flows.clone(), 10_000_000, 20);
    check(&trace(flows), &found, 10_000_000);
    assert!(found.outcome == Outcome::Met && found.target_met() && found.target == Span::from_millis(20));
    let [smooth, burst] = &found.flows[..] else { panic!() };
    // 1001 packets in 10 s: 100 100 bit/s.
    assert_eq!(
        (smooth.mean_rate, smooth.peak_rate, smooth.workahead),
        (Some(100_100), Some(100_000), Some(125))
    );
    assert_eq!((smooth.reserve, smooth.reason), (Some(101_000), Reason::MeanRate));
    // 9 s of 100 bursts of 10 kB, less 0.8 ms for a packet of 1000 bytes at 10 Mbit/s:
    // 10 kB in 19.2 ms are 4.17 Mbit/s.
    assert_eq!((burst.reserve, burst.reason), (Some(4_170_000), Reason::Target));
    assert_eq!((burst.workahead, burst.peak_rate), (Some(10_000), Some(800_000)));
}

#[test]
fn a_target_that_does_not_fit_is_relaxed_for_all() {
    let flows = vec![bursty(), bursty(), even(1001, 10_000, 125)];
    let found = plan(flows.clone(), 4_000_000, 5);
    check(&trace(flows), &found, 4_000_000);
    assert!(found.outcome == Outcome::Relaxed && !found.target_met());
    // Two bursts share 3.8 Mbit/s less the smooth flow's rate: 10 kB at 1.84 Mbit/s and
    // 1000 bytes at 4 Mbit/s.
    let expected = 0.08 / 1.84 + 0.002;
    assert!((found.target.as_secs_f64() / expected - 1.0).abs() < 0.01, "{:?}", found.target);
    assert_eq!(found.flows[0].reserve, found.flows[1].reserve);
    // A target shorter than the longest packet's time on the link fits no rate.
    let found = plan(vec![even(1001, 10_000, 125)], 1_000_000, 0);
    assert_eq!(found.outcome, Outcome::Relaxed);
    assert!((945_000..=950_000).contains(&found.flows[0].reserve.unwrap()));
}

#[test]
fn mean_rates_that_do_not_fit() {
    let flows = vec![bursty(), even(1001, 10_000, 125), even(1001, 10_000, 12_500)];
    let found = plan(flows.clone(), 5_000_000, 50);
    check(&trace(flows.clone()), &found, 5_000_000);
    assert!(found.outcome == Outcome::MeanRatesDoNotFit && !found.target_met());
    let reasons: Vec<_> = found.flows.iter().map(|f| f.reason).collect();
    assert_eq!(reasons, [Reason::Target, Reason::MeanRate, Reason::NoRoom]);
    assert_eq!(found.target, Span::from_millis(50));
    // No flow can be promised a millisecond: mean rates, at what they allow.
    let found = plan(flows.clone(), 5_000_000, 1);
    check(&trace(flows), &found, 5_000_000);
    assert_eq!(found.outcome, Outcome::MeanRatesDoNotFit);
    assert!(
        found.flows[2].reserve.is_none()
            && found.flows[0].reserve.is_some()
            && found.flows[1].reserve.is_some()
    );
    assert!(found.target > Span::from_millis(1));
}

#[test]
fn small_and_short_flows_are_datagrams() {
    // Nine packets, a tenth of a second, one instant, and 1.9 of 20 s.
    let flows = vec![even(9, 2_500_000, 100), even(100, 1000, 100), even(20, 0, 100), even(20, 100_000, 100)];
    let found = plan(flows, 10_000_000, 10);
    let reasons: Vec<_> = found.flows.iter().map(|f| f.reason).collect();
    assert_eq!(reasons, [Reason::FewPackets, Reason::ShortLife, Reason::ShortLife, Reason::ShortLife]);
    assert_eq!((found.outcome, found.target_met(), found.reserved), (Outcome::NothingToReserve, true, 0));
    let instant = Suggestion { mean_rate: None, peak_rate: None, workahead: None, ..found.flows[2].clone() };
    assert_eq!(found.flows[2], instant);
}

#[test]
fn links_without_a_rate() {
    let one = trace(vec![even(100, 1000, 100)]);
    assert_eq!(suggest(&one, 0, Span::from_millis(1)), None);
    assert_eq!(suggest(&one, u64::MAX, Span::from_millis(1)), None);
    // The smallest of links reserves nothing, and says so.
    let found = plan(vec![even(100, 100_000, 100)], 1, 1);
    assert_eq!((found.outcome, found.flows[0].reason), (Outcome::MeanRatesDoNotFit, Reason::NoRoom));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_plan_keeps_its_promises(
        flows in prop::collection::vec(prop::collection::vec((0u64..200_000, 40u32..1500), 1..80), 1..6),
        link in 1u64..100_000_000,
        target in 0u64..200_000,
    ) {
        let arrivals = |gaps: Vec<(u64, u32)>| {
            gaps.into_iter().scan(0, |at, (gap, bytes)| { *at += gap; Some((*at, bytes)) }).collect()
        };
        let trace = trace(flows.into_iter().map(arrivals).collect());
        let found = suggest(&trace, link, Span::from_micros(target)).unwrap();
        check(&trace, &found, link);
        prop_assert!(found.target >= Span::from_micros(target));
        prop_assert!(found.target_met() == (found.flows.iter().all(|f| f.reason != Reason::NoRoom)
            && found.target == Span::from_micros(target)));
    }
}
