//! Packets and bytes, counted together.

use super::wrapping_count_packet;

/// A number of packets and of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet of `len` bytes.
    #[inline]
    pub fn add(&mut self, len: u32) {
        wrapping_count_packet(&mut self.packets, &mut self.bytes, len);
    }

    /// Takes a packet of `len` bytes out, which was counted before.
    ///
    /// # Panics
    /// When there is no packet to be taken out.
    #[inline]
    pub fn take(&mut self, len: u32) {
        // The first line panics if the packet was never added.
        self.packets -= 1;
        self.bytes = self.bytes.wrapping_sub(u64::from(len));
    }

    /// Adds another count.
    pub fn merge(&mut self, other: Count) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }

    /// This count without a packet of `len` bytes that is in it.
    #[inline]
    pub fn without(mut self, len: u32) -> Count {
        self.take(len);
        self
    }
}
