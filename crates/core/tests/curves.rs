//! Operations on arrival and service curves: the examples of the literature, and the definitions
//! at many points.

mod common;

use common::{pick, rounds};
use num_traits::Zero;
use tidegate_core::curves::{
    ArrivalCurve, Bucket, Exact, ServiceCurve, beside_fifo, largest_backlog, left_by, longest_delay, output,
    quotient, whole,
};
use tidegate_core::rng::Rng;

fn of(over: i64, under: i64) -> Exact {
    Exact::new(over.into(), under.into())
}

fn bucket(burst: u64, rate: u64) -> ArrivalCurve {
    ArrivalCurve::bucket(whole(burst), whole(rate))
}

fn rate_latency(rate: u64, latency: Exact) -> ServiceCurve {
    ServiceCurve::rate_latency(whole(rate), latency)
}

/// Le Boudec and Thiran 2001, section 1.4.1 (figure 1.10): a token bucket (b, r) at a rate-latency
/// server (R, T) is delayed by at most T + b / R, its backlog is at most b + r T, and it leaves as
/// a token bucket (b + r T, r).
#[test]
fn a_token_bucket_at_a_rate_latency_server_has_the_bounds_of_the_book() {
    let (arrivals, service) = (bucket(3_000, 1_000), rate_latency(2_000, of(1, 4)));
    assert_eq!(longest_delay(&arrivals, &service), Some(of(1, 4) + of(3, 2)));
    assert_eq!(largest_backlog(&arrivals, &service), Some(whole(3_250)));
    assert_eq!(output(&arrivals, &service), Some(bucket(3_250, 1_000)));
    assert_eq!(longest_delay(&bucket(1, 2_001), &service), None);
    assert_eq!(largest_backlog(&bucket(1, 2_001), &service), None);
}

/// Le Boudec and Thiran 2001, section 1.4.3, "pay bursts only once": servers (R₁, T₁) and (R₂, T₂)
/// in a row are one with the least rate and the sum of the latencies, and its delay T₁ + T₂ + b /
/// min R is less than the sum of the delays at both by (b + r T₁) / max R.
#[test]
fn a_burst_is_paid_once_in_a_row_of_servers() {
    let (first, second) = (rate_latency(2_000, of(1, 10)), rate_latency(3_000, of(1, 5)));
    let arrivals = bucket(6_000, 1_000);
    let row = first.then(&second);
    assert_eq!(row, rate_latency(2_000, of(3, 10)));
    let once = longest_delay(&arrivals, &row).unwrap();
    assert_eq!(once, of(3, 10) + whole(3));
    let behind = output(&arrivals, &first).unwrap();
    let twice = longest_delay(&arrivals, &first).unwrap() + longest_delay(&behind, &second).unwrap();
    assert_eq!(twice - once, (whole(6_000) + of(1_000, 10)) / whole(3_000));
}

/// RFC 2212, section 2 (Le Boudec and Thiran 2001, section 1.4.1): a flow with the T-SPEC (p, M, r,
/// b) at a server (R, T = C / R + D) is delayed by at most `(b − M) / R · (p − R) / (p − r) + (M +
/// C) / R + D` if p > R ≥ r, and by `(M + C) / R + D` if R ≥ p.
#[test]
fn the_delay_of_a_guaranteed_service_is_that_of_rfc_2212() {
    let mut rng = Rng::named(1, "rfc2212");
    let mut peaks_above = 0;
    for _ in 0..rounds(500) {
        let mut draw = |from: u64, to: u64| from + rng.below(to - from + 1);
        let (mtu, mean) = (draw(40, 1_500), draw(1_000, 50_000));
        let (burst, peak) = (mtu + draw(0, 100_000), mean + draw(1, 100_000));
        let (reserved, c, d) = (mean + draw(0, 150_000), draw(0, 10_000), quotient(draw(0, 100), 1_000));
        let both = [(mtu, peak), (burst, mean)]
            .map(|(burst, rate)| Bucket { burst: whole(burst), rate: whole(rate) });
        let arrivals = ArrivalCurve::least(both).unwrap();
        let service = rate_latency(reserved, quotient(c, reserved) + &d);
        let rest = quotient(mtu + c, reserved) + d;
        let bound = if peak > reserved {
            peaks_above += 1;
            quotient(burst - mtu, reserved) * quotient(peak - reserved, peak - mean) + rest
        } else {
            rest
        };
        assert_eq!(longest_delay(&arrivals, &service), Some(bound));
    }
    assert!(peaks_above > 100);
}

