//! AAL5 segmentation and reassembly of packets into and from ATM cells (ITU-T I.363.5).
//!
//! A packet gets a trailer of 8 bytes with its length and a CRC-32, and is padded to a whole number
//! of cell payloads of 48 bytes. The last cell is marked as such. The receiving end has no other
//! information about a cell: it collects cells until a last cell arrives, and delivers the packet
//! if length and CRC are right. A lost cell therefore loses its packet, and a lost last cell also
//! loses the next packet.
//!
//! The cells of a VC arrive in order. This module counts cells and carries no bytes, whatever the
//! source of the cells. A CRC that is right by chance does not occur. The payload of a cell may
//! differ from 48 bytes, for example in ABR connections.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::aal5::{Reassembled, Reassembly, cells, segment};
//!
//! assert_eq!(cells(1500), 32);
//! let mut end = Reassembly::default();
//! let results: Vec<_> = segment(0, 100).map(|cell| end.take(cell, false)).collect();
//! assert_eq!(results.last(), Some(&Reassembled::Packet { len: 100, marked: false }));
//! // Without its first cell, the packet is lost.
//! let results: Vec<_> = segment(1, 100).skip(1).map(|cell| end.take(cell, false)).collect();
//! assert_eq!(results.last(), Some(&Reassembled::Discarded { cells: 2 }));
//! ```

/// Bytes of an ATM cell on a link: a header of 5 and a payload of 48 (ITU-T I.361).
pub const CELL: u32 = 53;

/// Bytes of payload of an ATM cell.
pub const PAYLOAD: u32 = 48;

/// The longest packet in bytes: the trailer has 16 bits for its length.
pub const LONGEST: u32 = 65_535;

const TRAILER: u32 = 8;

/// The number of ATM cells of a packet of `len` bytes: ⌈(len + 8) / 48⌉.
pub const fn cells(len: u32) -> u32 {
    cells_of(len, PAYLOAD)
}

/// The number of cells of a packet of `len` bytes with `payload` bytes in each, at least 1: ⌈(len +
/// 8) / payload⌉.
pub const fn cells_of(len: u32, payload: u32) -> u32 {
    len.saturating_add(TRAILER).div_ceil(payload)
}

/// The kind of a cell's payload, as far as the receiving end can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The number of its packet in its VC, in place of the bytes that the CRC is over. It wraps.
    pub packet: u32,
    /// The length of the packet in bytes, in its last cell; `None` in the others.
    pub trailer: Option<u32>,
}

/// The ATM cells of the packet with this number and `len` bytes, in order.
pub fn segment(packet: u32, len: u32) -> impl Iterator<Item = Cell> {
    let mut segmentation = Segmentation::new(packet, len, PAYLOAD);
    core::iter::from_fn(move || segmentation.next())
}

/// A packet being segmented into cells one by one.
#[derive(Clone, Copy, Debug)]
pub struct Segmentation {
    packet: u32,
    len: u32,
    /// Number of cells still to come.
    left: u32,
}

impl Segmentation {
    /// Starts the segmentation of the packet with this number and `len` bytes, in cells with
    /// `payload` bytes, at least 1.
    pub fn new(packet: u32, len: u32, payload: u32) -> Segmentation {
        Segmentation { packet, len, left: cells_of(len, payload) }
    }

    /// The next cell; `None` after the last one.
    #[expect(clippy::should_implement_trait, reason = "nothing iterates over it")]
    pub fn next(&mut self) -> Option<Cell> {
        self.left = self.left.checked_sub(1)?;
        Some(Cell { packet: self.packet, trailer: (self.left == 0).then_some(self.len) })
    }
}

/// The effect of a cell at the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reassembled {
    /// The cell is kept until the last cell arrives.
    Incomplete,
    /// The cell is the last one, and the packet is complete.
    Packet {
        /// Bytes of the packet.
        len: u32,
        /// True if any of its cells carried a congestion mark.
        marked: bool,
    },
    /// The cell is the last one, and the length or the CRC is wrong: the collected cells are
    /// discarded, including this one.
    Discarded {
        /// Number of discarded cells, of one packet or of several.
        cells: u32,
    },
}

/// The receiving end of one VC.
#[derive(Clone, Copy, Debug)]
pub struct Reassembly {
    /// Bytes of payload in a cell.
    payload: u32,
    /// Number of cells since the last cell of the previous packet.
    cells: u32,
    /// Packet number of the latest of these cells.
    packet: u32,
    /// True if these cells belong to several packets, which the CRC would show.
    mixed: bool,
    marked: bool,
}

impl Default for Reassembly {
    fn default() -> Reassembly {
        Reassembly::new(PAYLOAD)
    }
}

impl Reassembly {
    /// Creates reassembly from cells with `payload` bytes, at least 1.
    pub fn new(payload: u32) -> Reassembly {
        Reassembly { payload, cells: 0, packet: 0, mixed: false, marked: false }
    }

    /// Processes the next cell of the VC; `marked` is true if congestion was marked on it on the
    /// way (EFCI).
    pub fn take(&mut self, cell: Cell, marked: bool) -> Reassembled {
        self.mixed |= self.cells > 0 && cell.packet != self.packet;
        self.packet = cell.packet;
        self.cells = self.cells.saturating_add(1);
        self.marked |= marked;
        let Some(len) = cell.trailer else { return Reassembled::Incomplete };
        let whole = core::mem::replace(self, Reassembly::new(self.payload));
        if whole.mixed || whole.cells != cells_of(len, self.payload) {
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
        for payload in [1, 7, PAYLOAD, 1000] {
            for len in (0..10_000).chain([LONGEST - 1, LONGEST]) {
                let room = cells_of(len, payload) * payload;
                assert!(room >= len + TRAILER && room < len + TRAILER + payload);
            }
        }
    }

    proptest! {
        /// A packet is delivered if and only if all its cells have arrived, and so has the last
        /// cell of the packet before it, unless no cell of that packet has arrived: the remainder
        /// of a packet without its last cell spoils the next.
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
            // Every cell that has arrived is in a packet, discarded, or still kept.
            prop_assert_eq!(taken, discarded + reassembly.cells);
        }
    }
}
