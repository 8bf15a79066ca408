//! ERICA against an oracle that keeps every event and counts anew each time.

use crate::common::{rate, rounds};
use tidegate_core::abr::cell::RmCell;
use tidegate_core::abr::erica::{EricaParams, Fairness};
use tidegate_core::abr::{BuiltInRateControl, PortTerms, VcIx};
use tidegate_core::params::Parameters;
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

const LINK: u64 = 10_000_000;
const VCS: u64 = 5;

/// MCR of a VC.
fn mcr(vc: u32) -> u64 {
    300_000 * u64::from(vc)
}

/// An FRM cell of a VC that declares a rate.
fn frm(vc: u32, rate: f64) -> RmCell {
    RmCell { ccr: rate as u64, mcr: mcr(vc), ..RmCell::default() }
}

#[derive(Clone, Copy)]
enum Event {
    Cell(u32),
    Answer,
    Declared(u32, f64),
    Measured(u32),
    Above,
}

/// All events and all allocations.
struct History {
    params: EricaParams,
    measures: bool,
    events: Vec<(Time, Event)>,
    /// Interval and value of the latest allocation, by VC.
    given: Vec<Option<(u64, f64)>>,
    /// The greatest allocation of each interval.
    greatest: Vec<(u64, f64)>,
}

impl History {
    fn interval(&self, at: Time) -> u64 {
        at.since(Time::ORIGIN).ticks() / self.params.interval.ticks()
    }

    /// Bits per second in an interval, over the events that count.
    fn rate(&self, interval: u64, counts: impl Fn(&Event) -> bool) -> f64 {
        let among = self.events.iter().filter(|(at, event)| self.interval(*at) == interval && counts(event));
        among.count() as f64 * 424.0 / self.params.interval.as_secs_f64()
    }

    fn target(&self, interval: u64) -> f64 {
        let above = self.rate(interval, |event| matches!(event, Event::Above));
        (self.params.utilisation * LINK as f64 - above).max(0.0)
    }

    /// Contribution of a VC to the number of active VCs in an interval.
    fn activity(&self, interval: u64, vc: u32) -> f64 {
        let seen =
            |interval| self.rate(interval, |event| matches!(event, Event::Cell(of) if *of == vc)) > 0.0;
        let since = (0..=interval).rev().position(seen);
        since.map_or(0.0, |silent| self.params.average_active.unwrap_or(0.0).powi(silent as i32))
    }

    /// MCR of a VC, where it counts, once an FRM cell has declared it in an interval up to this one.
    fn minimum(&self, interval: u64, vc: u32) -> f64 {
        let counts = self.params.fairness == Fairness::McrPlus;
        let told = |(at, event): &(Time, Event)| {
            matches!(event, Event::Declared(of, _) if *of == vc) && self.interval(*at) <= interval
        };
        if counts && self.events.iter().any(told) { mcr(vc) as f64 } else { 0.0 }
    }

    /// Averages a value over all intervals up to one, the first of which counts in full.
    fn averaged(&self, interval: u64, of: impl Fn(u64) -> f64) -> f64 {
        let weight = self.params.average_overload.unwrap_or(1.0);
        (1..=interval).fold(of(0), |average, at| average + weight * (of(at) - average))
    }

    fn allocate(&mut self, now: Time, vc: u32) -> f64 {
        let current = self.interval(now);
        if let Some((interval, given)) = self.given[vc as usize]
            && interval == current
        {
            return given;
        }
        let allocation = self.anew(current, vc);
        self.given[vc as usize] = Some((current, allocation));
        if current > 0 {
            let capped = allocation.min(self.averaged(current - 1, |at| self.target(at)));
            self.greatest.push((current, capped - self.minimum(current, vc)));
        }
        allocation
    }

    fn anew(&self, current: u64, vc: u32) -> f64 {
        let Some(last) = current.checked_sub(1) else { return f64::INFINITY };
        let target = self.averaged(last, |at| self.target(at));
        let is_input = |event: &Event| matches!(event, Event::Cell(_) | Event::Answer);
        let input = self.averaged(last, |at| self.rate(at, is_input));
        let active: f64 = (0..VCS as u32).map(|vc| self.activity(last, vc)).sum();
        let minima: f64 = (0..VCS as u32).map(|vc| self.activity(last, vc) * self.minimum(last, vc)).sum();
        let own = self.minimum(current, vc);
        let fairness = own + (target - minima).max(0.0) / active.max(1.0);
        let declared = self.events.iter().rev().find_map(|(_, event)| match event {
            Event::Declared(of, rate) if *of == vc => Some(*rate),
            _ => None,
        });
        let rate = match self.measures {
            true => self.rate(last, |event| matches!(event, Event::Measured(of) if *of == vc)),
            false => declared.unwrap_or(0.0),
        };
        let overload = input / target;
        let above = (rate - own).max(0.0);
        let efficiency = own + if above == 0.0 || overload == f64::INFINITY { 0.0 } else { above / overload };
        let before = self.greatest.iter().filter(|(interval, _)| *interval == last).map(|(_, given)| *given);
        let boosted = self.params.fairness_boost.is_some_and(|boost| overload <= 1.0 + boost);
        let before = before.filter(|_| boosted).fold(f64::NEG_INFINITY, f64::max);
        fairness.max(efficiency).max(own + before)
    }
}