/// Le Boudec and Thiran 2001, section 6.2: beside a token bucket (b, r), a
/// rate-latency server (R, T) leaves R − r: after (b + R T) / (R − r) when the others go first, and
/// after T + b / R in the order of arrival. Behind a packet of L bytes that is not interrupted, a
/// link leaves urgent traffic its rate after L / C.
#[test]
fn the_service_left_is_that_of_the_book() {
    let (others, service) = (bucket(3_000, 500), rate_latency(2_000, of(1, 4)));
    assert_eq!(left_by(&others, &service), rate_latency(1_500, of(3_500, 1_500)));
    assert_eq!(beside_fifo(&others, &service), Some(rate_latency(1_500, of(1, 4) + of(3, 2))));
    let link = rate_latency(2_000, Exact::zero());
    assert_eq!(left_by(&bucket(1_500, 0), &link), rate_latency(2_000, of(3, 4)));
    assert_eq!(link.in_packets(&whole(1_500)), rate_latency(2_000, of(3, 4)));
    // Nothing is left in the long run.
    assert_eq!(longest_delay(&bucket(1, 0), &left_by(&bucket(1, 2_000), &link)), None);
    assert_eq!(beside_fifo(&bucket(1, 2_001), &link), None);
}

fn arrivals(rng: &mut Rng) -> ArrivalCurve {
    let bucket = |rng: &mut Rng| Bucket { burst: whole(rng.below(20)), rate: whole(rng.below(6)) };
    let buckets: Vec<Bucket> = (0..1 + rng.below(4)).map(|_| bucket(rng)).collect();
    ArrivalCurve::least(buckets).unwrap()
}

/// A convex curve: a few rate-latency servers in a row, or what others leave of them.
fn service(rng: &mut Rng) -> ServiceCurve {
    let one = |rng: &mut Rng| match rng.below(8) {
        0 => ServiceCurve::delay(whole(rng.below(6))),
        _ => rate_latency(1 + rng.below(9), quotient(rng.below(8), 2)),
    };
    let mut curve = one(rng);
    for _ in 0..rng.below(3) {
        curve = match rng.below(3) {
            0 => left_by(&arrivals(rng), &curve),
            1 => curve.in_packets(&whole(rng.below(4))),
            _ => curve.then(&one(rng)),
        };
    }
    curve
}

fn grid() -> impl Iterator<Item = Exact> + Clone {
    (0..=80).map(|step| quotient(step, 4))
}

/// `β(t)`; a large number where there is no limit.
fn at(curve: &ServiceCurve, time: &Exact) -> Exact {
    curve.at(time).unwrap_or_else(|| whole(1_000_000_000))
}

fn is_convex(curve: &ServiceCurve) -> bool {
    let all: Vec<Exact> = grid().map_while(|time| curve.at(&time)).collect();
    all[0].is_zero() && all.windows(3).all(|it| &it[0] + &it[2] >= whole(2) * &it[1] && it[0] <= it[1])
}

