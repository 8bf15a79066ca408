//! Detects partial checksums. With checksum offload, a frame that comes over veth has the sum of
//! its pseudo-header in the checksum field, and AF_XDP does not report this.

use crate::frame::checksum::Sum;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Returns true if a frame's TCP or UDP checksum is only its pseudo-header's sum. A correct
/// checksum has the same value once in 65,536 frames, and is verified over the whole segment.
pub(super) fn is_partial(frame: &[u8]) -> bool {
    let found = || {
        let (pseudo, segment, field) = transport(frame)?;
        let stored = u16::from_be_bytes([*segment.get(field)?, *segment.get(field + 1)?]);
        Some(stored == !pseudo.checksum() && pseudo.bytes(segment).checksum() != 0)
    };
    found().unwrap_or(false)
}

/// The sum of the pseudo-header, the segment, and the offset of the checksum in the segment.
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
#[path = "partial_checksum_tests.rs"]
mod tests;
