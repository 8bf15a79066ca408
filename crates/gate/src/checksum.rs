//! The Internet checksum (RFC 1071), as a sum that can be taken in parts.

/// A one's-complement sum of 16-bit words in network order, not yet folded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds bytes that start at an even place of what is summed; an odd last byte counts as the high
    /// half of a word.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Sum {
        let mut sum = 0_u64;
        let mut words = bytes.chunks_exact(4);
        for word in words.by_ref() {
            // Two words at once: 2³² ends in the same place as 1, as 2¹⁶ does.
            sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut last = [0; 4];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        Sum(self.folded() + sum + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds one word.
    pub(crate) fn word(self, word: u16) -> Sum {
        Sum(self.0 + u64::from(word))
    }

    fn folded(self) -> u64 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        sum
    }

    /// The checksum: the complement of the sum.
    pub(crate) fn checksum(self) -> u16 {
        !(self.folded() as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, section 1: sixteen bits at a time, each carry around at once.
    fn slowly(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn a_sum_is_the_slow_one(bytes in prop::collection::vec(any::<u8>(), 0..3000), cut in 0usize..1500) {
            prop_assert_eq!(Sum::default().bytes(&bytes).checksum(), slowly(&bytes));
            let cut = (cut * 2).min(bytes.len() & !1);
            let parts = Sum::default().bytes(&bytes[..cut]).bytes(&bytes[cut..]);
            prop_assert_eq!(parts.checksum(), slowly(&bytes));
        }
    }
}
