use super::*;
use crate::frame::offload::Offloaded;
use crate::frame::offload::tests::{Shape, pieces, shapes, super_packet};
use proptest::prelude::*;

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
pub(in crate::frame) fn frames_of(shape: &Shape) -> Vec<Vec<u8>> {
    let (frame, header, ..) = super_packet(shape);
    pieces(&Offloaded::new(&header, &frame, 0).unwrap())
}

/// Consecutive full segments of a connection.
pub(crate) fn segments(count: usize) -> Vec<Vec<u8>> {
    full(count, true)
}

/// Consecutive full datagrams of a flow.
pub(crate) fn datagrams(count: usize) -> Vec<Vec<u8>> {
    full(count, false)
}

fn full(count: usize, tcp: bool) -> Vec<Vec<u8>> {
    frames_of(&Shape {
        six: false,
        tcp,
        vlan: false,
        options: 3,
        flags: ACK,
        sequence: 1,
        identification: 1,
        payload: (0..=255).cycle().take(count * 1448).collect(),
        size: 1448,
    })
}

/// Corrects the checksums of a frame, as far as it is TCP or UDP.
fn repaired(mut frame: Vec<u8>) -> Vec<u8> {
    let six = frame[12] == 0x86;
    let transport = ETHERNET + if six { 40 } else { 20 };
    if !six {
        put(&mut frame, ETHERNET + 10, 0);
        let checksum = Sum::default().bytes(&frame[ETHERNET..transport]).checksum();
        put(&mut frame, ETHERNET + 10, checksum);
    }
    let number = frame[ETHERNET + if six { 6 } else { 9 }];
    let layout =
        Layout { six, protocol: Protocol::of(number).unwrap_or(Protocol::Tcp), transport, payload: 0 };
    put(&mut frame, layout.checksum(), 0);
    let sum = layout.pseudo_header(&frame, frame.len() - transport).bytes(&frame[transport..]);
    put(&mut frame, layout.checksum(), sum.checksum());
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

    /// So are the datagrams of a flow, but no more than the kernel takes at once.
    #[test]
    fn datagrams_of_a_flow_are_sent_together(mut shape in shapes(), few: bool) {
        shape.tcp = false;
        shape.vlan = false;
        if few {
            shape.size = shape.size.max(shape.payload.len() as u16 / 50 + 1);
        }
        let frames = frames_of(&shape);
        prop_assume!(!shape.payload.is_empty() && has_one_spelling(&frames));
        let sent = joined(&frames);
        let size = usize::from(shape.size);
        for (header, bytes, count) in &sent {
            prop_assert!(*count == 1 || bytes.len() <= MOST_DATAGRAMS * size, "{} {}", bytes.len(), size);
            prop_assert!(*count == 1 || header[1] == GSO_UDP);
        }
        let whole = ETHERNET + if shape.six { 40 } else { 20 } + 8 + shape.payload.len();
        prop_assert_eq!(sent.len() == 1, frames.len() == 1 || whole <= MOST_DATAGRAMS * size);
        prop_assert_eq!(segmented(&sent), frames);
    }

    /// Frames that differ from their neighbours in any way leave unchanged and in order.
    #[test]
    fn what_leaves_are_the_frames_that_came(
        shapes in prop::collection::vec(shapes(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..120_usize, any::<u8>(), any::<bool>()), 0..4),
        swap in any::<Option<(prop::sample::Index, prop::sample::Index)>>(),
        ends in prop::collection::vec(0..3_usize, 4),
        (continues, same_size, udp) in any::<(bool, bool, bool)>(),
    ) {
        let mut frames: Vec<Vec<u8>> = Vec::new();
        let mut before: Option<Shape> = None;
        for (mut shape, end) in shapes.into_iter().zip(ends) {
            if continues {
                // Each super-packet is the next one of the connection, or of the flow.
                (shape.tcp, shape.vlan, shape.flags) = (!udp, false, ACK | [0, PSH, FIN][end]);
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
        prop_assert_eq!(segmented(&joined(&frames)), frames);
    }
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

/// Datagrams without a checksum, of other lengths, or with identifications that do not count on,
/// are sent alone; a shorter one is the last of its super-packet.
#[test]
fn datagrams_that_segmentation_would_change_are_sent_alone() {
    let datagrams = |lengths: &[usize], step: u16| -> Vec<Vec<u8>> {
        let one = |(ix, length): (u16, &usize)| {
            let payload = (0..=255).cycle().take(*length).collect();
            let identification = 65_534_u16.wrapping_add(ix * step);
            let shape = Shape {
                six: false,
                tcp: false,
                vlan: false,
                options: 0,
                flags: 0,
                sequence: 0,
                identification,
                payload,
                size: 2000,
            };
            frames_of(&shape).remove(0)
        };
        (0..).zip(lengths).map(one).collect()
    };
    let counts =
        |frames: &[Vec<u8>]| joined(frames).iter().map(|(_, _, count)| *count).collect::<Vec<usize>>();
    assert_eq!(counts(&datagrams(&[100, 100, 100, 40], 1)), [4]);
    assert_eq!(counts(&datagrams(&[100, 40, 40, 100], 1)), [2, 1, 1]);
    assert_eq!(counts(&datagrams(&[100, 0, 100], 1)), [1, 1, 1]);
    for step in [0, 2] {
        assert_eq!(counts(&datagrams(&[100, 100, 100], step)), [1, 1, 1]);
    }
    let mut without = datagrams(&[100, 100, 100], 1);
    without.iter_mut().for_each(|frame| put(frame, 40, 0));
    assert_eq!(counts(&without), [1, 1, 1]);
    // A length of UDP that is not the frame's.
    let mut odd = datagrams(&[100, 100], 1);
    odd.iter_mut().for_each(|frame| {
        put(frame, 38, 107);
        *frame = repaired(std::mem::take(frame));
    });
    assert_eq!(counts(&odd), [1, 1]);
}
