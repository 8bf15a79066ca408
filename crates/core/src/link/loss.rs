//! A wire that loses packets: each with the same probability and independently of the others, or in
//! bursts.

use super::GilbertElliott;
use crate::contract::Refused;
use crate::rng::Rng;
use alloc::format;

/// Loss of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss(Model);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    /// The probability of each packet.
    Independent(f64),
    InBursts(GilbertElliott),
}

/// The state of a wire that loses packets in bursts, good at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossState {
    is_bad: bool,
}

impl Loss {
    /// Nothing is lost.
    pub const NONE: Loss = Loss(Model::Independent(0.0));

    /// Creates loss in which each packet is lost with this probability, 0 to 1.
    ///
    /// # Errors
    /// When it is out of that range.
    pub fn new(probability: f64) -> Result<Loss, Refused> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Refused(format!("{probability} is not a probability of loss: it takes 0 to 1")));
        }
        Ok(Loss(Model::Independent(probability)))
    }

    /// Creates loss in bursts.
    ///
    /// # Errors
    /// When a parameter is not a probability.
    pub fn in_bursts(chain: GilbertElliott) -> Result<Loss, Refused> {
        chain.check()?;
        Ok(Loss(Model::InBursts(chain)))
    }

    /// Returns true if anything is ever lost.
    pub fn happens(self) -> bool {
        match self.0 {
            Model::Independent(probability) => probability > 0.0,
            Model::InBursts(chain) => chain.happens(),
        }
    }

    /// Decides whether the next packet is lost. Draws one number, or two where loss comes in
    /// bursts, and none when nothing is ever lost.
    #[inline]
    pub fn takes(self, state: &mut LossState, rng: &mut Rng) -> bool {
        self.happens()
            && match self.0 {
                Model::Independent(probability) => rng.chance(probability),
                Model::InBursts(chain) => chain.takes(&mut state.is_bad, rng),
            }
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
        let (mut rng, mut state) = (Rng::named(1, "loss"), LossState::default());
        let all = Loss::new(1.0).unwrap();
        assert!((0..1000).all(|_| all.takes(&mut state, &mut rng)));
        let (mut untouched, before) = (rng.clone(), rng.clone().bits());
        assert!((0..1000).all(|_| !Loss::NONE.takes(&mut state, &mut untouched)));
        assert_eq!(untouched.bits(), before);
    }

    /// Checks the share of losses, and the share of losses behind a loss, within 99.9 % of the
    /// binomial.
    #[test]
    fn losses_are_as_many_as_asked_for_and_do_not_cling_together() {
        for (ix, probability) in [0.001, 0.01, 0.3, 0.9].into_iter().enumerate() {
            let mut rng = Rng::named(7, &format!("loss/{ix}"));
            let loss = Loss::new(probability).unwrap();
            let mut state = LossState::default();
            let lost: Vec<bool> = (0..400_000).map(|_| loss.takes(&mut state, &mut rng)).collect();
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
