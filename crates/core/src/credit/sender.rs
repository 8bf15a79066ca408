//! The sending end of a link with credit-based flow control: it determines how many cells each VC
//! may send.

use super::Refused;
use super::allocation::{Claim, Division};
use super::messages::{Allocation, Counter, Credit, CreditCell, CreditCheck, VcIx};
use crate::units::{Span, Time};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use thiserror::Error;

/// A cell was sent without credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("VC {} has no credit", vc.0)]
pub struct NoCredit {
    /// Its VC.
    pub vc: VcIx,
}

/// The largest allocation of a VC in cells: half of the values of a [`Counter`].
pub const MAX_CELLS: u32 = (1 << 31) - 1;

/// The sender's end of a link with credit.
#[derive(Clone, Debug)]
pub struct Sender {
    vcs: Vec<Vc>,
    check_every: Option<Span>,
    /// Times at which checks of VCs are due, earliest first: all VCs share one interval. Each VC is
    /// in it at most once.
    checks: VecDeque<(Time, VcIx)>,
}

#[derive(Clone, Copy, Debug)]
struct Vc {
    buf_alloc: u32,
    /// Number of the receiver's allocation in force.
    number: Counter,
    tx_cnt: Counter,
    /// The latest Fwd_Cnt reported by a record; with incremental credits, the sum of all records.
    fwd_cnt: Counter,
    /// True while the VC is in `checks`.
    checked: bool,
    /// True while no check has confirmed the VC's allocation to the receiver.
    unconfirmed: bool,
    /// The time since which the VC has had no credit; `NEVER` while it has some.
    no_credit_since: Time,
    /// Tx_Cnt at the sender's latest allocation.
    tx_before: Counter,
}

impl Vc {
    /// Cells sent and not known to be forwarded; below zero after credits that arrived twice.
    fn outstanding(&self) -> i64 {
        i64::from(self.tx_cnt.since(self.fwd_cnt).cast_signed())
    }

    /// Equation (1). Cells beyond an allocation that has become smaller leave no balance.
    fn balance(&self) -> u32 {
        //= kung1997 3.1
        u32::try_from(i64::from(self.buf_alloc) - self.outstanding()).unwrap_or(0)
    }

    /// Records a change between credit and no credit; `had` is the state before. Returns the new
    /// state if it changed.
    fn see_credit(&mut self, now: Time, had: bool) -> Option<bool> {
        let has = self.balance() > 0;
        if has == had {
            return None;
        }
        self.no_credit_since = if has { Time::NEVER } else { now };
        Some(has)
    }
}

impl Sender {
    /// An end without VCs. A VC with outstanding cells is checked every `check_every`, which is
    /// above zero; `None` is for a link that loses nothing.
    pub fn new(check_every: Option<Span>) -> Result<Sender, Refused> {
        if check_every == Some(Span::ZERO) {
            return Err(Refused::NoInterval);
        }
        Ok(Sender { vcs: Vec::new(), check_every, checks: VecDeque::new() })
    }

    /// Opens the next VC, with `buf_alloc` cells of the receiver's memory: from 1 to [`MAX_CELLS`].
    /// All its counts begin with `start`, as they do at the receiver.
    pub fn open(&mut self, buf_alloc: u32, start: Counter) -> Result<VcIx, Refused> {
        let vc = next_vc(self.vcs.len(), buf_alloc)?;
        self.vcs.push(Vc {
            buf_alloc,
            number: Counter::default(),
            tx_cnt: start,
            fwd_cnt: start,
            checked: false,
            unconfirmed: false,
            no_credit_since: Time::NEVER,
            tx_before: start,
        });
        Ok(vc)
    }

    /// Crd_Bal: the number of cells that the VC may send now; 0 for a VC that is not open.
    pub fn balance(&self, vc: VcIx) -> u32 {
        self.vcs.get(vc.0 as usize).map_or(0, Vc::balance)
    }

    /// Buf_Alloc of the VC, in cells; 0 for a VC that is not open.
    pub fn buf_alloc(&self, vc: VcIx) -> u32 {
        self.vcs.get(vc.0 as usize).map_or(0, |state| state.buf_alloc)
    }

    /// The time since which the VC has had no credit; `Time::NEVER` while it has some.
    pub fn no_credit_since(&self, vc: VcIx) -> Time {
        self.vcs.get(vc.0 as usize).map_or(Time::NEVER, |state| state.no_credit_since)
    }

    /// Counts a cell of the VC that is sent.
    ///
    /// # Errors
    ///
    /// The VC has no credit: the cell must not be sent, and is not counted.
    //= kung1997 3
    #[inline(always)]
    pub fn sent(&mut self, now: Time, vc: VcIx) -> Result<(), NoCredit> {
        let state = self.vcs.get_mut(vc.0 as usize).filter(|state| state.balance() > 0);
        let state = state.ok_or(NoCredit { vc })?;
        state.tx_cnt = state.tx_cnt.plus(1);
        state.see_credit(now, true);
        self.expect_check(now, vc);
        Ok(())
    }

