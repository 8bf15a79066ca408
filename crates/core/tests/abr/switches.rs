//! EFCI marking, relative-rate marking and EPRCA: their feedback by the length of the queue.

use crate::common::{rate, rounds};
use tidegate_core::abr::cell::RmCell;
use tidegate_core::abr::efci::EfciParams;
use tidegate_core::abr::eprca::EprcaParams;
use tidegate_core::abr::relative_rate::RelativeRateParams;
use tidegate_core::abr::{BuiltInRateControl, Feedback, PortTerms, RateControl, VcIx};
use tidegate_core::params::{Key, NamedPolicy};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

fn made(kind: &BuiltInRateControl) -> Box<dyn RateControl> {
    let terms = PortTerms { link: rate(10_000_000), start: Time::ORIGIN, measures: false };
    let mut made = kind.build(&terms).unwrap();
    made.open();
    made
}

/// An FRM cell that declares a rate.
fn at(rate: f64) -> RmCell {
    RmCell { ccr: rate as u64, er: 10_000_000, ..RmCell::default() }
}

fn queue(packets: u64) -> Count {
    Count { packets, bytes: packets * 53 }
}

#[test]
fn bits_follow_the_queue() {
    let relative = BuiltInRateControl::RelativeRate(RelativeRateParams { no_increase: 30, congested: 90 });
    let efci = BuiltInRateControl::Efci(EfciParams { threshold: 60 });
    let (mut relative, mut efci) = (made(&relative), made(&efci));
    for packets in 0..200 {
        let said = relative.feedback(Time::ORIGIN, VcIx(0), queue(packets));
        assert_eq!(said, Feedback { er: f64::INFINITY, ci: packets >= 90, ni: packets >= 30 });
        assert!(!relative.marks(queue(packets)));
        assert_eq!(efci.feedback(Time::ORIGIN, VcIx(0), queue(packets)), Feedback::NONE);
        assert_eq!(efci.marks(queue(packets)), packets >= 60);
    }
}

/// MACR is the exponentially weighted mean of the declared rates; a congested queue holds VCs to a
/// share of it.
#[test]
fn eprca_holds_to_a_share_of_the_mean() {
    for seed in 0..rounds(50) {
        let mut rng = Rng::named(seed, "eprca");
        let params = EprcaParams {
            weight: 0.01 + 0.5 * rng.unit(),
            down_pressure: 0.5 + 0.5 * rng.unit(),
            congested: 10,
            very_congested: 40,
        };
        let mut eprca = made(&BuiltInRateControl::Eprca(params));
        assert_eq!(eprca.feedback(Time::ORIGIN, VcIx(0), queue(50)).er, f64::INFINITY);
        let declared: Vec<f64> = (0..1 + rng.below(200)).map(|_| rng.below(10_000_000) as f64).collect();
        declared.iter().for_each(|rate| eprca.declared(Time::ORIGIN, VcIx(0), &at(*rate)));
        // The closed form: the first weighs (1 − w)ⁿ, the k-th from the end w · (1 − w)ᵏ.
        let last = declared.len() - 1;
        let weight = |at: usize| {
            let own = if at == 0 { 1.0 } else { params.weight };
            own * (1.0 - params.weight).powi((last - at) as i32)
        };
        let macr: f64 = declared.iter().enumerate().map(|(at, rate)| weight(at) * rate).sum();
        for (packets, held, ci) in [(9, false, false), (10, true, false), (39, true, false), (40, true, true)]
        {
            let said = eprca.feedback(Time::ORIGIN, VcIx(0), queue(packets));
            let share = if held { params.down_pressure * macr } else { f64::INFINITY };
            assert!(said.er == share || (said.er / share - 1.0).abs() < 1e-9, "seed {seed}");
            assert_eq!((said.ci, said.ni), (ci, false));
        }
    }
}

/// An RM cell takes the least rate and every bit of the feedbacks written into it, in any order.
#[test]
fn cells_keep_the_least_of_what_is_written() {
    for seed in 0..rounds(200) {
        let mut rng = Rng::named(seed, "written");
        let said: Vec<Feedback> = (0..1 + rng.below(6))
            .map(|_| Feedback { er: 1e7 * rng.unit(), ci: rng.chance(0.2), ni: rng.chance(0.2) })
            .collect();
        let write = |said: &mut dyn Iterator<Item = &Feedback>| {
            let mut cell = RmCell { er: 8_000_000, ..RmCell::default() };
            said.for_each(|feedback| feedback.write(&mut cell));
            cell
        };
        let forward = write(&mut said.iter());
        assert_eq!(forward, write(&mut said.iter().rev()));
        let least = said.iter().map(|feedback| feedback.er.round() as u64).min().unwrap().min(8_000_000);
        assert_eq!(forward.er, least);
        assert_eq!(forward.ci, said.iter().any(|feedback| feedback.ci));
        assert_eq!(forward.ni, said.iter().any(|feedback| feedback.ni));
    }
}

/// Every algorithm gives equal feedback at a later time.
#[test]
fn every_algorithm_is_the_same_at_any_time() {
    for kind in BuiltInRateControl::examples() {
        let said = |shift: Span| {
            let start = Time::ORIGIN + shift;
            let mut one = kind.build(&PortTerms { link: rate(10_000_000), start, measures: false }).unwrap();
            let mut rng = Rng::named(3, "shifted");
            (0..4).for_each(|_| one.open());
            let mut now = start;
            let mut said = Vec::new();
            for _ in 0..3000 {
                now += rng.exponential(Span::from_micros(40));
                let vc = VcIx(rng.below(4) as u32);
                match rng.below(4) {
                    0 | 1 => one.arrived(now, Some(vc), 53),
                    2 => one.declared(now, vc, &at(1e7 * rng.unit())),
                    _ => said.push(one.feedback(now, vc, queue(rng.below(1500)))),
                }
            }
            said
        };
        assert_eq!(said(Span::ZERO), said(Span::from_secs(1_000_000)), "{kind:?}");
    }
}

#[test]
fn thresholds_in_the_wrong_order_are_refused() {
    let relative = BuiltInRateControl::RelativeRate(RelativeRateParams { no_increase: 10, congested: 9 });
    assert_eq!(relative.check().unwrap_err().key, Key::Param("congested"));
    let eprca = EprcaParams { weight: 0.1, down_pressure: 0.9, congested: 10, very_congested: 9 };
    assert_eq!(BuiltInRateControl::Eprca(eprca).check().unwrap_err().key, Key::Param("very_congested"));
}
