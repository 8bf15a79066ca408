//! A run's outcome in one number: it covers which packets left which link, or were dropped or lost
//! there, and when.
//!
//! It hashes outcomes, not engine events and not policy names, and is a sum over outcomes, so
//! that neither a faster engine nor another order of work at one instant changes it.

use tidegate_core::units::Time;

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its last bit left the link.
    Sent = 1,
    /// It was dropped at the link's port.
    Dropped = 2,
    /// It was lost on the link after it had left.
    Lost = 3,
}

/// The sum of the hashes of all outcomes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Adds an outcome of packet `sequence` of flow `flow` at link `link`.
    #[inline]
    pub fn add(&mut self, at: Time, link: u32, flow: u32, sequence: u64, outcome: Outcome) {
        // Two rounds of multiply and fold (as in wyhash) over time, place and outcome.
        let place = u64::from(link) << 32 | u64::from(flow);
        let first = fold(at.ticks() ^ 0x9e37_79b9_7f4a_7c15, place ^ 0xd6e8_feb8_6659_fd93);
        let hash = fold(first ^ sequence, 0xa076_1d64_78bd_642f ^ (outcome as u64));
        self.0 = self.0.wrapping_add(hash);
    }

    /// Returns the number.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts_and_order_does_not() {
        let at = |ticks| Time::from_ticks(ticks);
        let of = |entries: &[(u64, u32, u32, u64, Outcome)]| {
            let mut print = Fingerprint::default();
            entries.iter().for_each(|&(t, l, f, s, o)| print.add(at(t), l, f, s, o));
            print.value()
        };
        let base = (7, 1, 2, 3, Outcome::Sent);
        let others = [
            (8, 1, 2, 3, Outcome::Sent),
            (7, 2, 2, 3, Outcome::Sent),
            (7, 1, 3, 3, Outcome::Sent),
            (7, 1, 2, 4, Outcome::Sent),
            (7, 1, 2, 3, Outcome::Dropped),
            (7, 2, 1, 3, Outcome::Sent),
        ];
        for other in others {
            assert_ne!(of(&[base]), of(&[other]));
            assert_eq!(of(&[base, other]), of(&[other, base]));
        }
    }
}
