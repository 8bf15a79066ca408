use super::*;
use crate::frame::offload::Offloaded;
use crate::frame::offload::tests::{Shape, pieces, shapes, super_packet};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The frames that a card, or the kernel, makes of the messages that are sent.
fn segmented(sent: &[([u8; HEADER], Vec<u8>, usize)]) -> Vec<Vec<u8>> {
    let pieces = |(header, bytes, frames): &([u8; HEADER], Vec<u8>, usize)| match *header == NO_OFFLOADS {
        true => vec![bytes.clone()],
        false => {
            let pieces = pieces(&Offloaded::new(header, bytes, 0).unwrap());
            assert_eq!(pieces.len(), *frames);
            pieces
        }
    };
    sent.iter().flat_map(pieces).collect()
}

/// The frames of a super-packet.
fn frames_of(shape: &Shape) -> Vec<Vec<u8>> {
    let (frame, header, ..) = super_packet(shape);
    pieces(&Offloaded::new(&header, &frame, 0).unwrap())
}

/// Consecutive full segments of a connection.
pub(crate) fn segments(count: usize) -> Vec<Vec<u8>> {
    frames_of(&Shape {
        six: false,
        tcp: true,
        vlan: false,
        options: 3,
        flags: ACK,
        sequence: 1,
        identification: 1,
        payload: (0..=255).cycle().take(count * 1448).collect(),
        size: 1448,
    })
}

/// Corrects the checksums of a frame, as far as it is TCP.
fn repaired(mut frame: Vec<u8>) -> Vec<u8> {
    let six = frame[12] == 0x86;
    let transport = ETHERNET + if six { 40 } else { 20 };
    if !six {
        put(&mut frame, ETHERNET + 10, 0);
        let checksum = Sum::default().bytes(&frame[ETHERNET..transport]).checksum();
        put(&mut frame, ETHERNET + 10, checksum);
    }
    put(&mut frame, transport + TCP_CHECKSUM, 0);
    let layout = Layout { six, transport, payload: 0 };
    let sum = layout.pseudo_header(&frame, frame.len() - transport).bytes(&frame[transport..]);
    put(&mut frame, transport + TCP_CHECKSUM, sum.checksum());
    frame
}

/// Returns true if every frame is exactly one that a card computes: a sum of zero has two
/// spellings.
fn has_one_spelling(frames: &[Vec<u8>]) -> bool {
    frames.iter().all(|frame| SuperPacket::start(frame).is_none_or(|whole| whole.layout.is_right(frame)))
}

