//! Convergence of rates to their targets: its speed and permanence. Kalyanaraman et al. 1998,
//! section 6.1.
//!
//! Rates and queues are sampled at one spacing: a sample of a rate is its value at the end of its
//! interval.

use crate::units::Span;
use alloc::vec::Vec;

/// One flow's rate over time, and its target; both in one unit.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// Its rate, one value per sample; NaN while there is none.
    pub rates: &'a [f64],
    /// The target of the rate, above zero.
    pub optimum: f64,
}

/// The criterion by which rates have reached their optimum.
#[derive(Clone, Copy, Debug)]
pub struct Nearness {
    /// From one sample to the next, above zero.
    pub spacing: Span,
    /// Averaging window of rates; one shorter than the spacing is one sample.
    pub window: Span,
    /// Greatest deviation of an average, as a share of the optimum.
    pub tolerance: f64,
    /// Length in packets below which the queue must be.
    pub queue: f64,
}

impl Nearness {
    /// Averages over 5 ms within 10 % of the optimum, and fewer than 50 packets in the queue.
    pub const fn usual(spacing: Span) -> Nearness {
        Nearness { spacing, window: Span::from_millis(5), tolerance: 0.1, queue: 50.0 }
    }

    /// Convergence time: from the first sample's beginning until every average is near its optimum
    /// and the queue is short, both permanently. `None` when that never happens, or without
    /// samples.
    pub fn convergence(&self, courses: &[Course<'_>], queue: &[f64]) -> Option<Span> {
        let samples = courses.iter().map(|course| course.rates.len()).min()?.min(queue.len());
        let is_near =
            |at: usize| queue[at] < self.queue && courses.iter().all(|course| self.is_near(course, at));
        //= kalyanaraman1998 6.1
        let tail = (0..samples).rev().take_while(|at| is_near(*at)).count();
        (tail > 0).then(|| self.after(samples - tail))
    }

    /// Response time: until every rate has come near its optimum or has passed it, each at a time
    /// of its own. `None` when one never does.
    pub fn response(&self, courses: &[Course<'_>]) -> Option<Span> {
        let first = |course: &Course<'_>| {
            let &Course { rates, optimum } = course;
            let above = |rate: f64| rate > optimum;
            let begins_above = above(*rates.iter().find(|rate| !rate.is_nan())?);
            let is_there = |rate: &f64| {
                self.is_close(*rate, optimum) || (!rate.is_nan() && above(*rate) != begins_above)
            };
            //= kalyanaraman1998 6.1
            rates.iter().position(is_there)
        };
        let firsts: Option<Vec<usize>> = courses.iter().map(first).collect();
        firsts?.into_iter().max().map(|at| self.after(at))
    }

    fn is_near(&self, course: &Course<'_>, at: usize) -> bool {
        let samples = (self.window.ticks() / self.spacing.ticks()).max(1) as usize;
        let window = &course.rates[(at + 1).saturating_sub(samples)..=at];
        self.is_close(window.iter().sum::<f64>() / window.len() as f64, course.optimum)
    }

    fn is_close(&self, rate: f64, optimum: f64) -> bool {
        (rate - optimum).abs() <= self.tolerance * optimum
    }

    /// Returns the end of a sample.
    fn after(&self, at: usize) -> Span {
        Span::from_ticks(self.spacing.ticks().saturating_mul(at as u64 + 1))
    }
}

/// Distance of rates from their optima at each sample: the greatest `|rate − optimum| / optimum`
/// among them; NaN if a flow has no rate.
pub fn distance(courses: &[Course<'_>]) -> Vec<f64> {
    let samples = courses.iter().map(|course| course.rates.len()).min().unwrap_or(0);
    let off = |course: &Course<'_>, at: usize| ((course.rates[at] - course.optimum) / course.optimum).abs();
    // `f64::max` would ignore NaN.
    let greater = |one: f64, other: f64| if one > other || one.is_nan() { one } else { other };
    (0..samples).map(|at| courses.iter().map(|course| off(course, at)).fold(0.0, greater)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const SPACING: Span = Span::from_millis(1);

    /// A rate that decays to its optimum: |rate − optimum| = e^(−t/τ) · optimum crosses 10 % at t =
    /// τ · ln 10. Averages over a window w cross later, where e^(−t/τ) · (e^(w/τ) − 1) · τ/w = 10
    /// %.
    #[test]
    fn an_exponential_course_converges_when_theory_says() {
        for tau in [4.0, 10.0, 25.0, 60.0] {
            let rates: Vec<f64> = (1..=400).map(|ms| 50.0 * (1.0 + (-f64::from(ms) / tau).exp())).collect();
            let queue = vec![0.0; rates.len()];
            let course = [Course { rates: &rates, optimum: 50.0 }];
            let near = Nearness::usual(SPACING);
            let millis = |span: Option<Span>| span.unwrap().as_secs_f64() * 1e3;
            let response = tau * 10f64.ln();
            let window: f64 = 5.0;
            let averaged = response + tau * (((window / tau).exp() - 1.0) * tau / window).ln();
            assert!((millis(near.response(&course)) - response).abs() <= 1.0, "{tau}");
            assert!((millis(near.convergence(&course, &queue)) - averaged).abs() <= 1.5, "{tau}");
        }
    }

    /// Compares with the definition, sample by sample, over random courses.
    #[test]
    fn convergence_is_the_first_sample_from_which_on_all_is_near() {
        let (mut converged, mut never) = (0, 0);
        for seed in 0..500 {
            let mut rng = Rng::named(seed, "courses");
            let noise = 0.3 * rng.unit();
            let mut course = |from: usize| -> Vec<f64> {
                let rate = |at: usize| if at < from { 20.0 } else { 10.0 };
                (0..60).map(|at| rate(at) * (1.0 + noise * (rng.unit() - 0.5))).collect()
            };
            let (one, other, queue) = (course(20), course(30), course(25));
            let courses = [Course { rates: &one, optimum: 10.0 }, Course { rates: &other, optimum: 10.0 }];
            let near = Nearness { window: Span::from_millis(3), queue: 11.0, ..Nearness::usual(SPACING) };
            let is_near = |at: usize| {
                let average = |rates: &[f64]| {
                    rates[at.saturating_sub(2)..=at].iter().sum::<f64>() / 3f64.min(at as f64 + 1.0)
                };
                let close = |rates: &[f64]| (average(rates) - 10.0).abs() <= 1.0;
                close(&one) && close(&other) && queue[at] < 11.0
            };
            let slow =
                (0..60).find(|from| (*from..60).all(is_near)).map(|from| Span::from_millis(from as u64 + 1));
            assert_eq!(near.convergence(&courses, &queue), slow, "seed {seed}");
            *if slow.is_some() { &mut converged } else { &mut never } += 1;
        }
        assert!(converged > 100 && never > 20, "{converged} {never}");
    }

    /// A rate that jumps over its optimum has responded, and not converged.
    #[test]
    fn a_jump_is_a_response() {
        let near = Nearness::usual(SPACING);
        for (before, after) in [(1.0, 9.0), (9.0, 1.0)] {
            for at in [1, 7, 30] {
                let rates: Vec<f64> =
                    (0..40).map(|sample| if sample < at { before } else { after }).collect();
                let course = [Course { rates: &rates, optimum: 5.0 }];
                assert_eq!(near.response(&course), Some(Span::from_millis(at as u64 + 1)));
                assert_eq!(near.convergence(&course, &[0.0; 40]), None);
            }
        }
    }

    #[test]
    fn nothing_converges_to_what_it_never_is() {
        let near = Nearness::usual(SPACING);
        let course = [Course { rates: &[1.0; 50], optimum: 2.0 }];
        assert_eq!((near.convergence(&course, &[0.0; 50]), near.response(&course)), (None, None));
        assert_eq!((near.convergence(&[], &[0.0]), near.response(&[])), (None, None));
        assert_eq!(distance(&course), vec![0.5; 50]);
    }

    #[test]
    fn the_distance_is_that_of_the_farthest() {
        let courses = [
            Course { rates: &[1.0, 2.0, f64::NAN], optimum: 2.0 },
            Course { rates: &[4.0, 6.0, 4.0], optimum: 4.0 },
        ];
        let found = distance(&courses);
        assert_eq!(found[..2], [0.5, 0.5]);
        assert!(found[2].is_nan());
    }
}
