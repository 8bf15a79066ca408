//! Confidence intervals over replications.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The 97.5 % quantile of Student's t with `degrees` degrees of freedom: the factor
/// of a two-sided 95 % interval. `None` for 0 degrees.
pub fn t_95(degrees: u64) -> Option<f64> {
    if degrees == 0 {
        return None;
    }
    Some(StudentsT::new(0.0, 1.0, degrees as f64).ok()?.inverse_cdf(0.975))
}

/// Half the width of the 95 % confidence interval of the mean of independent
/// replications' results: t(n − 1) × s / √n, in the unit of the results.
///
/// `None` for fewer than two results (one run does not show its spread) and when a result is not
/// finite.
pub fn half_width_95(results: &[f64]) -> Option<f64> {
    if results.len() < 2 || !results.iter().all(|x| x.is_finite()) {
        return None;
    }
    let n = results.len() as f64;
    let mean = results.iter().sum::<f64>() / n;
    let squares: f64 = results.iter().map(|x| (x - mean) * (x - mean)).sum();
    let sd = libm::sqrt(squares / (n - 1.0));
    Some(t_95(results.len() as u64 - 1)? * sd / libm::sqrt(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_table() {
        for (degrees, expected) in [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (9, 2.262),
            (19, 2.093),
            (29, 2.045),
            (30, 2.042),
            (120, 1.980),
            (100_000, 1.960),
        ] {
            let t = t_95(degrees).unwrap();
            assert!((t - expected).abs() < 6e-4, "{degrees}: {t}");
        }
        assert_eq!(t_95(0), None);
    }

    #[test]
    fn five_replications() {
        // s² = 2.5, t(4) = 2.7764: 2.7764 × √(2.5 / 5).
        let half = half_width_95(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((half - 1.963_243).abs() < 1e-5, "{half}");
        assert_eq!(half_width_95(&[7.0, 7.0]), Some(0.0));
        assert_eq!(half_width_95(&[7.0]), None);
        assert_eq!(half_width_95(&[7.0, f64::NAN]), None);
    }
}