#[test]
fn allocations_are_those_of_an_oracle_that_counts_anew() {
    let (mut finite, mut repeated, mut by_rate) = (0, 0, 0);
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "erica");
        let measures = rng.chance(0.5);
        let option =
            |rng: &mut Rng, low: f64, high: f64| rng.chance(0.4).then(|| low + (high - low) * rng.unit());
        let params = EricaParams {
            utilisation: 0.5 + 0.5 * rng.unit(),
            interval: Span::from_micros(500 + rng.below(2000)),
            fairness_boost: option(&mut rng, 0.0, 0.3),
            average_active: option(&mut rng, 0.0, 0.9),
            average_overload: option(&mut rng, 0.1, 1.0),
            fairness: if rng.chance(0.5) { Fairness::McrPlus } else { Fairness::MaxMin },
            ..EricaParams::read(&[]).unwrap()
        };
        let terms = PortTerms { link: rate(LINK), start: Time::ORIGIN, measures };
        let mut erica = BuiltInRateControl::Erica(params).build(&terms).unwrap();
        let mut history = History {
            params,
            measures,
            events: Vec::new(),
            given: vec![None; VCS as usize],
            greatest: Vec::new(),
        };
        (0..VCS).for_each(|_| erica.open());
        let mut now = Time::ORIGIN;
        for step in 0..600 {
            now += rng.exponential(Span::from_micros(60));
            let vc = rng.below(VCS) as u32;
            let event = match rng.below(10) {
                0..=3 => Event::Cell(vc),
                4 => Event::Answer,
                5 => Event::Declared(vc, rng.below(LINK) as f64),
                6 | 7 => Event::Measured(vc),
                8 => Event::Above,
                _ => {
                    let expected = history.allocate(now, vc);
                    let found = erica.feedback(now, VcIx(vc), Count::default()).er;
                    let same = (found / expected - 1.0).abs() < 1e-9 || found == expected;
                    assert!(same, "seed {seed}, step {step}: {found} {expected}, {params:?}");
                    finite += u64::from(found.is_finite());
                    let again = erica.feedback(now, VcIx(vc), Count::default()).er;
                    repeated += u64::from(again == found);
                    by_rate += u64::from(found > history.params.utilisation * LINK as f64);
                    continue;
                }
            };
            history.events.push((now, event));
            match event {
                Event::Cell(vc) => erica.arrived(now, Some(VcIx(vc)), 53),
                Event::Answer => erica.arrived(now, None, 53),
                Event::Declared(vc, rate) => erica.declared(now, VcIx(vc), &frm(vc, rate)),
                Event::Measured(vc) => erica.measured(now, VcIx(vc), 53),
                Event::Above => erica.left_above(now, 53),
            }
        }
    }
    assert!(finite > 1000 && repeated > finite && by_rate > 20, "{finite} {repeated} {by_rate}");
}

/// ERICA+ aims at the whole capacity while the queue takes up to its delay, at less while it takes
/// longer, and never at less than half.
#[test]
fn the_target_falls_with_the_queue() {
    let delay = Span::from_micros(1500);
    let params = EricaParams { queue_delay: Some(delay), ..EricaParams::read(&[]).unwrap() };
    let target = |bytes: u64| {
        let terms = PortTerms { link: rate(LINK), start: Time::ORIGIN, measures: false };
        let mut erica = BuiltInRateControl::Erica(params).build(&terms).unwrap();
        erica.open();
        let queue = Count { packets: bytes.div_ceil(53), bytes };
        erica.feedback(Time::ORIGIN, VcIx(0), queue);
        erica.feedback(Time::ORIGIN + params.interval, VcIx(0), queue).er
    };
    let full = LINK as f64;
    for bytes in [0, 100, 1875] {
        assert_eq!(target(bytes), full);
    }
    let mut before = full;
    for bytes in (3_000..40_000).step_by(1_000) {
        let time = bytes as f64 * 8.0 / full;
        let aim = delay.as_secs_f64();
        let expected = full * (1.15 * aim / (0.15 * time + aim)).max(0.5);
        assert!((target(bytes) / expected - 1.0).abs() < 1e-9, "{bytes}");
        assert!(target(bytes) <= before);
        before = target(bytes);
    }
    assert_eq!(before, full / 2.0);
}

/// An interval of cells ends like one of time: allocations follow at once.
#[test]
fn intervals_of_cells_end_with_their_last() {
    for cells in [1u32, 7, 50] {
        let params = EricaParams {
            cells: Some(cells),
            interval: Span::from_secs(1),
            ..EricaParams::read(&[]).unwrap()
        };
        let terms = PortTerms { link: rate(LINK), start: Time::ORIGIN, measures: false };
        let mut erica = BuiltInRateControl::Erica(params).build(&terms).unwrap();
        erica.open();
        erica.open();
        for cell in 1..=cells {
            let now = Time::ORIGIN + Span::from_micros(u64::from(cell) * 100);
            assert_eq!(erica.feedback(now, VcIx(0), Count::default()).er, f64::INFINITY);
            erica.arrived(now, Some(VcIx(cell % 2)), 53);
        }
        let now = Time::ORIGIN + Span::from_micros(u64::from(cells) * 100);
        let active = cells.min(2);
        let expected = 0.9 * LINK as f64 / f64::from(active);
        assert!((erica.feedback(now, VcIx(0), Count::default()).er / expected - 1.0).abs() < 1e-9);
    }
}