/// Every operation, compared with its definition on a grid of times. The suprema and infima of the
/// definitions are taken over the grid, so that they may fall short of the exact ones.
#[test]
fn every_operation_is_its_definition() {
    let (mut delays, mut backlogs, mut attained) = (0, 0, 0);
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "curves");
        let (one, other, beta) = (arrivals(&mut rng), arrivals(&mut rng), service(&mut rng));
        let (next, delay) = (service(&mut rng), quotient(rng.below(20), 4));
        let (sum, least, behind) = (one.and(&other), one.and_at_most(&other), one.behind(&delay));
        assert!(is_convex(&beta) && is_convex(&next), "seed {seed}");
        for time in grid() {
            assert_eq!(sum.at(&time), one.at(&time) + other.at(&time));
            assert_eq!(least.at(&time), one.at(&time).min(other.at(&time)));
            assert_eq!(behind.at(&time), one.at(&(&time + &delay)));
        }
        let row = beta.then(&next);
        for time in grid().take(40) {
            let splits = grid().take_while(|split| *split <= time);
            let least = splits.map(|split| at(&beta, &split) + at(&next, &(&time - split))).min().unwrap();
            assert!(at(&row, &time) <= least, "seed {seed}");
            attained += u32::from(at(&row, &time) == least);
        }
        let longest = longest_delay(&one, &beta);
        let largest = largest_backlog(&one, &beta);
        let leaves = output(&one, &beta);
        assert_eq!(largest.is_some(), leaves.is_some());
        let fifo = beside_fifo(&other, &beta);
        for time in grid() {
            if let Some(longest) = &longest {
                // A pure delay serves just behind its end.
                let served = at(&beta, &(&time + longest + quotient(1, 1_000_000_000)));
                assert!(served >= one.at(&time), "seed {seed}");
                delays += 1;
            }
            if let Some(largest) = &largest {
                assert!(one.at(&time) - at(&beta, &time) <= *largest, "seed {seed}");
                backlogs += 1;
            }
            if let Some(leaves) = &leaves {
                for early in grid().take(40) {
                    let difference = one.at(&(&time + &early)) - at(&beta, &early);
                    assert!(difference <= leaves.at(&time), "seed {seed}");
                }
            }
            let arbitrary = at(&left_by(&other, &beta), &time);
            if let Some(served) = beta.at(&time) {
                assert_eq!(arbitrary, (served - other.at(&time)).max(Exact::zero()), "seed {seed}");
            }
            if let (Some(fifo), Some(theta)) = (&fifo, longest_delay(&other, &beta))
                && let Some(served) = beta.at(&time)
            {
                let left = match time > theta {
                    true => served - other.at(&(&time - theta)),
                    false => Exact::zero(),
                };
                assert!(at(fifo, &time) <= left, "seed {seed}");
            }
        }
        let smaller = pick(&mut rng, &[0, 1, 5]);
        let packets = beta.in_packets(&whole(smaller));
        for time in grid().filter(|time| beta.at(time).is_some()) {
            let whole_packets = (at(&beta, &time) - whole(smaller)).max(Exact::zero());
            assert_eq!(at(&packets, &time), whole_packets, "seed {seed}");
        }
    }
    assert!(delays > 1_000 && backlogs > 1_000 && attained > 1_000, "{delays} {backlogs} {attained}");
}

/// The bounds are suprema: a little less would be exceeded.
#[test]
fn bounds_are_no_larger_than_their_definitions() {
    let mut finite = 0;
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "tight");
        let (one, beta) = (arrivals(&mut rng), service(&mut rng));
        // Rates are below 10: between two of these times a difference changes by less than a sixth.
        let times = || (0..4_000).map(|step| quotient(step, 60)).chain([quotient(1, 1_000_000)]);
        let little = quotient(1, 6);
        if let Some(longest) = longest_delay(&one, &beta).filter(|longest| *longest > little) {
            finite += 1;
            let less = &longest - &little;
            let late = |time: &Exact| beta.at(&(time + &less)).is_some_and(|served| served < one.at(time));
            assert!(times().any(|time| late(&time)), "seed {seed}: {longest}");
        }
        if let Some(largest) = largest_backlog(&one, &beta) {
            let less = largest - &little;
            let more = |time: &Exact| beta.at(time).is_some_and(|served| one.at(time) - served > less);
            assert!(times().any(|time| more(&time)), "seed {seed}");
        }
    }
    assert!(finite > 50, "{finite}");
}
