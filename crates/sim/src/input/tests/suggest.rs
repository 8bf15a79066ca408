use super::super::suggest::{DelayTarget, Link, Observation, Reason, Suggestion, observe, suggest};
use super::super::{Mended, Trace, TraceFlow};
use proptest::prelude::*;
use tidegate_core::params::Limit;
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
    Trace { flows, packets, bytes, span, reordered: 0, cut: None, mended: Mended::default() }
}

/// Returns `count` packets of `bytes` bytes every `micros` µs.
fn even(count: u64, micros: u64, bytes: u32) -> Vec<(u64, u32)> {
    (0..count).map(|k| (k * micros, bytes)).collect()
}

/// Returns bursts of ten packets of 1000 bytes at once, every 100 ms: 800 kbit/s.
fn bursty() -> Vec<(u64, u32)> {
    (0..1000).map(|k| (k / 10 * 100_000, 1000)).collect()
}

/// Returns the suggestions for a target of `millis` ms for every flow, on a link with the longest
/// packet of all flows.
fn answers(trace: &Trace, rate: u64, buffer: Option<Limit>, millis: u64) -> Vec<Suggestion> {
    let longest = trace.flows.iter().map(|flow| observe(flow).longest).max().unwrap();
    let delay = Span::from_millis(millis);
    let targets: Vec<DelayTarget> = (0..trace.flows.len()).map(|flow| DelayTarget { flow, delay }).collect();
    suggest(trace, Link { rate, longest, buffer }, false, &targets).unwrap()
}

fn reserved(answers: &[Suggestion]) -> Vec<(Reason, Option<u64>)> {
    answers.iter().map(|answer| (answer.reason, answer.reserve)).collect()
}

#[test]
fn a_smooth_flow_gets_its_mean_rate_and_a_burst_more() {
    let trace = trace(vec![even(1001, 10_000, 125), bursty()]);
    let [smooth, burst] = [observe(&trace.flows[0]), observe(&trace.flows[1])];
    // 1001 packets in 10 s: 100 100 bit/s.
    let expected = Observation {
        mean_rate: Some(100_100),
        peak_rate: Some(100_000),
        workahead: Some(125),
        longest: 125,
        busy_seconds: 11,
    };
    assert_eq!(smooth, expected);
    assert_eq!((burst.workahead, burst.peak_rate, burst.busy_seconds), (Some(10_000), Some(800_000), 10));
    // 10 kB in 20 ms, less 0.8 ms for a packet of 1000 bytes at 10 Mbit/s, are 4.17 Mbit/s.
    let found = answers(&trace, 10_000_000, None, 20);
    let expected = [(Reason::MeanRate, Some(101_000)), (Reason::Target, Some(4_170_000))];
    assert_eq!(reserved(&found), expected);
}

#[test]
fn a_flow_without_room_is_left_out_and_changes_nothing_for_the_others() {
    let flows = vec![bursty(), even(1001, 10_000, 125), bursty()];
    let trace = trace(flows);
    let found = answers(&trace, 6_000_000, None, 20);
    let alone = answers(&trace, 100_000_000, None, 20);
    assert_eq!(found[1].reserve, alone[1].reserve);
    assert_eq!(found[0].reserve, Some(4_290_000));
    assert_eq!((found[2].reason, found[2].reserve, found[2].needs), (Reason::NoRoom, None, Some(4_290_000)));
    // No rate meets a target below the time of the longest packet on the link.
    let slow = answers(&trace, 6_000_000, None, 1);
    assert!(slow.iter().all(|answer| answer.reason == Reason::LinkTooSlow && answer.needs.is_none()));
}

#[test]
fn a_promise_is_made_where_the_buffer_holds_what_it_needs() {
    let trace = trace(vec![bursty(), even(1001, 10_000, 125)]);
    // A burst of ten packets, two packets of the other flow (9.9 ms and 0.8 ms are more than its
    // gap), one in service.
    let held = |buffer| reserved(&answers(&trace, 10_000_000, Some(buffer), 20));
    let (burst, smooth) = ((Reason::Target, Some(4_170_000)), (Reason::MeanRate, Some(101_000)));
    assert_eq!(held(Limit::Packets(13)), [burst, smooth]);
    assert_eq!(held(Limit::Packets(12)), [(Reason::NoBuffer, None), smooth]);
    assert_eq!(held(Limit::Bytes(11_250)), [burst, smooth]);
    assert_eq!(held(Limit::Bytes(11_249)), [(Reason::NoBuffer, None), smooth]);
}

#[test]
fn short_flows_reserve_nothing() {
    let flows = vec![even(1000, 10_000, 125), even(9, 1_000_000, 125), even(100, 9_000, 125)];
    let reasons: Vec<_> = answers(&trace(flows), 10_000_000, None, 50).iter().map(|a| a.reason).collect();
    assert_eq!(reasons, [Reason::MeanRate, Reason::FewPackets, Reason::ShortLife]);
    assert_eq!(
        suggest(&trace(vec![even(2, 1, 1)]), Link { rate: 0, longest: 1, buffer: None }, false, &[]),
        None
    );
}

