//! Estimation of the frequency of rare events.
//!
//! Losses at a share of 10⁻⁵ are a few events in some replications and none in most, so the mean
//! over replications is far from normal: Student's interval holds the true share in 70 % of cases,
//! and is ± 0 without any loss.

use super::t_95;
use statrs::distribution::{ContinuousCDF, Gamma, Normal};

/// Half the width of a 95 % interval of the share of trials at which a rare event happens: from the
/// estimate, the sum of events over the sum of trials, to its upper limit, which is farther away
/// than the lower one. In the unit of a share.
///
/// The upper limit is Garwood's (1936) for a Poisson count, the effective one of Korn and Graubard
/// (Survey Methodology 24(2), 1998). Events come in clusters, so events and trials are divided by
/// two factors. One is the design effect: the variance between replications over that of a Poisson
/// count, at least 1. The other is (t(n − 1) / z)², because n replications determine that variance
/// no better. Without an event nothing is known of it, and both are 1.
///
/// `runs` holds the events and trials of independent replications. `None` for fewer than two, and
/// without trials.
pub fn rare_half_width_95(runs: &[(u64, u64)]) -> Option<f64> {
    if runs.len() < 2 {
        return None;
    }
    let n = runs.len() as f64;
    let events: f64 = runs.iter().map(|(events, _)| *events as f64).sum();
    let trials: f64 = runs.iter().map(|(_, trials)| *trials as f64).sum();
    if trials == 0.0 {
        return None;
    }
    let share = events / trials;
    let residual = |(events, trials): &(u64, u64)| *events as f64 - share * *trials as f64;
    let squares: f64 = runs.iter().map(|run| residual(run) * residual(run)).sum();
    let effective = if events > 0.0 {
        let design_effect = (n / (n - 1.0) * squares / events).max(1.0);
        let degrees = Normal::new(0.0, 1.0).ok()?.inverse_cdf(0.975) / t_95(runs.len() as u64 - 1)?;
        degrees * degrees / design_effect
    } else {
        1.0
    };
    let upper = Gamma::new(events * effective + 1.0, 1.0).ok()?.inverse_cdf(0.975);
    Some(upper / (trials * effective) - share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::stats::half_width_95;

    /// Garwood's table, for enough replications that t equals z, with counts that vary less than
    /// Poisson ones.
    #[test]
    fn the_printed_limits_of_a_poisson_count() {
        for (events, upper) in [(0, 3.689), (1, 5.572), (2, 7.225), (5, 11.668), (10, 18.390), (30, 42.827)] {
            let runs: Vec<(u64, u64)> =
                (0..100_000).map(|run| (u64::from(run < events), 1_000_000)).collect();
            let half = rare_half_width_95(&runs).unwrap() * 1e11;
            assert!((half + events as f64 - upper).abs() < 2e-3 * upper, "{events}: {half}");
        }
    }

    #[test]
    fn nothing_is_said_of_one_run_and_of_no_trials() {
        assert_eq!(rare_half_width_95(&[(3, 1000)]), None);
        assert_eq!(rare_half_width_95(&[(0, 0), (0, 0)]), None);
        assert_eq!(rare_half_width_95(&[]), None);
    }

    /// Clusters of losses, of a geometric number of packets, come as a Poisson process; a share of
    /// 3·10⁻⁵ is lost of 10⁵ packets in each of `runs` replications. Returns the share of intervals
    /// that hold that value: those for rare events, and Student's.
    fn coverage(runs: u64, mean_cluster: f64, seed: u64) -> (f64, f64) {
        const PACKETS: u64 = 100_000;
        const LOST: f64 = 3e-5;
        const TRIES: u32 = 4000;
        let mut rng = Rng::named(seed, "coverage");
        let gap = mean_cluster / LOST;
        let (mut rare, mut student) = (0, 0);
        for _ in 0..TRIES {
            let counts: Vec<(u64, u64)> = (0..runs)
                .map(|_| {
                    let (mut at, mut lost) = (rng.exponential_of(gap).ticks(), 0);
                    while at < PACKETS {
                        lost += rng.geometric(mean_cluster);
                        at += rng.exponential_of(gap).ticks();
                    }
                    (lost, PACKETS)
                })
                .collect();
            let shares: Vec<f64> = counts.iter().map(|(lost, sent)| *lost as f64 / *sent as f64).collect();
            let off = (shares.iter().sum::<f64>() / runs as f64 - LOST).abs();
            rare += u32::from(off <= rare_half_width_95(&counts).unwrap());
            student += u32::from(off <= half_width_95(&shares).unwrap());
        }
        (f64::from(rare) / f64::from(TRIES), f64::from(student) / f64::from(TRIES))
    }

    /// For 95 %, the 99.9 % limit over 4000 tries begins at 93.9 %. Four clusters in all are too
    /// few to show that losses come in clusters.
    #[test]
    fn the_interval_covers_a_share_lost_of_three_in_a_hundred_thousand() {
        let cases = [
            (5, 1.0, 0.939),
            (10, 1.0, 0.939),
            (30, 1.0, 0.939),
            (5, 4.0, 0.92),
            (10, 4.0, 0.939),
            (30, 4.0, 0.939),
        ];
        let mut worst_of_student: f64 = 1.0;
        for (seed, (runs, mean_cluster, least)) in (0..).zip(cases) {
            let (rare, student) = coverage(runs, mean_cluster, seed);
            assert!(rare >= least, "{runs} runs, clusters of {mean_cluster}: {rare}");
            worst_of_student = worst_of_student.min(student);
        }
        assert!(worst_of_student < 0.85, "Student's interval covers {worst_of_student} and would do");
    }
}
