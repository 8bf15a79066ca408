//! A wire that loses packets, each with the same probability and independently of the others.

use crate::contract::Refused;
use crate::rng::Rng;

/// Independent loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    probability: f64,
}

impl Loss {
    /// Nothing is lost.
    pub const NONE: Loss = Loss { probability: 0.0 };

    /// Creates loss in which each packet is lost with this probability, 0 to 1.
    ///
    /// # Errors
    /// When it is out of that range.
    pub fn new(probability: f64) -> Result<Loss, Refused> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Refused(format!("{probability} is not a probability of loss: it takes 0 to 1")));
        }
        Ok(Loss { probability })
    }

    /// Returns true if anything is ever lost.
    pub fn happens(self) -> bool {
        self.probability > 0.0
    }

    /// Decides whether the next packet is lost. Draws one number, and none when nothing is ever
    /// lost.
    pub fn takes(self, rng: &mut Rng) -> bool {
        self.happens() && rng.chance(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_probabilities_are_taken() {
        for wrong in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Loss::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn none_and_all() {
        let mut rng = Rng::named(1, "loss");
        let all = Loss::new(1.0).unwrap();
        assert!((0..1000).all(|_| all.takes(&mut rng)));
        let (mut untouched, before) = (rng.clone(), rng.clone().bits());
        assert!((0..1000).all(|_| !Loss::NONE.takes(&mut untouched)));
        assert_eq!(untouched.bits(), before);
    }

    /// Checks the share of losses, and the share of losses behind a loss, within 99.9 % of the
    /// binomial.
    #[test]
    fn losses_are_as_many_as_asked_for_and_do_not_cling_together() {
        for (ix, probability) in [0.001, 0.01, 0.3, 0.9].into_iter().enumerate() {
            let mut rng = Rng::named(7, &format!("loss/{ix}"));
            let loss = Loss::new(probability).unwrap();
            let lost: Vec<bool> = (0..400_000).map(|_| loss.takes(&mut rng)).collect();
            let near = |count: usize, of: usize| {
                let (mean, of) = (probability * of as f64, of as f64);
                (count as f64 - mean).abs() <= 3.29 * (of * probability * (1.0 - probability)).sqrt() + 0.5
            };
            let count = lost.iter().filter(|lost| **lost).count();
            let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count();
            let first = lost[..lost.len() - 1].iter().filter(|lost| **lost).count();
            assert!(
                near(count, lost.len()) && near(pairs, first),
                "{probability}: {count}, {pairs} of {first}"
            );
        }
    }
}
