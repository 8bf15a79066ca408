//! AAL5: packets are cut into as many cells as stated, and a packet is whole when all of its cells have come.

use crate::common::rounds;
use tidegate_core::abr::aal5::{LONGEST, Reassembly, Segment, Segmentation, TRAILER, cells};
use tidegate_core::rng::Rng;

/// The cells of packets of random lengths, packet by packet: (length, cells).
fn cut(rng: &mut Rng, payload: u32, longest: u32, packets: usize) -> Vec<(u32, Vec<Segment>)> {
    let mut segmentation = Segmentation::new(payload, longest);
    let packet = |_| {
        let waiting = 1 + rng.below(2 * u64::from(longest));
        let mut cells = Vec::new();
        loop {
            // What comes while a packet is sent does not lengthen it.
            let more = if cells.is_empty() { 0 } else { rng.below(1000) };
            let segment = segmentation.cell(waiting + more);
            cells.push(segment);
            if let Some((_, bytes)) = segment.trailer {
                assert_eq!(u64::from(bytes), waiting.min(u64::from(longest)));
                return (bytes, cells);
            }
        }
    };
    (0..packets).map(packet).collect()
}

/// Data and trailer fit into the cells, and not into one less (ITU-T I.363.5).
#[test]
fn a_packet_takes_as_few_cells_as_hold_it_and_its_trailer() {
    for payload in [1, 7, 48, 1000] {
        for bytes in (1..2000).chain([LONGEST - 1, LONGEST]) {
            let taken = u64::from(cells(bytes, payload)) * u64::from(payload);
            let whole = u64::from(bytes + TRAILER);
            assert!(taken >= whole && taken < whole + u64::from(payload), "{bytes} {payload}");
        }
    }
    assert_eq!([40, 41, 1500, 9180].map(|bytes| cells(bytes, 48)), [1, 2, 32, 192]);
    let mut rng = Rng::named(1, "packets");
    for seed in 0..rounds(20) {
        let payload = 1 + rng.below(100) as u32;
        for (bytes, segments) in cut(&mut rng, payload, 9180, 20) {
            assert_eq!(segments.len() as u32, cells(bytes, payload), "{seed}");
            assert_eq!(segments.iter().filter(|segment| segment.trailer.is_some()).count(), 1);
        }
    }
}

/// Whatever is lost, what is handed over are packets all of whose cells have come and whose predecessor's last cell has: with that
/// one lost, both are in one frame, unless nothing at all of it has come.
#[test]
fn packets_are_whole_or_lost() {
    let (mut whole, mut merged) = (0, 0);
    for seed in 0..rounds(200) {
        let mut rng = Rng::named(seed, "packets");
        let loss = 0.2 * rng.unit();
        let packets = cut(&mut rng, 48, 400, 100);
        let mut reassembly = Reassembly::default();
        // Cells of packets before, behind which no last cell has come.
        let mut left_over = false;
        for (bytes, segments) in packets {
            let came: Vec<Segment> = segments.iter().copied().filter(|_| !rng.chance(loss)).collect();
            let words = came.iter().map(|segment| Segment::from_words(segment.words()));
            let handed: Vec<u32> =
                words.map(|segment| reassembly.cell(segment)).filter(|bytes| *bytes > 0).collect();
            let all = came.len() == segments.len();
            let expected = if all && !left_over { vec![bytes] } else { Vec::new() };
            assert_eq!(handed, expected, "seed {seed}");
            whole += u64::from(all && !left_over);
            merged += u64::from(all && left_over);
            let ends = came.last().is_some_and(|segment| segment.trailer.is_some());
            left_over = if ends { false } else { left_over || !came.is_empty() };
        }
    }
    assert!(whole > 1000 && merged > 50, "{whole} {merged}");
}
