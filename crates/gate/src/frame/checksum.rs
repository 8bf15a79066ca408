//! The Internet checksum (RFC 1071), computed in parts.

/// A one's-complement sum of 16-bit words in network order, not yet folded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds bytes that start at an even offset of the summed data; an odd last byte is the high
    /// half of a word.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Sum {
        let mut sum = 0_u64;
        let mut words = bytes.chunks_exact(4);
        for word in words.by_ref() {
            // Two words at once: modulo 2¹⁶ − 1, both 2³² and 2¹⁶ are 1.
            sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut last = [0; 4];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        sum += u64::from(u32::from_ne_bytes(last));
        // In the other byte order the sum is the same with its bytes exchanged (RFC 1071, section 2
        // (B)).
        let sum = u16::from_be(Sum(sum).folded() as u16);
        Sum(self.folded() + u64::from(sum))
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
#[path = "checksum_tests.rs"]
mod tests;
