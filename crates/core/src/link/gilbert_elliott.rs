//! Loss in bursts: a wire that is in a good or in a bad state, each with its own probability of
//! loss.

use crate::contract::Refused;
use crate::rng::Rng;
use alloc::format;

/// Parameters of the two-state Markov chain of Gilbert (Bell System Technical Journal 39, 1960) and
/// Elliott (ibid. 42, 1963), all of them probabilities. The chain takes one step per packet.
///
/// `gemodel` in Linux's netem has the names p for `to_bad`, r for `to_good`, 1 − k for
/// `loss_in_good` and 1 − h for `loss_in_bad`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// From the good state to the bad one, after each packet.
    pub to_bad: f64,
    /// From the bad state to the good one, after each packet.
    pub to_good: f64,
    /// Loss of a packet in the good state.
    pub loss_in_good: f64,
    /// Loss of a packet in the bad state.
    pub loss_in_bad: f64,
}

impl GilbertElliott {
    pub(super) fn check(self) -> Result<(), Refused> {
        let GilbertElliott { to_bad, to_good, loss_in_good, loss_in_bad } = self;
        let named = [
            ("to_bad", to_bad),
            ("to_good", to_good),
            ("loss_in_good", loss_in_good),
            ("loss_in_bad", loss_in_bad),
        ];
        match named.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            None => Ok(()),
            Some((name, value)) => Err(Refused(format!("`{name}` takes a probability, 0 to 1, not {value}"))),
        }
    }

    pub(super) fn happens(self) -> bool {
        self.loss_in_good > 0.0 || (self.to_bad > 0.0 && self.loss_in_bad > 0.0)
    }

    /// Decides by the state whether the next packet is lost, and takes a step. Draws two numbers.
    pub(super) fn takes(self, is_bad: &mut bool, rng: &mut Rng) -> bool {
        let (loss, change) = match *is_bad {
            false => (self.loss_in_good, self.to_bad),
            true => (self.loss_in_bad, self.to_good),
        };
        let is_lost = rng.chance(loss);
        *is_bad ^= rng.chance(change);
        is_lost
    }
}

#[cfg(test)]
#[path = "gilbert_elliott_tests.rs"]
mod tests;
