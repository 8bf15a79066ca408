//! The content of a packet of a connection: numbers, flags and SACK blocks (RFC 9293, section 3.1;
//! RFC 2018; RFC 3168).

/// The most SACK blocks of an acknowledgement: as many as fit beside a timestamp option (RFC 2018,
/// section 3).
pub const MAX_BLOCKS: usize = 3;

/// The part of a TCP header that the two ends read, and the number of bytes of data behind it.
///
/// Bytes are numbered from 0, in 64 bits: numbers do not wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first byte of data (SEG.SEQ).
    pub sequence: u64,
    /// Bytes of data (SEG.LEN); 0 in an acknowledgement.
    pub length: u32,
    /// Number of the next byte that is expected (SEG.ACK).
    pub acknowledgement: u64,
    /// Bytes from the acknowledgement on for which the receiver has room (SEG.WND).
    pub window: u32,
    /// Milliseconds, modulo 2^16, of the clock of the end that receives the data: in an
    /// acknowledgement its time (TSval), in data that of the last acknowledgement that came (TSecr)
    /// (RFC 7323, section 3). 0 without time stamps.
    pub stamp: u16,
    /// Opens the connection, or answers such a segment (SYN); it has no data, and no number.
    pub opens: bool,
    /// Ends what the application has written so far (PSH).
    pub pushes: bool,
    /// ECN-Echo (ECE): a data packet came with congestion marked (CE).
    pub echo: bool,
    /// The last three bits of the count of packets that came marked (ACE, RFC 9768); zero where they
    /// are not counted.
    pub ace: u8,
    /// Congestion window reduced (CWR).
    pub reduced: bool,
    /// SACK blocks, the one with the latest data first; unused ones are empty. A block of data that
    /// have arrived twice may come before them (D-SACK, RFC 2883).
    pub sack: [Block; MAX_BLOCKS],
}

/// Bytes that have arrived: from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the first byte.
    pub start: u64,
    /// Number of the byte after the last.
    pub end: u64,
}

impl Segment {
    /// Number of the byte after the last byte of data.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }

    /// The SACK blocks that are used.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        self.sack.into_iter().filter(|block| block.start < block.end)
    }

    /// The data that have arrived a second time: the first block, if its data are acknowledged or
    /// within the second block (RFC 2883, section 4).
    pub fn duplicate(&self) -> Option<Block> {
        let [first, second, ..] = self.sack;
        let is_within = second.start <= first.start && first.end <= second.end;
        (first.start < first.end && (first.end <= self.acknowledgement || is_within)).then_some(first)
    }
}