/// Returns the promised time at the port of each packet, with its arrival and size: three passes,
/// or one.
fn promised(flow: &TraceFlow, bits: u64, link: Link, again: bool) -> Vec<(Span, Span, u32)> {
    let mut ideal = Workahead::new(Rate::from_bits_per_second(bits).unwrap());
    let longest = Rate::from_bits_per_second(link.rate).unwrap().time_for(link.longest);
    let packets = flow.schedule(1.0, if again { 3 } else { 1 }).unwrap();
    packets.map(|(at, bytes)| (at, ideal.see(Time::ORIGIN + at, bytes) + longest, bytes)).collect()
}

/// Returns the 99th percentile of the promised delays, of the worst pass.
fn p99(flow: &TraceFlow, bits: u64, link: Link, again: bool) -> Span {
    let mut delays: Vec<_> = promised(flow, bits, link, again).iter().map(|packet| packet.1).collect();
    let passes = delays.chunks_mut(flow.packets.len());
    passes.map(|pass| nearest_rank(pass, 99, 100).unwrap()).max().unwrap()
}

/// Returns the most packets and bytes of the flow that may be at the port, by counting.
fn backlog(flow: &TraceFlow, bits: u64, link: Link, again: bool) -> (u64, u64) {
    let packets = promised(flow, bits, link, again);
    let at = |now: usize| {
        let there = packets[..=now].iter().filter(|(at, stays, _)| *at + *stays >= packets[now].0);
        there.fold((0, 0), |(count, size), (_, _, bytes)| (count + 1, size + u64::from(*bytes)))
    };
    let all: Vec<(u64, u64)> = (0..packets.len()).map(at).collect();
    (all.iter().map(|at| at.0).max().unwrap(), all.iter().map(|at| at.1).max().unwrap())
}

/// Returns the highest number of three digits up to this one.
fn digits(rate: u64) -> u64 {
    let digit = 10u64.pow(rate.max(1).ilog10().saturating_sub(2));
    rate / digit * digit
}

/// Returns the next lower number of three digits.
fn below(rate: u64) -> u64 {
    let digit = 10u64.pow(rate.ilog10().saturating_sub(2));
    assert_eq!(rate % digit, 0);
    if rate == digit * 100 { rate - (digit / 10).max(1) } else { rate - digit }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_promise_is_the_least_that_keeps_the_target_and_fits(
        flows in prop::collection::vec(prop::collection::vec((0u64..200_000, 40u32..1500), 1..80), 1..6),
        rate in 1u64..100_000_000,
        again: bool,
        target in 0u64..200_000,
        buffer in prop::option::of(prop_oneof![
            (1u64..200).prop_map(Limit::Packets), (1u64..200_000).prop_map(Limit::Bytes)
        ]),
    ) {
        let arrivals = |gaps: Vec<(u64, u32)>| {
            gaps.into_iter().scan(0, |at, (gap, bytes)| { *at += gap; Some((*at, bytes)) }).collect()
        };
        let mut trace = trace(flows.into_iter().map(arrivals).collect());
        let period = trace.span + Span::from_millis(1);
        trace.flows.iter_mut().for_each(|flow| flow.period = period);
        let target = Span::from_micros(target);
        let link = Link { rate, longest: 1500, buffer };
        let targets: Vec<DelayTarget> = (0..trace.flows.len()).map(|flow| DelayTarget { flow, delay: target }).collect();
        let found = suggest(&trace, link, again, &targets).unwrap();
        let sum: u64 = found.iter().filter_map(|answer| answer.reserve).sum();
        let usable = rate * 95 / 100;
        prop_assert!(sum <= usable);
        let taken = |answer: &&Suggestion| answer.reserve.is_some();
        let (packets, bytes) = found.iter().filter(taken).fold((1, 1500), |(packets, bytes), answer| {
            let flow = &trace.flows[answer.target.flow];
            let most = backlog(flow, answer.reserve.unwrap(), link, again);
            assert_eq!(answer.backlog, Some(most));
            (packets + most.0, bytes + most.1)
        });
        prop_assert!(sum == 0 || buffer.is_none_or(|buffer| buffer.admits(packets, bytes)));
        for answer in &found {
            let flow = &trace.flows[answer.target.flow];
            let mean = observe(flow).mean_rate;
            match (answer.reason, answer.reserve) {
                (Reason::MeanRate, Some(reserve)) => {
                    prop_assert!(below(reserve) < mean.unwrap() && reserve >= mean.unwrap());
                    prop_assert!(p99(flow, reserve, link, again) <= target);
                }
                (Reason::Target, Some(reserve)) => {
                    prop_assert!(reserve >= mean.unwrap() && p99(flow, reserve, link, again) <= target);
                    let less = below(reserve);
                    let kept = p99(flow, less, link, again) <= target;
                    prop_assert!(!kept || buffer.is_some() && backlog(flow, less, link, again) > answer.backlog.unwrap());
                }
                (Reason::NoRoom, None) => prop_assert!(answer.needs.unwrap() > usable - sum),
                (Reason::LinkTooSlow, None) => {
                    prop_assert!(mean.is_none_or(|mean| mean > digits(usable) || p99(flow, digits(usable), link, again) > target));
                }
                (Reason::NoBuffer, None) => prop_assert!(buffer.is_some()),
                (Reason::FewPackets | Reason::ShortLife, None) => {}
                other => prop_assert!(false, "{other:?}"),
            }
            prop_assert_eq!(answer.promised_p99, answer.reserve.map(|reserve| p99(flow, reserve, link, again)));
        }
    }
}
