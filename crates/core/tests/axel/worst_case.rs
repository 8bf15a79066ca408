//! The worst service of a flow beside accelerated ones: computed, attained and never exceeded.

use crate::common::{kind, pick, rate, rounds};
use crate::{Arrivals, LINK, bursts, contract, counting, open, some_contracts};
use tidegate_core::contract::Contract;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::{Span, Time};

/// Bytes per second of a rate.
fn bytes(bits: f64) -> f64 {
    bits / 8.0
}

/// Longest time in seconds by which the last bit of a packet may leave after its stamp: the largest
/// over x of `(Σ min(r̂ x, r x + W) − R x) / R`, and the time of a largest packet. Between two
/// values of `W / (r̂ − r)` the sum is linear in x.
fn worst(contracts: &[Contract], largest: u32) -> f64 {
    let link = bytes(LINK as f64);
    let of = |contract: &Contract| {
        let [reserve, peak] =
            [contract.reserve, contract.peak].map(|rate| bytes(rate.unwrap().bits_per_second()));
        (reserve, peak.max(reserve), f64::from(contract.workahead.unwrap()))
    };
    let terms: Vec<_> = contracts.iter().map(of).collect();
    let served = |x: f64| {
        let sent = terms.iter().map(|(reserve, peak, most)| (peak * x).min(reserve * x + most));
        (sent.sum::<f64>() - link * x) / link
    };
    let turns = terms.iter().filter(|(reserve, peak, _)| peak > reserve);
    let turns = turns.map(|(reserve, peak, most)| served(most / (peak - reserve)));
    turns.fold(0.0, f64::max) + f64::from(largest) / link
}

/// Longest time in seconds by which the last bit of a packet leaves after its stamp, by flow; the
/// stamp of a flow that is not accelerated is VirtualClock's.
fn latest(scheduler: SchedulerKind, contracts: &[Contract], arrivals: &Arrivals) -> Vec<f64> {
    let (mut lines, legs) = open(scheduler, contracts);
    for (at, flow, len) in arrivals {
        lines.run(*at);
        lines.arrive(&[legs[*flow]], *len);
    }
    lines.drain();
    let mut latest = vec![f64::NEG_INFINITY; contracts.len()];
    for sent in &lines.sent {
        let flow = legs.iter().position(|leg| leg.flow == sent.packet.flow).unwrap();
        let left = sent.at + rate(LINK).time_for(sent.packet.len);
        let late = i128::from(left.ticks()) - i128::from(sent.packet.tag);
        latest[flow] = latest[flow].max(late as f64 * Span::from_ticks(1).as_secs_f64());
    }
    latest
}

/// A smooth flow, `bursty` flows of a peak rate that is the link's, and a smooth flow that has the
/// rest of `reserved` bit/s.
fn beside(bursty: u64, reserved: u64) -> Vec<Contract> {
    let (own, rest) = (1_000_000, reserved - (1 + bursty) * 1_000_000);
    let mut contracts = vec![contract(own, own, 9_600), contract(rest, rest, 9_600)];
    contracts.extend((0..bursty).map(|_| contract(1_000_000, LINK, 96_000)));
    contracts
}

/// All begin at once: the smooth flows at their rates, the bursty ones at their peak for as long as
/// W allows.
fn at_once(contracts: &[Contract], len: u32) -> Arrivals {
    let mut arrivals = Arrivals::new();
    for (flow, contract) in contracts.iter().enumerate() {
        let (reserve, peak) = (contract.reserve.unwrap(), contract.peak.unwrap());
        let until = match peak > reserve {
            true => 96_000.0 / bytes(peak.bits_per_second() - reserve.bits_per_second()),
            false => 1.0,
        };
        let mut at = Time::ORIGIN;
        while at.since(Time::ORIGIN).as_secs_f64() < until {
            arrivals.push((at, flow, len));
            at += peak.time_for(len);
        }
    }
    arrivals.sort_by_key(|(at, flow, _)| (*at, *flow));
    arrivals
}

/// With k bursty flows the bound is `(k r̂ + S − R) W / ((r̂ − r) R)`, S being what the smooth flows
/// reserve: k W / R on a link that is reserved in full. Bursts of small packets that begin at once
/// attain it, also where a part of the link is not reserved.
#[test]
fn bursts_that_begin_at_once_attain_the_worst_case() {
    let len = 50;
    for bursty in 1..=5 {
        for reserved in [7_000_000, 8_000_000] {
            let contracts = beside(bursty, reserved.max((2 + bursty) * 1_000_000 + 500_000));
            let reserves = contracts.iter().map(|contract| contract.reserve.unwrap().bits_per_second());
            let reserved = bytes(reserves.sum());
            let (k, link, mean) = (bursty as f64, bytes(LINK as f64), bytes(1e6));
            let smooth = reserved - k * mean;
            let closed = (k * link + smooth - link) * 96_000.0 / ((link - mean) * link);
            let most = worst(&contracts, len);
            assert!((closed + f64::from(len) / link - most).abs() < 1e-6, "{closed} {most}");
            let late = latest(kind("axel"), &contracts, &at_once(&contracts, len))[0];
            assert!(late <= most && late >= 0.97 * most, "{bursty} beside {reserved}: {late} of {most}");
            // Without acceleration nothing is later than a packet's time.
            let plain = latest(kind("virtual-clock"), &contracts, &at_once(&contracts, len))[0];
            assert!(plain <= f64::from(len) / link + 1e-9, "{plain}");
        }
    }
}

/// No arrivals exceed it, within their contracts or beyond, by either reading of the backlog and
/// under a length of acceleration of W / r.
#[test]
fn no_arrivals_exceed_the_worst_case() {
    let mut used = 0.0f64;
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "worst case");
        let mut contracts = some_contracts(&mut rng);
        let reserves = contracts.iter().map(|contract| contract.reserve.unwrap().bits_per_second());
        let left = (LINK as f64 - reserves.sum::<f64>()) as u64;
        contracts.push(contract(left, left, 9_600));
        let mut arrivals = bursts(&mut rng, &contracts, 3);
        if rng.chance(0.5) {
            // Several bursts begin at the same time.
            let together = Span::from_millis(pick(&mut rng, &[50, 100]));
            let grid = |at: Time| {
                let since = at.since(Time::ORIGIN).ticks();
                Time::ORIGIN + Span::from_ticks(since - since % together.ticks())
            };
            arrivals.iter_mut().for_each(|(at, _, _)| *at = grid(*at));
            arrivals.sort_by_key(|(at, flow, _)| (*at, *flow));
        }
        let largest = arrivals.iter().map(|(_, _, len)| *len).max().unwrap();
        let most = worst(&contracts, largest);
        for backlog in ["ideal", "real"] {
            for (flow, late) in latest(counting("axel", backlog), &contracts, &arrivals).iter().enumerate() {
                assert!(*late <= most + 1e-9, "seed {seed}, {backlog}, flow {flow}: {late} of {most}");
                used = used.max(late / most);
            }
        }
    }
    assert!(used > 0.2, "the arrivals are too tame: {used}");
}
