//! Whether a checksum was left to the network card: over veth a frame of the other end then comes with
//! the sum of its pseudo-header in the checksum's place, and nothing beside it says so.

use crate::checksum::Sum;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Whether a frame's TCP or UDP checksum is only its pseudo-header's sum. A right checksum that happens to
/// be that number, as one in 65,536 does, is looked at as a whole.
pub(super) fn is(frame: &[u8]) -> bool {
    let found = || {
        let (pseudo, segment, field) = transport(frame)?;
        let stored = u16::from_be_bytes([*segment.get(field)?, *segment.get(field + 1)?]);
        Some(stored == !pseudo.checksum() && pseudo.bytes(segment).checksum() != 0)
    };
    found().unwrap_or(false)
}

/// The sum of the pseudo-header, what it stands before, and where the checksum is in that.
fn transport(frame: &[u8]) -> Option<(Sum, &[u8], usize)> {
    let mut at = 12;
    let kind = loop {
        let kind = u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]);
        at += 2;
        match kind {
            0x8100 | 0x88a8 | 0x9100 => at += 2,
            _ => break kind,
        }
    };
    let packet = frame.get(at..)?;
    let (protocol, addresses, from, to) = match kind {
        0x0800 => {
            let header = usize::from(packet.first()? & 0x0f) * 4;
            let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
            let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
            if fragment {
                return None;
            }
            (*packet.get(9)?, packet.get(12..20)?, header, total)
        }
        0x86dd => {
            let payload = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
            (*packet.get(6)?, packet.get(8..40)?, 40, 40 + payload)
        }
        _ => return None,
    };
    let field = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    let segment = packet.get(from..to)?;
    let length = u16::try_from(segment.len()).ok()?;
    let pseudo = Sum::default().bytes(addresses).word(u16::from(protocol)).word(length);
    Some((pseudo, segment, field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 or IPv6 frame of TCP or UDP, its checksum still the pseudo-header's sum, and where that is.
    fn left_undone(tags: usize, six: bool, tcp: bool, payload: &[u8]) -> (Vec<u8>, usize) {
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
            frame.extend([
                0x08,
                0x00,
                0x45,
                0,
                (total >> 8) as u8,
                total as u8,
                0,
                0,
                0,
                0,
                64,
                protocol,
                0,
                0,
            ]);
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
        fn what_was_left_undone_is_told_from_what_was_done(
            tags in 0_usize..3, six: bool, tcp: bool, payload in prop::collection::vec(any::<u8>(), 1..300),
        ) {
            let (mut frame, field) = left_undone(tags, six, tcp, &payload);
            let start = field - if tcp { 16 } else { 6 };
            let done = Sum::default().bytes(&frame[start..]).checksum();
            // By chance the two are the same, and then nothing was left undone.
            prop_assume!(done.to_be_bytes() != frame[field..field + 2]);
            prop_assert!(is(&frame));
            frame[field..field + 2].copy_from_slice(&done.to_be_bytes());
            prop_assert!(!is(&frame));
        }

        #[test]
        fn nothing_is_read_beyond_a_frame(frame in prop::collection::vec(any::<u8>(), 0..100), cut in 0_usize..100) {
            is(&frame);
            let (whole, _) = left_undone(1, false, true, &frame);
            is(&whole[..cut.min(whole.len())]);
        }
    }
}
