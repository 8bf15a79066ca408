//! How does a packet become ATM cells, and how do cells become a packet again? AAL5 (ITU-T I.363.5).
//!
//! A packet gets a trailer of 8 bytes with its length and a CRC-32, and is padded to a whole number of cell payloads of
//! 48 bytes. The last cell is marked as the last. The receiving end knows nothing else of a cell: it collects what comes
//! until a last cell, and delivers the packet when length and CRC are right. So a lost cell loses its packet, and a lost
//! last cell the next packet, too.
//!
//! The cells of a VC come in order. Where they come from is no question of this module: it counts cells and carries no
//! bytes. A CRC that is right by chance does not occur.

/// Bytes of an ATM cell on a link: a header of 5 and a payload of 48 (ITU-T I.361).
pub const CELL: u32 = 53;

const PAYLOAD: u32 = 48;
const TRAILER: u32 = 8;

/// How many cells a packet of `len` bytes takes: ⌈(len + 8) / 48⌉.
pub const fn cells(len: u32) -> u32 {
    len.saturating_add(TRAILER).div_ceil(PAYLOAD)
}

/// What the payload of a cell is, as far as the receiving end can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The number of its packet in its VC, in place of the bytes that the CRC is over. It wraps.
    pub packet: u32,
    /// The length of the packet in bytes, in its last cell; `None` in the others.
    pub trailer: Option<u32>,
}

/// The cells of the packet with this number and `len` bytes, in order.
pub fn segment(packet: u32, len: u32) -> impl Iterator<Item = Cell> {
    let last = cells(len) - 1;
    (0..=last).map(move |nth| Cell { packet, trailer: (nth == last).then_some(len) })
}

/// What a cell brings about at the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reassembled {
    /// It is kept until the last cell is there.
    Incomplete,
    /// It is the last one, and the packet is complete.
    Packet {
        /// Bytes of the packet.
        len: u32,
        /// Whether congestion was marked on one of its cells.
        marked: bool,
    },
    /// It is the last one, and length or CRC are wrong: so many cells are discarded, this one included.
    Discarded {
        /// Cells of one packet or of several.
        cells: u32,
    },
}

/// The receiving end of one VC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reassembly {
    /// Cells since the last one that was a packet's last.
    cells: u32,
    /// The packet of the latest of them.
    packet: u32,
    /// Whether they are of several packets, which the CRC would show.
    mixed: bool,
    marked: bool,
}

impl Reassembly {
    /// A cell of the VC has come; `marked` says whether congestion was marked on it on the way (EFCI).
    pub fn take(&mut self, cell: Cell, marked: bool) -> Reassembled {
        self.mixed |= self.cells > 0 && cell.packet != self.packet;
        self.packet = cell.packet;
        self.cells = self.cells.saturating_add(1);
        self.marked |= marked;
        let Some(len) = cell.trailer else { return Reassembled::Incomplete };
        let whole = core::mem::take(self);
        if whole.mixed || whole.cells != cells(len) {
            return Reassembled::Discarded { cells: whole.cells };
        }
        Reassembled::Packet { len, marked: whole.marked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_takes_its_bytes_and_the_trailer_in_whole_payloads() {
        for (len, expected) in [(0, 1), (1, 1), (40, 1), (41, 2), (88, 2), (89, 3), (9188, 192)] {
            assert_eq!(cells(len), expected, "{len}");
            assert_eq!(segment(0, len).count(), expected as usize);
        }
        for len in 0..10_000 {
            let room = cells(len) * PAYLOAD;
            assert!(room >= len + TRAILER && room < len + TRAILER + PAYLOAD);
        }
    }

    proptest! {
        /// A packet is delivered if and only if all its cells have come, and the last cell of the packet before it,
        /// unless no cell of that one has come: what is left of a packet without its last cell spoils the next.
        #[test]
        fn a_lost_cell_loses_its_packet(
            sizes in proptest::collection::vec(0u32..400, 1..30),
            losses in proptest::collection::vec(0u8..12, 300),
        ) {
            let mut reassembly = Reassembly::default();
            let mut losses = losses.into_iter().cycle();
            let (mut delivered, mut expected) = (Vec::new(), Vec::new());
            let (mut taken, mut discarded, mut collected) = (0, 0, 0);
            for (number, len) in (0u32..).zip(sizes) {
                let came: Vec<Cell> =
                    segment(number, len).filter(|_| losses.next().is_some_and(|draw| draw > 0)).collect();
                let is_whole = came.len() as u32 == cells(len);
                if is_whole && collected == 0 {
                    expected.push((len, number % 3 == 0));
                }
                collected = if came.last().is_some_and(|cell| cell.trailer.is_some()) {
                    0
                } else {
                    collected + came.len()
                };
                taken += came.len() as u32;
                for cell in came {
                    match reassembly.take(cell, number % 3 == 0) {
                        Reassembled::Incomplete => {}
                        Reassembled::Packet { len, marked } => {
                            discarded += cells(len);
                            delivered.push((len, marked));
                        }
                        Reassembled::Discarded { cells } => discarded += cells,
                    }
                }
            }
            prop_assert_eq!(delivered, expected);
            // Every cell that has come is in a packet, discarded, or still kept.
            prop_assert_eq!(taken, discarded + reassembly.cells);
        }
    }
}
