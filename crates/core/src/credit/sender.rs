//! Which VCs of a link may send, and how many cells?

use super::Refused;
use super::messages::{Counter, CreditCell, CreditCheck, VcIx};
use crate::units::{Span, Time};
use std::collections::VecDeque;
use thiserror::Error;

/// A cell was sent for which there was no credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("VC {} has no credit", vc.0)]
pub struct NoCredit {
    /// Its VC.
    pub vc: VcIx,
}

/// The largest allocation of a VC in cells: half of what a [`Counter`] tells apart.
pub const MOST_CELLS: u32 = (1 << 31) - 1;

/// The sender's end of a link's Credit Update Protocol.
#[derive(Clone, Debug)]
pub struct Sender {
    vcs: Vec<Vc>,
    check_every: Option<Span>,
    /// When a check of a VC is due, the earliest first: the interval is one for all. A VC is in it at most once.
    checks: VecDeque<(Time, VcIx)>,
}

#[derive(Clone, Copy, Debug)]
struct Vc {
    buf_alloc: u32,
    tx_cnt: Counter,
    /// The latest Fwd_Cnt that a record has told.
    fwd_cnt: Counter,
    /// Whether it is among `checks`.
    checked: bool,
}

impl Vc {
    /// Cells that are sent and, as far as is known, not forwarded.
    fn outstanding(&self) -> u32 {
        self.tx_cnt.since(self.fwd_cnt)
    }

    /// Equation (1).
    fn balance(&self) -> u32 {
        self.buf_alloc - self.outstanding()
    }
}

impl Sender {
    /// An end without VCs. A VC with outstanding cells is checked every `check_every`, which is above zero; `None` is for
    /// a link that loses nothing.
    pub fn new(check_every: Option<Span>) -> Result<Sender, Refused> {
        if check_every == Some(Span::ZERO) {
            return Err(Refused::NoInterval);
        }
        Ok(Sender { vcs: Vec::new(), check_every, checks: VecDeque::new() })
    }

    /// Opens the next VC, with `buf_alloc` cells of the receiver's memory: from 1 to [`MOST_CELLS`]. All its counts begin
    /// with `start`, as they do at the receiver.
    pub fn open(&mut self, buf_alloc: u32, start: Counter) -> Result<VcIx, Refused> {
        let vc = next_vc(self.vcs.len(), buf_alloc)?;
        self.vcs.push(Vc { buf_alloc, tx_cnt: start, fwd_cnt: start, checked: false });
        Ok(vc)
    }

    /// Crd_Bal: how many cells the VC may send now; none of a VC that is not open.
    pub fn balance(&self, vc: VcIx) -> u32 {
        self.vcs.get(vc.0 as usize).map_or(0, Vc::balance)
    }

    /// A cell of the VC is sent.
    ///
    /// # Errors
    ///
    /// The VC has no credit: the cell must not be sent, and is not counted.
    pub fn sent(&mut self, now: Time, vc: VcIx) -> Result<(), NoCredit> {
        let state = self.vcs.get_mut(vc.0 as usize).filter(|state| state.balance() > 0);
        let state = state.ok_or(NoCredit { vc })?;
        state.tx_cnt = state.tx_cnt.plus(1);
        if let Some(interval) = self.check_every
            && !state.checked
        {
            state.checked = true;
            self.checks.push_back((now + interval, vc));
        }
        Ok(())
    }

    /// A credit cell has come. `revived` is called for each VC that had no credit and has some now.
    ///
    /// A record that tells no more than an earlier one is passed over, as is one of a VC that is not open: credit cells
    /// may be lost, repeated, and overtake each other.
    pub fn credited(&mut self, cell: &CreditCell, mut revived: impl FnMut(VcIx)) {
        for record in cell.records() {
            let Some(vc) = self.vcs.get_mut(record.vc.0 as usize) else { continue };
            if vc.tx_cnt.since(record.fwd_cnt) >= vc.outstanding() {
                continue;
            }
            let had = vc.balance();
            vc.fwd_cnt = record.fwd_cnt;
            if had == 0 {
                revived(record.vc);
            }
        }
    }

    /// When [`take_check`](Self::take_check) is to be asked again; `Time::NEVER` when nothing is outstanding.
    pub fn next_check(&self) -> Time {
        self.checks.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// A credit_check cell that is due by `now`, if there is one. It is sent on the link behind the cells of its VC, and
    /// takes no credit.
    pub fn take_check(&mut self, now: Time) -> Option<CreditCheck> {
        while let Some((at, vc)) = self.checks.front().copied()
            && at <= now
        {
            self.checks.pop_front();
            let state = &mut self.vcs[vc.0 as usize];
            state.checked = state.outstanding() > 0;
            if let Some(interval) = self.check_every
                && state.checked
            {
                self.checks.push_back((now + interval, vc));
                return Some(CreditCheck { vc, tx_cnt: state.tx_cnt });
            }
        }
        None
    }
}

/// The number of the next VC, when its allocation can be counted.
pub(super) fn next_vc(open: usize, buf_alloc: u32) -> Result<VcIx, Refused> {
    if buf_alloc == 0 || buf_alloc > MOST_CELLS {
        return Err(Refused::BufAlloc { buf_alloc });
    }
    u32::try_from(open).map(VcIx).map_err(|_| Refused::TooManyVcs)
}
