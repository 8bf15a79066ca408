//! Packets of AAL5 in the cells of an ABR connection.

use crate::aal5::{Cell, Segmentation};

/// The packets of AAL5 that a sender makes.
#[derive(Debug)]
pub(super) struct Frames {
    /// Bytes of the longest packet.
    longest: u32,
    /// Packets that have begun; it wraps.
    packets: u32,
    /// The packet that is being sent.
    segmentation: Option<Segmentation>,
}

impl Frames {
    /// No packet has begun; none is longer than `longest` bytes.
    pub(super) fn new(longest: u32) -> Frames {
        Frames { longest, packets: 0, segmentation: None }
    }

    /// The next cell with `payload` bytes: a cell of the packet that is being sent, or of a new
    /// packet of the `waiting` bytes, more than 0.
    pub(super) fn next(&mut self, waiting: u64, payload: u32) -> Cell {
        if let Some(cell) = self.segmentation.as_mut().and_then(Segmentation::next) {
            return cell;
        }
        self.packets = self.packets.wrapping_add(1);
        let len = waiting.min(u64::from(self.longest)) as u32;
        let mut segmentation = Segmentation::new(self.packets, len, payload);
        // A packet has at least the cell of its trailer.
        let first = segmentation.next().unwrap_or(Cell { packet: self.packets, trailer: Some(len) });
        self.segmentation = Some(segmentation);
        first
    }
}

/// A cell of AAL5 as the words of a payload.
pub(super) fn words_of(cell: Cell) -> [u64; 3] {
    [u64::from(cell.packet), cell.trailer.map_or(0, |len| u64::from(len) + 1), 0]
}

/// From the words of a payload.
pub(super) fn cell_of([packet, trailer, _]: [u64; 3]) -> Cell {
    Cell { packet: packet as u32, trailer: trailer.checked_sub(1).map(|len| len as u32) }
}
