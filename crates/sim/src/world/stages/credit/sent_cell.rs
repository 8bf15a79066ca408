//! Credit cells and credit_check cells on their way.

use tidegate_core::credit::messages::{CreditCell, CreditCheck};

/// Content of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    Credit(CreditCell),
    Check(CreditCheck),
}

impl Message {
    /// Returns true if it changes the sender's allocations.
    pub(super) fn allocates(&self) -> bool {
        match self {
            Message::Credit(cell) => cell.records().iter().any(|record| record.allocation.is_some()),
            Message::Check(_) => false,
        }
    }
}

/// A cell on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentCell {
    /// The place of the link with credit that it is for.
    pub(super) place: u32,
    /// Index of the link back on which it is.
    pub(super) leg: usize,
    pub(super) message: Message,
}
