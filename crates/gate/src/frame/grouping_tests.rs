use super::*;
use crate::frame::offload::tests::Shape;
use crate::frame::super_packet::tests::frames_of;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Kinds of frames: of TCP connections (below this), of UDP flows whose datagrams may be joined, of a
/// UDP flow whose datagrams may not, and with a VLAN tag.
const UDP: u8 = 5;
const APART: u8 = 8;
const TAGGED: u8 = 9;

/// A short frame of a kind, the one with this number of its flow.
fn frame_of(kind: u8, number: u16) -> Vec<u8> {
    let shape = Shape {
        six: kind % 2 == 1,
        tcp: kind < UDP,
        vlan: kind == TAGGED,
        options: 0,
        flags: 0x10,
        sequence: 7,
        identification: if kind == APART { 0 } else { 0xfff8_u16.wrapping_add(number) },
        payload: vec![1; 100],
        size: 100,
    };
    let mut frame = frames_of(&shape).remove(0);
    let source_port = ETHERNET + if shape.six { 40 } else { 20 };
    if kind != TAGGED {
        frame[source_port] = kind;
    }
    frame
}

/// The frames of these kinds, in their order.
fn frames(kinds: &[u8]) -> Vec<Vec<u8>> {
    let mut numbers = [0; TAGGED as usize + 1];
    let one = |kind: &u8| {
        numbers[usize::from(*kind)] += 1;
        frame_of(*kind, numbers[usize::from(*kind)])
    };
    kinds.iter().map(one).collect()
}

proptest! {
    /// Frames of TCP connections and UDP flows over either protocol, and with tags, in any order.
    #[test]
    fn grouping_keeps_the_order_that_matters(kinds in prop::collection::vec(0..=TAGGED, 0..80)) {
        let frames = frames(&kinds);
        let mut order: Vec<usize> = (0..frames.len()).collect();
        group(&mut order, |ix| &frames[ix]);
        let count = frames.len().min(MOST);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert!(sorted.into_iter().eq(0..frames.len()));
        prop_assert!(order[count..].iter().copied().eq(count..frames.len()));
        let mut last_of = BTreeMap::new();
        for (place, &ix) in order[..count].iter().enumerate() {
            // The order within a flow stays, and no frame passes a frame of an unknown flow.
            if let Some(before) = last_of.insert(kinds[ix], ix) {
                prop_assert!(before < ix);
            }
            let passed = order[..place].iter().filter(|&&before| before > ix);
            let unknown = |ix: usize| kinds[ix] == TAGGED;
            prop_assert!(passed.clone().all(|&before| !unknown(before) && !unknown(ix)));
            let is_last = !kinds[ix + 1..count].contains(&kinds[ix]);
            if kinds[ix] == APART || is_last {
                prop_assert_eq!(passed.count(), 0);
            }
            // Without such a frame between them, the frames of a flow are neighbours.
            if kinds[ix] < APART && let Some(next) = (ix + 1..count).find(|next| kinds[*next] == kinds[ix])
                && !kinds[ix..next].contains(&TAGGED)
            {
                prop_assert_eq!(order[place + 1], next);
            }
        }
    }

    #[test]
    fn random_bytes_do_no_harm(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..9)) {
        let mut order: Vec<usize> = (0..frames.len()).collect();
        group(&mut order, |ix| &frames[ix]);
        order.sort_unstable();
        prop_assert!(order.into_iter().eq(0..frames.len()));
    }
}

/// A datagram is put next to a later one of its flow only if the two may be joined.
#[test]
fn datagrams_that_cannot_be_joined_stay_where_they_are() {
    let grouped = |change: fn(&mut [u8])| {
        let mut frames = frames(&[6, 0, 6]);
        change(&mut frames[2]);
        let mut order = [0, 1, 2];
        group(&mut order, |ix| &frames[ix]);
        order
    };
    assert_eq!(grouped(|_| {}), [1, 0, 2]);
    // The identification, the checksum, the port.
    assert_eq!(grouped(|frame| frame[19] ^= 8), [0, 1, 2]);
    assert_eq!(grouped(|frame| frame[40..42].fill(0)), [0, 1, 2]);
    assert_eq!(grouped(|frame| frame[36] ^= 1), [0, 1, 2]);
}
