//! The contents of an RM cell.

/// The direction of an RM cell on its VC (DIR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// From the source to the destination, like the data (FRM).
    #[default]
    Forward,
    /// Back to the source (BRM).
    Backward,
}

/// A resource-management cell (ATM TM 4.0, section 5.10.3). Rates are in bit/s of whole cells,
/// headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RmCell {
    /// Direction of the cell (DIR).
    pub direction: Direction,
    /// Current cell rate: the source's ACR when it sent the cell.
    pub ccr: u64,
    /// Explicit rate: the highest rate at which the source may send; switches on the path may lower
    /// it.
    pub er: u64,
    /// Minimum cell rate of the VC.
    pub mcr: u64,
    /// Congestion indication: the source lowers its rate.
    pub ci: bool,
    /// No increase: the source does not raise its rate.
    pub ni: bool,
    /// True if a switch or the destination generated the cell (BECN), rather than the source.
    pub bn: bool,
}

impl RmCell {
    /// Returns the cell with an explicit rate of at most `er` bit/s, rounded to the nearest.
    #[must_use]
    pub fn at_most(self, er: f64) -> RmCell {
        RmCell { er: self.er.min(whole(er)), ..self }
    }
}

/// A rate in the format of an RM cell: to the nearest bit/s; a cast from f64 saturates.
pub(super) fn whole(rate: f64) -> u64 {
    libm::round(rate) as u64
}
