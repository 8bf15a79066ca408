use super::*;
use proptest::prelude::*;

/// RFC 1071, section 1: sixteen bits at a time, each carry added back at once.
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
