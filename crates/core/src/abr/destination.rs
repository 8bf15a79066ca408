//! The ABR destination: its answers to FRM cells.

use super::cell::{Direction, RmCell};
use crate::packet::Mark;

/// The destination of a VC, or the virtual destination of a segment (ATM TM 4.0, section 5.10.5).
#[derive(Clone, Copy, Debug, Default)]
pub struct Destination {
    /// The EFCI state of the latest data cell (rule 1).
    efci: bool,
}

impl Destination {
    /// Processes a data cell that has arrived.
    pub fn data(&mut self, mark: Mark) {
        self.efci = mark.is_congested();
    }

    /// Turns an FRM cell round (rule 2): the same cell backward, with CI if the latest data cell
    /// had met congestion. The saved EFCI state is then cleared.
    pub fn turn_round(&mut self, frm: &RmCell) -> RmCell {
        let ci = frm.ci | core::mem::take(&mut self.efci);
        //= kalyanaraman1998 1
        RmCell { direction: Direction::Backward, bn: false, ci, ..*frm }
    }
}
