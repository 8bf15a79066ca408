//! Writes a packet's mark into its frame: the DSCP (RFC 2474) and the ECN field (RFC 3168), which
//! share a byte of the IPv4 header and the traffic class of the IPv6 header.
//!
//! The IPv4 header checksum is updated by the difference (RFC 1624), not recomputed: a header that
//! was damaged before stays detectable. No other checksum covers these fields. Nothing is written
//! behind MPLS labels, which carry the traffic class there, or in PPPoE sessions.

use tidegate_core::packet::Mark;

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of a VLAN tag.
const TAG: usize = 4;
/// Position of the checksum in the IPv4 header.
const CHECKSUM: std::ops::Range<usize> = 10..12;

/// Writes DSCP and ECN of a mark into an Ethernet frame, with or without VLAN tags, that carries
/// IPv4 or IPv6. Other frames are not changed.
pub(crate) fn write_mark(frame: &mut [u8], mark: Mark) {
    let field = mark.coloured_dscp() << 2 | mark.ecn();
    match ip_header(frame) {
        Some((4, header)) => {
            let before = u16::from_be_bytes([header[0], header[1]]);
            header[1] = field;
            let after = u16::from_be_bytes([header[0], header[1]]);
            let checksum = u16::from_be_bytes([header[CHECKSUM.start], header[CHECKSUM.start + 1]]);
            header[CHECKSUM].copy_from_slice(&updated(checksum, before, after).to_be_bytes());
        }
        Some((_, header)) => {
            header[0] = header[0] & 0xf0 | field >> 4;
            header[1] = header[1] & 0x0f | field << 4;
        }
        None => {}
    }
}

/// The version and the bytes from the IP header on; `None` when its fixed part is cut off.
fn ip_header(frame: &mut [u8]) -> Option<(u8, &mut [u8])> {
    let kind = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let mut at = ETHERNET;
    // IEEE 802.1Q, 802.1ad, and the type that was used for outer tags before that.
    while let 0x8100 | 0x88a8 | 0x9100 = kind(at - 2)? {
        at += TAG;
    }
    let (version, least) = match kind(at - 2)? {
        0x0800 => (4, 20),
        0x86dd => (6, 40),
        _ => return None,
    };
    let header = frame.get_mut(at..).filter(|header| header.len() >= least)?;
    let whole = header[0] >> 4 == version && (version == 6 || header[0] & 0x0f >= 5);
    whole.then_some((version, header))
}

/// The checksum after one of its words was changed (RFC 1624, equation 3).
fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
