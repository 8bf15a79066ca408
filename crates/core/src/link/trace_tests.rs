use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

fn ms(milliseconds: u64) -> Time {
    Time::ORIGIN + Span::from_millis(milliseconds)
}

fn link(opportunities: &[u32]) -> TracedLink {
    TracedLink::new(Arc::new(Trace::new(opportunities).unwrap()), Time::ORIGIN)
}

/// Returns when each packet is through, for packets that come at these times, in order, and are
/// served first come, first served.
fn served(link: &mut TracedLink, packets: &[(Time, u32)]) -> Vec<Time> {
    let mut free = Time::ORIGIN;
    let mut serve = |&(arrived, len): &(Time, u32)| {
        let start = link.opens(free.max(arrived));
        free = link.departure(start, len);
        free
    };
    packets.iter().map(&mut serve).collect()
}

/// Like [`served`], opportunity by opportunity and byte by byte, as mahimahi does it.
fn slowly(opportunities: &[u32], packets: &[(Time, u32)]) -> Vec<Time> {
    let mut waiting: VecDeque<(Time, u32)> = packets.iter().copied().collect();
    let mut through = Vec::new();
    let mut from = 0;
    loop {
        for millisecond in opportunities {
            let at = ms(from + u64::from(*millisecond));
            let mut bytes = 1500;
            while let Some((arrived, len)) = waiting.front_mut()
                && *arrived <= at
                && bytes > 0
            {
                bytes -= 1;
                *len -= 1;
                if *len == 0 {
                    through.push(at);
                    waiting.pop_front();
                }
            }
            if waiting.is_empty() {
                return through;
            }
        }
        from += u64::from(opportunities[opportunities.len() - 1]);
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    assert_eq!(Trace::new([]), Err(NotATrace::Empty));
    assert_eq!(Trace::new([0, 0]), Err(NotATrace::NoTime));
    assert_eq!(Trace::new([1, 3, 2]), Err(NotATrace::Backwards { at: 2, to: 2, from: 3 }));
    assert_eq!(Trace::new([1, 3, 3]).unwrap().period(), Span::from_millis(3));
}

#[test]
fn small_packets_share_an_opportunity_and_long_ones_take_several() {
    let mut link = link(&[2, 5, 5, 10]);
    let packets = [(ms(0), 1000), (ms(0), 500), (ms(0), 400), (ms(0), 1500), (ms(1), 2600)];
    // 1500 at 2 ms; 400 and 1100 of the next at the first 5 ms, its other 400 and 1100 at the
    // second; 1500 at 10 ms.
    assert_eq!(served(&mut link, &packets), [ms(2), ms(2), ms(5), ms(5), ms(10)]);
}

#[test]
fn what_nobody_uses_is_lost() {
    let mut link = link(&[2, 5, 10]);
    // 100 bytes of the opportunity at 2 ms; its rest does not wait for the second packet.
    assert_eq!(link.departure(ms(0), 100), ms(2));
    assert_eq!(link.opens(ms(2)), ms(2));
    assert_eq!(link.opens(ms(3)), ms(5));
    assert_eq!(link.departure(ms(5), 1500), ms(5));
    // An unused opportunity leaves nothing after its instant either.
    assert_eq!(link.opens(ms(9)), ms(10));
    assert_eq!(link.opens(ms(11)), ms(12));
}

/// The last opportunity of a period and those at 0 ms of the next come at one instant.
#[test]
fn it_starts_again_where_it_ends() {
    let mut link = link(&[0, 4]);
    let packets = [(ms(0), 1500); 6];
    assert_eq!(served(&mut link, &packets), [ms(0), ms(4), ms(4), ms(8), ms(8), ms(12)]);
}

#[test]
fn years_of_it_do_not_wear_it_out() {
    let mut link = link(&[1, 7]);
    let years = Span::from_secs(5 * 366 * 86_400);
    // 7 ms do not divide the day: its position is the counted one.
    let millis = 5 * 366 * 86_400 * 1000;
    assert_eq!(link.opens(Time::ORIGIN + years), ms(millis / 7 * 7 + if millis % 7 <= 1 { 1 } else { 7 }));
    // A packet that takes longer than time itself never departs.
    let mut late = TracedLink::new(Arc::new(Trace::new([u32::MAX]).unwrap()), Time::ORIGIN);
    assert_eq!(late.departure(Time::ORIGIN, u32::MAX), Time::NEVER);
    assert_eq!(late.opens(Time::NEVER), Time::NEVER);
}

#[test]
fn the_mean_rate_is_the_traces() {
    let trace = Trace::new([3, 3, 10]).unwrap();
    assert_eq!(trace.mean_bits_per_second(), 3.0 * 12_000.0 / 0.01);
    let mut link = TracedLink::new(Arc::new(trace), Time::ORIGIN);
    let mut at = Time::ORIGIN;
    for _ in 0..300_000 {
        at = link.departure(at, 700);
    }
    let mean = 300_000.0 * 700.0 * 8.0 / at.since(Time::ORIGIN).as_secs_f64();
    assert!((mean / 3.6e6 - 1.0).abs() < 1e-4, "{mean}");
}

fn traces() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0u32..4, 1..12).prop_map(|gaps| {
        let mut at = 0;
        let mut trace: Vec<u32> = gaps
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        let last = trace.len() - 1;
        trace[last] = trace[last].max(1);
        trace
    })
}

/// Packets at whole and fractional milliseconds, some of them together.
fn packets() -> impl Strategy<Value = Vec<(Time, u32)>> {
    let gap = prop_oneof![Just(0), (0u64..8).prop_map(|whole| whole * 1000), 0u64..20_000];
    prop::collection::vec((gap, 1u32..4000), 1..40).prop_map(|steps| {
        let mut at = Time::ORIGIN;
        let step = |(gap, len)| {
            at += Span::from_micros(gap);
            (at, len)
        };
        steps.into_iter().map(step).collect()
    })
}

proptest! {
    #[test]
    fn packets_are_through_when_going_byte_by_byte_says(trace in traces(), packets in packets()) {
        prop_assert_eq!(served(&mut link(&trace), &packets), slowly(&trace, &packets));
    }

    /// Checks that asking when it opens changes nothing.
    #[test]
    fn a_question_costs_nothing(trace in traces(), packets in packets()) {
        let (mut asked, mut left_alone) = (link(&trace), link(&trace));
        let mut free = Time::ORIGIN;
        for (arrived, len) in packets {
            let from = free.max(arrived);
            asked.opens(from);
            let start = asked.opens(from);
            prop_assert_eq!(asked.opens(start), start);
            free = asked.departure(start, len);
            prop_assert_eq!(left_alone.departure(from, len), free);
        }
    }

    #[test]
    fn opportunities_are_counted_one_by_one(trace in traces(), micros in 0u64..100_000) {
        let (span, period) = (Span::from_micros(micros), u64::from(trace[trace.len() - 1]));
        let counted = (0..=200u64)
            .flat_map(|round| trace.iter().map(move |at| Span::from_millis(round * period + u64::from(*at))))
            .filter(|at| *at < span)
            .count();
        prop_assert_eq!(Trace::new(trace).unwrap().opportunities_within(span), counted as u64);
    }
}
