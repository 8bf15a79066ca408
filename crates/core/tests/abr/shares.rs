//! UCSC, APRC and Phantom: their estimates of a share against oracles that count anew, and the rates
//! to which they converge.

use crate::common::{rate, rounds};
use tidegate_core::abr::aprc::AprcParams;
use tidegate_core::abr::cell::RmCell;
use tidegate_core::abr::phantom::PhantomParams;
use tidegate_core::abr::ucsc::UcscParams;
use tidegate_core::abr::{BuiltInRateControl, PortTerms, RateControl, VcIx};
use tidegate_core::maxmin::{Demand, Exact, allocate};
use tidegate_core::params::Parameters;
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

const LINK: u64 = 10_000_000;

fn made(kind: &BuiltInRateControl, link: u64, vcs: u32) -> Box<dyn RateControl> {
    let terms = PortTerms { link: rate(link), start: Time::ORIGIN, measures: false };
    let mut made = kind.build(&terms).unwrap();
    (0..vcs).for_each(|_| made.open());
    made
}

fn frm(ccr: f64) -> RmCell {
    RmCell { ccr: ccr.round() as u64, er: 1_000_000_000, ..RmCell::default() }
}

fn near(found: f64, expected: f64, within: f64) -> bool {
    found == expected || (found / expected - 1.0).abs() < within
}

/// A_max by its definition: equal shares of what satisfied VCs leave, with the VC itself among the
/// others; satisfied are those whose request was below it when it was made.
#[test]
fn ucsc_divides_what_satisfied_vcs_leave() {
    const VCS: u32 = 6;
    let (mut satisfied, mut above) = (0, 0);
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "ucsc");
        let idle = Span::from_millis(20);
        let params = UcscParams { utilisation: 0.5 + 0.5 * rng.unit(), interval: Span::from_millis(1), idle };
        let mut ucsc = made(&BuiltInRateControl::Ucsc(params), LINK, VCS);
        let capacity = params.utilisation * LINK as f64;
        // The request of each active VC, its time, and whether it was granted.
        let mut known: Vec<Option<(u64, Time, bool)>> = vec![None; VCS as usize];
        let greatest = |known: &[Option<(u64, Time, bool)>], vc: usize| {
            let others: Vec<(u64, bool)> = (0..known.len())
                .filter(|other| *other != vc)
                .filter_map(|other| known[other].map(|(rate, _, granted)| (rate, granted)))
                .collect();
            let left = capacity - others.iter().filter(|one| one.1).map(|one| one.0 as f64).sum::<f64>();
            let bottlenecked = 1 + others.iter().filter(|one| !one.1).count();
            (left / bottlenecked as f64).max(capacity / (others.len() + 1) as f64)
        };
        let mut now = Time::ORIGIN;
        for step in 0..1000 {
            // Intervals end at steps alone.
            now += Span::from_micros(1000 + rng.below(3000));
            known.iter_mut().for_each(|vc| *vc = vc.filter(|(_, at, _)| now.since(*at) <= idle));
            let vc = rng.below(u64::from(VCS)) as usize;
            if rng.chance(0.6) {
                let request = rng.below(LINK / 2);
                let granted = (request as f64) < greatest(&known, vc);
                known[vc] = Some((request, now, granted));
                ucsc.declared(now, VcIx(vc as u32), &frm(request as f64));
                satisfied += u32::from(granted);
            } else {
                let expected = greatest(&known, vc);
                let found = ucsc.feedback(now, VcIx(vc as u32), Count::default()).er;
                assert!(near(found, expected, 1e-9), "seed {seed}, step {step}: {found} {expected}");
                above += u32::from(found > capacity / f64::from(VCS));
            }
        }
    }
    assert!(satisfied > 10_000 && above > 10_000, "{satisfied} {above}");
}

/// MACR moves towards a declared rate that says something about the fair share, and towards no
/// other; it limits VCs while the queue grows, or is very long.
#[test]
fn aprc_follows_the_rates_that_tell_its_share() {
    let (mut moved, mut limited) = (0, 0);
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "aprc");
        let params = AprcParams { cells: 1 + rng.below(20) as u32, ..AprcParams::read(&[]).unwrap() };
        let mut aprc = made(&BuiltInRateControl::Aprc(params), LINK, 1);
        let (mut macr, mut grows, mut arrivals, mut judged) = (f64::NAN, false, 0, 0);
        for step in 0..500 {
            match rng.below(3) {
                0 => {
                    aprc.arrived(Time::ORIGIN, Some(VcIx(0)), 53);
                    arrivals += 1;
                }
                1 => {
                    let ccr = rng.below(LINK) as f64;
                    aprc.declared(Time::ORIGIN, VcIx(0), &frm(ccr));
                    let tells = if grows { ccr < macr } else { ccr >= macr };
                    moved += u32::from(!macr.is_nan() && !tells);
                    macr = match (macr.is_nan(), tells) {
                        (true, _) => ccr,
                        (false, true) => (1.0 - params.weight) * macr + params.weight * ccr,
                        (false, false) => macr,
                    };
                }
                _ => {
                    let packets = rng.below(400);
                    let found = aprc.feedback(Time::ORIGIN, VcIx(0), Count { packets, bytes: packets * 53 });
                    if arrivals >= params.cells {
                        (grows, arrivals, judged) = (packets > judged + 1, 0, packets);
                    }
                    let ci = packets >= 300;
                    let share = if (grows || ci) && !macr.is_nan() { 0.875 * macr } else { f64::INFINITY };
                    assert!(near(found.er, share, 1e-9), "seed {seed}, step {step}: {} {share}", found.er);
                    assert_eq!((found.ci, found.ni), (ci, false));
                    limited += u32::from(share.is_finite());
                }
            }
        }
    }
    assert!(moved > 5000 && limited > 5000, "{moved} {limited}");
}