    /// Counts a cell of the VC that is sent with or without credit, as a faulty sender does.
    pub fn sent_regardless(&mut self, now: Time, vc: VcIx) {
        if self.sent(now, vc).is_err()
            && let Some(state) = self.vcs.get_mut(vc.0 as usize)
        {
            state.tx_cnt = state.tx_cnt.plus(1);
            self.expect_check(now, vc);
        }
    }

    /// Processes a credit cell that has arrived. `changed` is called for each VC that had no credit
    /// and has some now (`true`), or had some and has none now (`false`), which only a smaller
    /// allocation causes.
    ///
    /// A record with no more information than an earlier one is ignored, as is one for a VC that is
    /// not open: credit cells may be lost, repeated or reordered. With incremental credits a
    /// repeated one counts twice.
    pub fn credited(&mut self, now: Time, cell: &CreditCell, mut changed: impl FnMut(VcIx, bool)) {
        for record in cell.records() {
            let Some(vc) = self.vcs.get_mut(record.vc.0 as usize) else { continue };
            let had = vc.balance() > 0;
            match record.credit {
                Credit::Forwarded(fwd_cnt) => {
                    //= kung1997 3.1
                    if vc.tx_cnt.since(fwd_cnt) < vc.tx_cnt.since(vc.fwd_cnt) {
                        vc.fwd_cnt = fwd_cnt;
                    }
                }
                Credit::Added(cells) => vc.fwd_cnt = vc.fwd_cnt.plus(cells),
            }
            let newer = record.allocation.filter(|new| new.number.since(vc.number).cast_signed() > 0);
            let valid = newer.filter(|new| (1..=MAX_CELLS).contains(&new.buf_alloc));
            if let Some(Allocation { number, buf_alloc }) = valid {
                (vc.number, vc.buf_alloc, vc.unconfirmed) = (number, buf_alloc, true);
            }
            if let Some(has) = vc.see_credit(now, had) {
                changed(record.vc, has);
            }
            if valid.is_some() {
                self.expect_check(now, record.vc);
            }
        }
    }

    /// Divides a pool of `cells` at the receiver among the VCs, by the cells that each has sent
    /// since the previous allocation (sender-oriented adaptation). No VC gets less than `least`
    /// cells, N2, and outstanding cells keep their places: the receiver never has more than
    /// `cells`. `changed` is called as by [`credited`](Self::credited).
    pub fn allocate(&mut self, now: Time, cells: u32, least: u32, mut changed: impl FnMut(VcIx, bool)) {
        let floor = u64::from(least) * self.vcs.len() as u64;
        let division =
            //= kung1997 3.3
            Division { shared: u64::from(cells).saturating_sub(floor), least, limit: Some(cells.into()) };
        let claim = |vc: &Vc| Claim {
            used: vc.tx_cnt.since(vc.tx_before),
            held: u32::try_from(vc.outstanding()).unwrap_or(0),
        };
        let claims: Vec<Claim> = self.vcs.iter().map(claim).collect();
        let allocations = division.allocations(&claims);
        for (number, (vc, buf_alloc)) in (0..).zip(self.vcs.iter_mut().zip(allocations)) {
            let had = vc.balance() > 0;
            (vc.buf_alloc, vc.tx_before) = (buf_alloc.min(MAX_CELLS), vc.tx_cnt);
            if let Some(has) = vc.see_credit(now, had) {
                changed(VcIx(number), has);
            }
        }
    }

    /// The time of the next call of [`take_check`](Self::take_check); `Time::NEVER` when nothing is
    /// outstanding.
    pub fn next_check(&self) -> Time {
        self.checks.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Takes a credit_check cell that is due by `now`, if there is one: for a VC with outstanding
    /// cells, or with an allocation to be confirmed to the receiver. It is sent on the link behind
    /// the cells of its VC, and takes no credit.
    pub fn take_check(&mut self, now: Time) -> Option<CreditCheck> {
        while let Some((at, vc)) = self.checks.front().copied()
            && at <= now
        {
            self.checks.pop_front();
            let state = &mut self.vcs[vc.0 as usize];
            state.checked = false;
            if state.outstanding() > 0 || state.unconfirmed {
                state.unconfirmed = false;
                //= kung1997 3.1
                let check = CreditCheck { vc, tx_cnt: state.tx_cnt, allocation: state.number };
                self.expect_check(now, vc);
                return Some(check);
            }
        }
        None
    }

    #[inline(always)]
    fn expect_check(&mut self, now: Time, vc: VcIx) {
        let state = &mut self.vcs[vc.0 as usize];
        if let Some(interval) = self.check_every
            && !state.checked
        {
            state.checked = true;
            self.checks.push_back((now + interval, vc));
        }
    }
}

/// The number of the next VC, provided that its allocation is in range.
pub(super) fn next_vc(open: usize, buf_alloc: u32) -> Result<VcIx, Refused> {
    if buf_alloc == 0 || buf_alloc > MAX_CELLS {
        return Err(Refused::BufAlloc { buf_alloc });
    }
    u32::try_from(open).map(VcIx).map_err(|_| Refused::TooManyVcs)
}
