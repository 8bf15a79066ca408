//! The messages between the two ends of a link.

use super::RECORDS_PER_CELL;

/// A running count of a VC's cells. It wraps after 2³²: only the distance between two counts of a
/// VC has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counter(u32);

impl Counter {
    /// The count with these 32 bits.
    pub const fn from_bits(bits: u32) -> Counter {
        Counter(bits)
    }

    /// Its 32 bits, as they are sent.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The count `cells` cells later.
    pub const fn plus(self, cells: u32) -> Counter {
        Counter(self.0.wrapping_add(cells))
    }

    /// Cells from `earlier` to this count; 2³² less the distance when `earlier` is the later one.
    pub const fn since(self, earlier: Counter) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

/// A VC of a link, by its number: both ends number the VCs from 0 in the order in which they are
/// opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct VcIx(pub u32);

/// The information of a credit record on the cells of a VC that have left the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// Fwd_Cnt of the receiver when the credit cell was made (the Credit Update Protocol).
    //= kung1997 3.1
    Forwarded(Counter),
    /// Cells that have left since the record before (incremental credits).
    Added(u32),
}

impl Default for Credit {
    fn default() -> Credit {
        Credit::Forwarded(Counter::default())
    }
}

/// An allocation that the receiver has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Number of the allocation among those of the VC: the later of two holds.
    pub number: Counter,
    /// Buf_Alloc in cells.
    pub buf_alloc: u32,
}

/// The receiver's report on a VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CreditRecord {
    /// The VC.
    pub vc: VcIx,
    /// Number of its cells that have left.
    pub credit: Credit,
    /// Its latest allocation, where the receiver allocates; `None` where it does not.
    pub allocation: Option<Allocation>,
}

/// Up to [`RECORDS_PER_CELL`] credit records, sent from the receiver to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CreditCell {
    records: [CreditRecord; RECORDS_PER_CELL],
    len: usize,
}

impl CreditCell {
    /// A credit cell with these records, as a driver has read them; `None` when they do not fit.
    pub fn of(records: &[CreditRecord]) -> Option<CreditCell> {
        let mut cell = CreditCell::default();
        cell.records.get_mut(..records.len())?.copy_from_slice(records);
        cell.len = records.len();
        Some(cell)
    }

    /// The records, at least one of those that a receiver makes.
    pub fn records(&self) -> &[CreditRecord] {
        &self.records[..self.len]
    }

    /// Adds a record, for which there must be room.
    pub(super) fn push(&mut self, record: CreditRecord) {
        self.records[self.len] = record;
        self.len += 1;
    }

    /// Returns true if no more records fit.
    pub(super) fn is_full(&self) -> bool {
        self.len == RECORDS_PER_CELL
    }
}

/// Number of cells of a VC that the sender has sent: a credit_check cell, sent from the sender to
/// the receiver behind these cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
//= kung1997 3.1
pub struct CreditCheck {
    /// The VC.
    pub vc: VcIx,
    /// Tx_Cnt of the sender when the cell was made.
    pub tx_cnt: Counter,
    /// The number of the latest allocation that has reached the sender.
    pub allocation: Counter,
}
