//! A named stream of random numbers, and uniform variates from it.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A named stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of the component `name` under `seed`.
    pub fn named(seed: u64, name: &str) -> Rng {
        // FNV-1a over the name, starting from the mixed seed; seed_from_u64 then
        // spreads the result over the whole state with SplitMix64.
        let mut hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over (0, 1]: never zero, so its logarithm is finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform over 0, 1, …, `bound` − 1; zero for `bound` 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The multiplication method; its bias is below bound / 2⁶⁴.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() <= p
    }
}