proptest! {
    /// Frames of a connection that were one super-packet are sent as one again, and come out
    /// unchanged.
    #[test]
    fn segments_of_a_connection_are_sent_together(mut shape in shapes(), end in 0..4_u8) {
        shape.tcp = true;
        shape.vlan = false;
        shape.flags = ACK | [0, PSH, FIN, ECE | PSH][usize::from(end)];
        let frames = frames_of(&shape);
        prop_assume!(!shape.payload.is_empty() && has_one_spelling(&frames));
        let sent = joined(&frames);
        prop_assert_eq!(sent.len(), 1);
        prop_assert_eq!(segmented(&sent), frames);
    }

    /// Frames that differ from their neighbours in any way leave unchanged and in order.
    #[test]
    fn what_leaves_are_the_frames_that_came(
        shapes in prop::collection::vec(shapes(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..120_usize, any::<u8>(), any::<bool>()), 0..4),
        swap in any::<Option<(prop::sample::Index, prop::sample::Index)>>(),
        ends in prop::collection::vec(0..3_usize, 4),
        (continues, same_size) in any::<(bool, bool)>(),
    ) {
        let mut frames: Vec<Vec<u8>> = Vec::new();
        let mut before: Option<Shape> = None;
        for (mut shape, end) in shapes.into_iter().zip(ends) {
            if continues {
                // Each super-packet is the connection's next one.
                (shape.tcp, shape.vlan, shape.flags) = (true, false, ACK | [0, PSH, FIN][end]);
                if let Some(before) = &before {
                    let segments = before.payload.len().div_ceil(usize::from(before.size)).max(1);
                    (shape.six, shape.options) = (before.six, before.options);
                    shape.sequence = before.sequence.wrapping_add(before.payload.len() as u32);
                    shape.identification = before.identification.wrapping_add(segments as u16);
                    if same_size {
                        shape.size = before.size;
                    }
                }
            }
            frames.extend(frames_of(&shape));
            before = Some(shape);
        }
        frames.truncate(200);
        for (frame, at, byte, repair) in changes {
            let which = frame.index(frames.len());
            let frame = &mut frames[which];
            let at = at % frame.len();
            frame[at] = byte;
            if repair && frame.len() > 80 {
                *frame = repaired(std::mem::take(frame));
            }
        }
        if let Some((one, other)) = swap {
            let (one, other) = (one.index(frames.len()), other.index(frames.len()));
            frames.swap(one, other);
        }
        prop_assert_eq!(segmented(&joined(&frames)), frames);
    }

    #[test]
    fn random_bytes_do_no_harm(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..5)) {
        prop_assert_eq!(segmented(&joined(&frames)), frames.clone());
        let mut order: Vec<usize> = (0..frames.len()).collect();
        group(&mut order, |ix| &frames[ix]);
    }

    /// Frames of four connections over either protocol, of UDP, and with tags, in any order.
    #[test]
    fn grouping_keeps_the_order_that_matters(kinds in prop::collection::vec(0..10_u8, 0..80)) {
        let frames: Vec<Vec<u8>> = kinds.iter().map(|kind| frame_of(*kind)).collect();
        let mut order: Vec<usize> = (0..frames.len()).collect();
        group(&mut order, |ix| &frames[ix]);
        let count = frames.len().min(MOST);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert!(sorted.into_iter().eq(0..frames.len()));
        prop_assert!(order[count..].iter().copied().eq(count..frames.len()));
        let mut last_of = BTreeMap::new();
        for (place, &ix) in order[..count].iter().enumerate() {
            // The order within a connection stays, and no frame passes a frame of an unknown
            // connection.
            if let Some(before) = last_of.insert(kinds[ix], ix) {
                prop_assert!(before < ix);
            }
            let passed = order[..place].iter().filter(|&&before| before > ix);
            let unknown = |ix: usize| kinds[ix] == 9;
            prop_assert!(passed.clone().all(|&before| !unknown(before) && !unknown(ix)));
            let is_last = !kinds[ix + 1..count].contains(&kinds[ix]);
            if kinds[ix] == 8 || is_last {
                prop_assert_eq!(passed.count(), 0);
            }
            // Without such a frame between them, the frames of a connection are neighbours.
            if kinds[ix] < 8 && let Some(next) = (ix + 1..count).find(|next| kinds[*next] == kinds[ix])
                && !kinds[ix..next].contains(&9)
            {
                prop_assert_eq!(order[place + 1], next);
            }
        }
    }
}

/// A short frame: of TCP connections 0 to 7, of UDP (8), or with a VLAN tag (9).
fn frame_of(kind: u8) -> Vec<u8> {
    let shape = Shape {
        six: kind % 2 == 1,
        tcp: kind != 8,
        vlan: kind == 9,
        options: 0,
        flags: ACK,
        sequence: 7,
        identification: 3,
        payload: vec![1; 100],
        size: 100,
    };
    let mut frame = frames_of(&shape).remove(0);
    let source_port = ETHERNET + if shape.six { 40 } else { 20 };
    if kind < 8 {
        frame[source_port] = kind;
    }
    frame
}

/// Sequence numbers and identifications wrap around, and the last frame may be shorter.
#[test]
fn numbers_wrap_around() {
    let shape = Shape {
        six: false,
        tcp: true,
        vlan: false,
        options: 3,
        flags: ACK | PSH,
        sequence: u32::MAX - 2000,
        identification: u16::MAX - 1,
        payload: (0..=255).cycle().take(7000).collect(),
        size: 1448,
    };
    let frames = frames_of(&shape);
    let sent = joined(&frames);
    assert_eq!((sent.len(), sent[0].2), (1, 5));
    assert_eq!(segmented(&sent), frames);
    // PSH ends the first super-packet: the same frames behind it start another one.
    let twice = [frames.clone(), frames].concat();
    assert_eq!(joined(&twice).len(), 2);
}
