//! Framing overhead: the bytes that a frame takes of a link's rate.
//!
//! A nominal access rate counts everything on the wire: preambles, tags, ATM cells. [`Framing`]
//! computes the charge of a frame of a given length, in the words and the order of `tc`
//! (tc-stab(8); the kernel adds the overhead in `__qdisc_calculate_pkt_len`, then iproute2's
//! `tc_adjust_size` applies the least size and the cells).

use crate::contract::Refused;
use alloc::format;

/// Payload of an ATM cell, in bytes.
const CELL_PAYLOAD: u32 = 48;
/// An ATM cell on the wire, in bytes.
const CELL: u32 = 53;

/// The charge of a frame on a link, as in `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Framing {
    overhead: i32,
    mpu: u32,
    atm: bool,
}

impl Framing {
    /// The largest overhead accepted, in bytes, positive or negative (iproute2 takes about as
    /// much).
    pub const MAX_OVERHEAD: i32 = 1024;
    /// The largest minimum size accepted, in bytes.
    pub const MAX_MPU: u32 = 1024;

    /// The framing of a link that carries packets as they are.
    pub const NONE: Framing = Framing { overhead: 0, mpu: 0, atm: false };

    /// A packet or a frame of `len` bytes is charged `len + overhead` bytes, at least `mpu`; with `atm`, the whole cells of 53 bytes that hold
    /// this charge, 48 bytes in each.
    ///
    /// # Errors
    /// When `overhead` is beyond ±[`MAX_OVERHEAD`](Self::MAX_OVERHEAD) bytes or `mpu` above
    /// [`MAX_MPU`](Self::MAX_MPU).
    pub fn new(overhead: i32, mpu: u32, atm: bool) -> Result<Framing, Refused> {
        if !(-Self::MAX_OVERHEAD..=Self::MAX_OVERHEAD).contains(&overhead) {
            return Err(Refused(format!(
                "an overhead of {overhead} bytes is beyond ±{}",
                Self::MAX_OVERHEAD
            )));
        }
        if mpu > Self::MAX_MPU {
            return Err(Refused(format!("a least size of {mpu} bytes is above {}", Self::MAX_MPU)));
        }
        Ok(Framing { overhead, mpu, atm })
    }

    /// Returns true if packets are charged more or less than their lengths.
    pub fn happens(self) -> bool {
        self != Framing::NONE
    }

    /// Bytes charged for a packet of `len` bytes; at least 1, saturating.
    #[inline]
    pub fn charge(self, len: u32) -> u32 {
        let size = len.saturating_add_signed(self.overhead).max(self.mpu).max(1);
        if self.atm { size.div_ceil(CELL_PAYLOAD).saturating_mul(CELL) } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framing(overhead: i32, mpu: u32, atm: bool) -> Framing {
        Framing::new(overhead, mpu, atm).unwrap()
    }

    #[test]
    fn the_usual_links() {
        assert_eq!(Framing::default().charge(1514), 1514);
        // Ethernet: check sequence 4, preamble 8, gap 12; at least 84 bytes in all.
        let ethernet = framing(24, 84, false);
        assert_eq!([ethernet.charge(1514), ethernet.charge(42)], [1538, 84]);
        // tc-stab(8), PPPoE over ATM, bridged LLC: overhead 40 counted from the IP packet, which is
        // 26 from an Ethernet frame. A TCP acknowledgement of 40 bytes fills two cells.
        let adsl = framing(40 - 14, 0, true);
        assert_eq!(adsl.charge(14 + 40), 2 * 53);
        assert_eq!(adsl.charge(14 + 56), 2 * 53);
        assert_eq!(adsl.charge(14 + 57), 3 * 53);
        // Less than a frame: the charge is for the IP packet alone.
        assert_eq!(framing(-14, 0, false).charge(1514), 1500);
    }

    #[test]
    fn nothing_is_free_and_nothing_wraps() {
        assert_eq!(framing(-1024, 0, false).charge(60), 1);
        assert_eq!(framing(1024, 0, true).charge(u32::MAX), u32::MAX);
        assert!(Framing::new(1025, 0, false).is_err());
        assert!(Framing::new(i32::MIN, 0, false).is_err());
        assert!(Framing::new(0, 1025, false).is_err());
    }

    /// Cells counted one by one.
    fn slowly(len: u32, overhead: i32, mpu: u32, atm: bool) -> i64 {
        let size = (i64::from(len) + i64::from(overhead)).max(i64::from(mpu)).max(1);
        if !atm {
            return size;
        }
        let (mut left, mut cells) = (size, 0);
        while left > 0 {
            left -= 48;
            cells += 1;
        }
        cells * 53
    }

    proptest! {
        #[test]
        fn a_charge_is_what_counting_says(len in 0u32..70_000, overhead in -1024i32..=1024, mpu in 0u32..=1024, atm: bool) {
            let charge = framing(overhead, mpu, atm).charge(len);
            prop_assert_eq!(i64::from(charge), slowly(len, overhead, mpu, atm));
            prop_assert!(framing(overhead, mpu, atm).charge(len + 1) >= charge);
        }
    }
}
