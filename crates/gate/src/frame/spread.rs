//! A number by which the frames of a direction are spread over threads that send. All frames of a
//! conversation have the same number, so that one thread sends them, in order.
//!
//! It comes from the addresses, and for TCP from the ports as well, as network cards choose a
//! queue: TCP is not fragmented on its way, and fragments of other protocols have no ports.

use super::offload::{IPV4, IPV6, Protocol, get, network_header};

/// The number of a frame. Frames without IP have 0.
pub(crate) fn number(frame: &[u8]) -> u8 {
    spread(frame).unwrap_or(0)
}

fn spread(frame: &[u8]) -> Option<u8> {
    let (at, kind) = network_header(frame)?;
    let packet = frame.get(at..)?;
    let tcp = Protocol::Tcp.number();
    let (addresses, ports) = match kind {
        IPV4 => {
            let header = packet.get(..20)?;
            // Not a fragment: no offset, and no more fragments follow.
            let with_ports = header[9] == tcp && get(header, 6) & 0x3fff == 0;
            (&header[12..], with_ports.then_some(usize::from(header[0] & 0x0f) * 4))
        }
        IPV6 => {
            let header = packet.get(..40)?;
            (&header[8..], (header[6] == tcp).then_some(40))
        }
        _ => return None,
    };
    let ports = ports.and_then(|at| packet.get(at..at + 4)).unwrap_or(&[]);
    let words = addresses.chunks_exact(4).chain(ports.chunks_exact(4));
    let hash = words.fold(0_u64, |hash, word| {
        let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    });
    Some((hash >> 56) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::offload::tests::Shape;
    use crate::frame::super_packet::tests::frames_of;
    use proptest::prelude::*;

    fn shape(tcp: bool, six: bool, vlan: bool) -> Shape {
        let payload = vec![7; 3000];
        let (identification, sequence) = (9, 1);
        Shape { six, tcp, vlan, options: 3, flags: 0x10, sequence, identification, payload, size: 1000 }
    }

    /// The offset of the addresses in a frame of this shape.
    fn addresses(six: bool, vlan: bool) -> usize {
        14 + if vlan { 4 } else { 0 } + if six { 8 } else { 12 }
    }

    proptest! {
        /// Frames of a conversation have one number, whatever else is in them; those of many
        /// conversations have many.
        #[test]
        fn conversations_stay_together(tcp: bool, six: bool, vlan: bool, bytes in prop::collection::vec(any::<u8>(), 3)) {
            let frames = frames_of(&shape(tcp, six, vlan));
            let one = number(&frames[0]);
            prop_assert!(frames.iter().all(|frame| number(frame) == one));
            let at = addresses(six, vlan);
            let mut frame = frames[0].clone();
            // DSCP or traffic class, TTL or hop limit, and payload.
            let time_to_live = if six { at - 1 } else { at - 4 };
            let (before_ip, last) = (at - if six { 8 } else { 12 }, frame.len() - 1);
            frame[before_ip + 1] = if six { bytes[0] } else { bytes[0] & 0xfc };
            (frame[time_to_live], frame[last]) = (bytes[1], bytes[2]);
            prop_assert_eq!(number(&frame), one);
            let numbers: std::collections::BTreeSet<u8> = (0..=255).map(|host| {
                frame[at + 3] = host;
                number(&frame)
            }).collect();
            prop_assert!(numbers.len() > 100, "{}", numbers.len());
        }

        /// Fragments of a datagram are where its other packets are.
        #[test]
        fn fragments_stay_with_their_flow(offset in 1_u16..0x3fff, vlan: bool) {
            let mut frame = frames_of(&shape(false, false, vlan)).remove(0);
            let one = number(&frame);
            let at = addresses(false, vlan);
            frame[at - 6..at - 4].copy_from_slice(&offset.to_be_bytes());
            // Payload is where the ports would be.
            frame[at + 8..at + 12].fill(0xa5);
            prop_assert_eq!(number(&frame), one);
        }

        #[test]
        fn any_bytes_have_a_number(frame in prop::collection::vec(any::<u8>(), 0..80)) {
            number(&frame);
        }
    }
}
