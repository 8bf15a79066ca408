//! A wire whose delay varies from packet to packet.

use crate::contract::Refused;
use crate::rng::Rng;
use crate::units::Span;
use alloc::format;

/// The distribution of a delay about the wire's propagation delay, or beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// As likely anywhere from `spread` below the delay to `spread` above it.
    Uniform {
        /// Half of the range.
        spread: Span,
    },
    /// Normal about the delay.
    Normal {
        /// The standard deviation.
        deviation: Span,
    },
    /// Exponential beyond the delay.
    Exponential {
        /// The mean of what is added.
        mean: Span,
    },
    /// Pareto beyond the delay: P(X > x) = (m / x)^shape, with m = mean (shape − 1) / shape.
    Pareto {
        /// The mean of what is added.
        mean: Span,
        /// The shape, above 1: up to 2 the variance is infinite.
        shape: f64,
    },
}

/// Jitter: an independent delay for each packet. A delay below zero is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    distribution: Distribution,
    reorders: bool,
}

impl Jitter {
    /// Every packet has the propagation delay.
    pub const NONE: Jitter =
        Jitter { distribution: Distribution::Uniform { spread: Span::ZERO }, reorders: false };

    /// Creates jitter. A packet that would arrive before the one in front of it does so if
    /// `reorders`, and otherwise at the same time.
    ///
    /// # Errors
    /// When the shape of a Pareto distribution is not above 1.
    pub fn new(distribution: Distribution, reorders: bool) -> Result<Jitter, Refused> {
        match distribution {
            Distribution::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => {
                Err(Refused(format!("a shape of {shape} has no mean: it takes a number above 1")))
            }
            _ => Ok(Jitter { distribution, reorders }),
        }
    }

    fn scale(self) -> Span {
        let (Distribution::Uniform { spread: scale }
        | Distribution::Normal { deviation: scale }
        | Distribution::Exponential { mean: scale }
        | Distribution::Pareto { mean: scale, .. }) = self.distribution;
        scale
    }

    /// Returns true if delays differ at all.
    pub fn happens(self) -> bool {
        self.scale() > Span::ZERO
    }

    /// Returns true if packets overtake each other.
    pub fn reorders(self) -> bool {
        self.reorders && self.happens()
    }

    /// A time beyond the delay that few packets exceed: four times the scale of the distribution.
    pub fn common(self) -> Span {
        let scale = self.scale();
        scale + scale + scale + scale
    }

    /// Returns the delay of the next packet on a wire with the propagation delay `delay`. Draws two
    /// numbers for a normal one, one or more for an exponential one, and otherwise one; none when
    /// delays do not differ.
    pub fn takes(self, delay: Span, rng: &mut Rng) -> Span {
        if !self.happens() {
            return delay;
        }
        let around = |scale: Span, by: f64| {
            let off = Span::from_secs_f64(scale.as_secs_f64() * by.abs());
            match by < 0.0 {
                true => Span::from_ticks(delay.ticks().saturating_sub(off.ticks())),
                false => delay + off,
            }
        };
        match self.distribution {
            Distribution::Uniform { spread } => around(spread, 2.0 * rng.unit() - 1.0),
            Distribution::Normal { deviation } => around(deviation, normal(rng)),
            Distribution::Exponential { mean } => delay + rng.exponential(mean),
            Distribution::Pareto { mean, shape } => {
                around(mean, (shape - 1.0) / shape * libm::pow(rng.unit(), -1.0 / shape))
            }
        }
    }
}

/// A standard normal variate (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(rng.unit()));
    radius * libm::cos(core::f64::consts::TAU * rng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 400_000;
    /// Long enough for no delay to be cut at zero.
    const DELAY: Span = Span::from_secs(1);

    /// Excess over the delay in milliseconds, in order of size.
    fn excess(distribution: Distribution, seed: u64) -> Vec<f64> {
        let jitter = Jitter::new(distribution, false).unwrap();
        let mut rng = Rng::named(seed, "jitter");
        let mut drawn: Vec<f64> =
            (0..DRAWS).map(|_| (jitter.takes(DELAY, &mut rng).as_secs_f64() - 1.0) * 1e3).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    /// The largest distance between the share of draws up to a value and a distribution function
    /// (Kolmogorov and Smirnov) is below its 99.9 % quantile, 1.95 / √n.
    fn has(distribution: Distribution, seed: u64, function: impl Fn(f64) -> f64) {
        let drawn = excess(distribution, seed);
        let farthest = (1..).zip(&drawn).fold(0.0, |farthest: f64, (count, value)| {
            farthest.max((f64::from(count) / DRAWS as f64 - function(*value)).abs())
        });
        assert!(farthest < 1.95 / (DRAWS as f64).sqrt(), "{distribution:?}: {farthest}");
    }

    #[test]
    fn each_distribution_is_its_own() {
        let ms = Span::from_millis;
        has(Distribution::Uniform { spread: ms(4) }, 1, |x| ((x + 4.0) / 8.0).clamp(0.0, 1.0));
        has(Distribution::Normal { deviation: ms(5) }, 2, |x| {
            0.5 * libm::erfc(-x / 5.0 / core::f64::consts::SQRT_2)
        });
        has(Distribution::Exponential { mean: ms(3) }, 3, |x| 1.0 - (-x / 3.0).exp());
        has(Distribution::Pareto { mean: ms(6), shape: 3.0 }, 4, |x| {
            if x < 4.0 { 0.0 } else { 1.0 - (4.0 / x).powi(3) }
        });
    }

    #[test]
    fn no_delay_is_below_zero() {
        let jitter = Jitter::new(Distribution::Normal { deviation: Span::from_millis(10) }, true).unwrap();
        let mut rng = Rng::named(5, "jitter");
        let delays: Vec<Span> = (0..1000).map(|_| jitter.takes(Span::from_millis(1), &mut rng)).collect();
        let none = delays.iter().filter(|delay| **delay == Span::ZERO).count();
        // P(Z < -0.1) is 0.460.
        assert!((411..=509).contains(&none), "{none}");
    }

    #[test]
    fn equal_delays_draw_nothing() {
        let mut rng = Rng::named(6, "jitter");
        let before = rng.clone().bits();
        assert_eq!(Jitter::NONE.takes(DELAY, &mut rng), DELAY);
        assert!(!Jitter::NONE.happens() && !Jitter::NONE.reorders());
        assert_eq!(rng.bits(), before);
        for shape in [1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert!(Jitter::new(Distribution::Pareto { mean: DELAY, shape }, false).is_err(), "{shape}");
        }
    }
}
