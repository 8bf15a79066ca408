use super::*;
use proptest::prelude::*;

/// An IPv4 or IPv6 frame of TCP or UDP, its checksum still the pseudo-header's sum, and where that
/// is.
fn partial_frame(tags: usize, six: bool, tcp: bool, payload: &[u8]) -> (Vec<u8>, usize) {
    let mut frame = vec![2; 12];
    for _ in 0..tags {
        frame.extend([0x81, 0, 0, 7]);
    }
    let (protocol, header, field) = if tcp { (TCP, 20, 16) } else { (UDP, 8, 6) };
    let length = header + payload.len();
    let addresses = if six { 32 } else { 8 };
    if six {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, (length >> 8) as u8, length as u8, protocol, 64]);
    } else {
        let total = length + 20;
        frame.extend([0x08, 0x00, 0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0, 0, 64, protocol, 0, 0]);
    }
    let start = frame.len();
    frame.extend((0..addresses).map(|byte| (byte as u8).wrapping_mul(17)));
    let pseudo = Sum::default().bytes(&frame[start..]).word(u16::from(protocol)).word(length as u16);
    let place = frame.len() + field;
    frame.resize(frame.len() + header, 9);
    frame.extend(payload);
    frame[place..place + 2].copy_from_slice(&(!pseudo.checksum()).to_be_bytes());
    (frame, place)
}

proptest! {
    #[test]
    fn what_was_partial_frame_is_told_from_what_was_done(
        tags in 0_usize..3, six: bool, tcp: bool, payload in prop::collection::vec(any::<u8>(), 1..300),
    ) {
        let (mut frame, field) = partial_frame(tags, six, tcp, &payload);
        let start = field - if tcp { 16 } else { 6 };
        let done = Sum::default().bytes(&frame[start..]).checksum();
        // By chance the two are the same, and then nothing was left undone.
        prop_assume!(done.to_be_bytes() != frame[field..field + 2]);
        prop_assert!(is_partial(&frame));
        frame[field..field + 2].copy_from_slice(&done.to_be_bytes());
        prop_assert!(!is_partial(&frame));
    }

    #[test]
    fn nothing_is_read_beyond_a_frame(frame in prop::collection::vec(any::<u8>(), 0..100), cut in 0_usize..100) {
        is_partial(&frame);
        let (whole, _) = partial_frame(1, false, true, &frame);
        is_partial(&whole[..cut.min(whole.len())]);
    }
}