/// MACR is the average of what all leave, in closed form over any intervals.
#[test]
fn phantom_averages_what_is_left() {
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "phantom");
        let params = PhantomParams {
            factor: 1 + rng.below(10) as u32,
            interval: Span::from_millis(1),
            increase: 0.01 + 0.5 * rng.unit(),
            decrease: 0.01 + 0.5 * rng.unit(),
        };
        let mut phantom = made(&BuiltInRateControl::Phantom(params), LINK, 1);
        assert_eq!(phantom.feedback(Time::ORIGIN, VcIx(0), Count::default()).er, f64::INFINITY);
        let mut macr = 0.0;
        for interval in 0..200u64 {
            let begin = Time::ORIGIN + Span::from_millis(interval);
            // Up to twice the capacity, a part of it above the ABR class.
            let cells = rng.below(48);
            for cell in 0..cells {
                let now = begin + Span::from_micros(cell * 20);
                match rng.chance(0.3) {
                    true => phantom.left_above(now, 53),
                    false => phantom.arrived(now, rng.chance(0.9).then_some(VcIx(0)), 53),
                }
            }
            let residual = LINK as f64 - cells as f64 * 424_000.0;
            let weight = if residual > macr { params.increase } else { params.decrease };
            macr = f64::max((1.0 - weight) * macr + weight * residual, 0.0);
            let found = phantom.feedback(begin + params.interval, VcIx(0), Count::default()).er;
            let expected = f64::from(params.factor) * macr;
            assert!(near(found, expected, 1e-9), "seed {seed}, interval {interval}: {found} {expected}");
        }
    }
}

/// Fluid VCs over a port that send at their latest allocation, or less where they are held back:
/// n greedy ones come to f · C / (1 + n · f), and those held back leave the rest to the others and
/// to the phantom.
#[test]
fn phantom_comes_to_its_fixed_point() {
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "fixed point");
        let factor = 1 + rng.below(8) as u32;
        let params = PhantomParams { factor, ..PhantomParams::read(&[]).unwrap() };
        let link = 1_000_000_000;
        let held: Vec<f64> = (0..rng.below(4)).map(|_| 1e6 * (1 + rng.below(10)) as f64).collect();
        let greedy = 1 + rng.below(6);
        let mut phantom = made(&BuiltInRateControl::Phantom(params), link, greedy as u32);
        let mut each = 0.0;
        for interval in 0..4000u64 {
            let now = Time::ORIGIN + Span::from_millis(interval);
            let sent: f64 = each * greedy as f64 + held.iter().sum::<f64>();
            phantom.arrived(now, None, (sent / 8000.0).round() as u32);
            each = phantom.feedback(now + params.interval, VcIx(0), Count::default()).er.min(link as f64);
        }
        let (n, f) = (greedy as f64, f64::from(factor));
        let expected = f * (link as f64 - held.iter().sum::<f64>()) / (1.0 + n * f);
        assert!(near(each, expected, 1e-3), "seed {seed}: {each} {expected}");
    }
}

/// Sources that take the least allocation on their way, asked for one after the other, come to the
/// max-min rates of any network of UCSC ports.
#[test]
fn ucsc_comes_to_max_min_rates() {
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "networks");
        let links: Vec<u64> = (0..1 + rng.below(5)).map(|_| 1_000_000 * (1 + rng.below(20))).collect();
        let ways: Vec<Vec<usize>> = (0..1 + rng.below(8))
            .map(|_| {
                let mut way: Vec<usize> = (0..links.len()).filter(|_| rng.chance(0.5)).collect();
                if way.is_empty() {
                    way.push(rng.below(links.len() as u64) as usize);
                }
                way
            })
            .collect();
        let params = UcscParams { utilisation: 1.0, ..UcscParams::read(&[]).unwrap() };
        let vcs = ways.len() as u32;
        let mut ports: Vec<_> =
            links.iter().map(|link| made(&BuiltInRateControl::Ucsc(params), *link, vcs)).collect();
        let mut rates = vec![100_000.0; ways.len()];
        let mut now = Time::ORIGIN;
        for _ in 0..200 {
            now += Span::from_millis(1);
            for (vc, way) in ways.iter().enumerate() {
                way.iter().for_each(|port| ports[*port].declared(now, VcIx(vc as u32), &frm(rates[vc])));
                let allowed =
                    way.iter().map(|port| ports[*port].feedback(now, VcIx(vc as u32), Count::default()).er);
                rates[vc] = allowed.fold(f64::INFINITY, f64::min);
            }
        }
        let exact = |rate: u64| Exact::from_integer(u128::from(rate));
        let capacities: Vec<Exact> = links.iter().map(|link| exact(*link)).collect();
        let demands: Vec<Demand> = ways.iter().map(|way| Demand::of(way)).collect();
        for (vc, optimum) in allocate(&capacities, &demands).unwrap().into_iter().enumerate() {
            let optimum = *optimum.numer() as f64 / *optimum.denom() as f64;
            assert!(near(rates[vc], optimum, 1e-4), "seed {seed}, VC {vc}: {} {optimum}", rates[vc]);
        }
    }
}
