//! What does a link's receiver tell its sender, and which cells has it room for?

use super::Refused;
use super::messages::{Counter, CreditCell, CreditCheck, CreditRecord, VcIx};
use super::sender::next_vc;
use super::sizing::check_allocation;
use std::collections::VecDeque;

/// What becomes of a cell that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Arrival {
    /// It is queued: the VC has room in its allocation.
    Stored,
    /// It must be dropped: the sender had no credit for it, or its VC is not open.
    Dropped,
}

/// The receiver's end of a link's Credit Update Protocol.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    vcs: Vec<Vc>,
    /// VCs for which a record is due, each once, in the order in which it became due.
    due: VecDeque<VcIx>,
}

#[derive(Clone, Copy, Debug)]
struct Vc {
    buf_alloc: u32,
    n2: u32,
    rx_cnt: Counter,
    fwd_cnt: Counter,
    /// The Fwd_Cnt of the latest record.
    reported: Counter,
    /// Whether it is among `due`.
    due: bool,
}

impl Vc {
    fn queued(&self) -> u32 {
        self.rx_cnt.since(self.fwd_cnt)
    }
}

impl Receiver {
    /// An end without VCs.
    pub fn new() -> Receiver {
        Receiver::default()
    }

    /// Opens the next VC, with memory for `buf_alloc` cells, as the sender has it, and a credit record for each `n2` cells
    /// that leave, 1 to `buf_alloc`. All its counts begin with `start`, as they do at the sender.
    pub fn open(&mut self, buf_alloc: u32, n2: u32, start: Counter) -> Result<VcIx, Refused> {
        let vc = next_vc(self.vcs.len(), buf_alloc)?;
        check_allocation(buf_alloc.into(), n2.into())?;
        self.vcs.push(Vc { buf_alloc, n2, rx_cnt: start, fwd_cnt: start, reported: start, due: false });
        Ok(vc)
    }

    /// Cells of the VC that are queued; none of a VC that is not open.
    pub fn queued(&self, vc: VcIx) -> u32 {
        self.vcs.get(vc.0 as usize).map_or(0, Vc::queued)
    }

    /// A cell of the VC has come. One beyond the allocation is counted as received and, at once, as gone.
    pub fn arrived(&mut self, vc: VcIx) -> Arrival {
        let Some(state) = self.vcs.get_mut(vc.0 as usize) else { return Arrival::Dropped };
        let full = state.queued() == state.buf_alloc;
        state.rx_cnt = state.rx_cnt.plus(1);
        if full {
            self.left(vc);
            return Arrival::Dropped;
        }
        Arrival::Stored
    }

    /// A cell of the VC has left its queue: it was forwarded, or dropped.
    ///
    /// # Panics
    ///
    /// None was queued.
    pub fn left(&mut self, vc: VcIx) {
        let state = &mut self.vcs[vc.0 as usize];
        assert!(state.queued() > 0, "a cell leaves the empty queue of VC {}", vc.0);
        state.fwd_cnt = state.fwd_cnt.plus(1);
        if state.fwd_cnt.since(state.reported) >= state.n2 {
            self.make_due(vc);
        }
    }

    /// A credit_check cell has come, behind the cells that it counts. What has not come of these, Tx_Cnt − Rx_Cnt, is lost
    /// and counts as gone; the return value says how many cells. A record is due in any case, in place of those that
    /// were lost.
    ///
    /// A check that no sender with this allocation could have sent is passed over.
    pub fn checked(&mut self, check: &CreditCheck) -> u32 {
        let Some(state) = self.vcs.get_mut(check.vc.0 as usize) else { return 0 };
        let lost = check.tx_cnt.since(state.rx_cnt);
        if lost > state.buf_alloc - state.queued() {
            return 0;
        }
        state.rx_cnt = check.tx_cnt;
        state.fwd_cnt = state.fwd_cnt.plus(lost);
        self.make_due(check.vc);
        lost
    }

    /// For how many VCs a record is due.
    pub fn records_due(&self) -> usize {
        self.due.len()
    }

    /// A credit cell with the records that are due, up to [`RECORDS_PER_CELL`](super::RECORDS_PER_CELL) of them and with
    /// Fwd_Cnt as it is now; `None` when none is.
    pub fn take_credit_cell(&mut self) -> Option<CreditCell> {
        let mut cell = CreditCell::default();
        while !cell.is_full()
            && let Some(vc) = self.due.pop_front()
        {
            let state = &mut self.vcs[vc.0 as usize];
            state.due = false;
            state.reported = state.fwd_cnt;
            cell.push(CreditRecord { vc, fwd_cnt: state.fwd_cnt });
        }
        (!cell.records().is_empty()).then_some(cell)
    }

    fn make_due(&mut self, vc: VcIx) {
        let state = &mut self.vcs[vc.0 as usize];
        if !state.due {
            state.due = true;
            self.due.push_back(vc);
        }
    }
}
