//! How is a packet carried in cells, and which packets are whole again? ATM adaptation layer 5 (ITU-T I.363.5; RFC 2684, section 3).
//!
//! # Model
//!
//! A packet of n bytes becomes a frame (CPCS-PDU): its data, padding and a trailer of 8 bytes, in whole cells. With 48 bytes of
//! payload it takes ⌈(n + 8) / 48⌉ cells. Only the last cell says that it is one, and only the trailer's check tells that cells are
//! missing: a frame that lost a cell is lost, and one whose last cell was lost takes the next one with it.

/// Bytes of a frame's trailer.
pub const TRAILER: u32 = 8;

/// The longest packet that a frame carries, in bytes: its trailer has 16 bits for the length.
pub const LONGEST: u32 = 65_535;

/// Cells of a frame for a packet of `bytes`, with `payload` bytes in each, at least 1.
pub fn cells(bytes: u32, payload: u32) -> u32 {
    (u64::from(bytes) + u64::from(TRAILER)).div_ceil(u64::from(payload)) as u32
}

/// What a cell of a frame carries, as far as the two ends read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The frame's number, by which its check tells cells of others.
    pub frame: u64,
    /// In the last cell, the cells of the frame and the bytes of its packet (the trailer's length).
    pub trailer: Option<(u32, u32)>,
}

impl Segment {
    /// As the words of a payload.
    pub fn words(&self) -> [u64; 3] {
        let (cells, bytes) = self.trailer.unwrap_or((0, 0));
        [self.frame, u64::from(cells), u64::from(bytes)]
    }

    /// From the words of a payload.
    pub fn from_words([frame, cells, bytes]: [u64; 3]) -> Segment {
        Segment { frame, trailer: (cells > 0).then_some((cells as u32, bytes as u32)) }
    }
}

/// Cuts packets into cells.
#[derive(Clone, Debug)]
pub struct Segmentation {
    /// Bytes of payload in a cell, and of the longest packet.
    payload: u32,
    longest: u32,
    frame: u64,
    bytes: u32,
    /// Cells of the frame, and how many of them are sent.
    cells: u32,
    sent: u32,
}

impl Segmentation {
    /// Packets of at most `longest` bytes in cells of `payload` bytes; both at least 1.
    pub fn new(payload: u32, longest: u32) -> Segmentation {
        Segmentation { payload, longest, frame: 0, bytes: 0, cells: 0, sent: 0 }
    }

    /// The next cell, with `waiting` bytes of data that no cell of a whole packet has carried, more than 0. The trailer says how many of
    /// them are carried now.
    pub fn cell(&mut self, waiting: u64) -> Segment {
        if self.sent == self.cells {
            self.frame += 1;
            self.bytes = waiting.min(u64::from(self.longest)) as u32;
            (self.cells, self.sent) = (cells(self.bytes, self.payload), 0);
        }
        self.sent += 1;
        let trailer = (self.sent == self.cells).then_some((self.cells, self.bytes));
        Segment { frame: self.frame, trailer }
    }
}

/// Puts packets together again.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// The frame of the first cell since the last trailer, and how many cells have come since then.
    frame: u64,
    came: u32,
    /// Whether a cell of another frame is among them.
    is_mixed: bool,
}

impl Reassembly {
    /// A cell has come: the bytes of the packet that is whole with it, 0 for none.
    pub fn cell(&mut self, segment: Segment) -> u32 {
        if self.came == 0 {
            (self.frame, self.is_mixed) = (segment.frame, false);
        }
        self.is_mixed |= segment.frame != self.frame;
        self.came = self.came.saturating_add(1);
        let Some((cells, bytes)) = segment.trailer else { return 0 };
        let is_whole = !self.is_mixed && self.came == cells;
        self.came = 0;
        if is_whole { bytes } else { 0 }
    }
}
