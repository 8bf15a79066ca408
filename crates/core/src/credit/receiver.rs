//! The receiving end of a link with credit: it admits cells, and reports to the sender.

use super::Refused;
use super::adaptation::{Adaptation, Confirmation};
use super::allocation::Claim;
use super::messages::{Allocation, Counter, Credit, CreditCell, CreditCheck, CreditRecord, VcIx};
use super::params::Protocol;
use super::sender::{MAX_CELLS, next_vc};
use super::sizing::check_allocation;
use crate::units::Time;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The fate of an arrived cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Arrival {
    /// It is queued: the VC has room in its allocation.
    Stored,
    /// It must be dropped: the sender had no credit for it, its VC is not open, or the pool is
    /// full.
    Dropped,
}

/// The receiver's end of a link with credit.
#[derive(Clone, Debug)]
pub struct Receiver {
    protocol: Protocol,
    /// Cells that all VCs together may have in memory; `None` limits them by their allocations
    /// alone.
    pool: Option<u32>,
    vcs: Vec<Vc>,
    /// TQ: cells of all VCs that are queued.
    queued: u64,
    /// VCs for which a record is due, each once, in the order in which it became due.
    due: VecDeque<VcIx>,
    /// Number of times that each record is repeated.
    repeats: u32,
    /// VCs whose latest record is to be repeated, each once, with the number of repeats left.
    repeating: VecDeque<(VcIx, u32)>,
}

#[derive(Clone, Debug)]
struct Vc {
    buf_alloc: u32,
    /// The number of its latest allocation; 0 for the one with which it was opened.
    number: Counter,
    /// Larger allocations that the sender may still keep to, the largest and oldest first.
    superseded: VecDeque<Superseded>,
    n2: u32,
    rx_cnt: Counter,
    fwd_cnt: Counter,
    /// The Fwd_Cnt of the latest record.
    reported: Counter,
    /// Fwd_Cnt at the latest allocation.
    fwd_before: Counter,
    /// True while the VC is in the queue `due`.
    due: bool,
}

/// An allocation that was larger than one after it.
#[derive(Clone, Copy, Debug)]
struct Superseded {
    buf_alloc: u32,
    /// Number of the smaller allocation.
    by: Counter,
    /// Time from which the sender keeps to the smaller allocation or a later one; `NEVER` where
    /// only a check confirms it.
    until: Time,
}

impl Vc {
    fn queued(&self) -> u32 {
        self.rx_cnt.since(self.fwd_cnt)
    }

    /// Returns the allocation that the sender may keep to: a smaller one counts once it is in
    /// force.
    fn limit(&mut self, now: Time) -> u32 {
        while let Some(first) = self.superseded.front() {
            if first.until > now {
                return first.buf_alloc;
            }
            self.superseded.pop_front();
        }
        self.buf_alloc
    }

    /// Makes a new allocation. If it is smaller, the sender keeps to it from `holds_at`.
    fn allocate(&mut self, buf_alloc: u32, holds_at: Time) {
        self.number = self.number.plus(1);
        if buf_alloc < self.buf_alloc {
            let superseded = Superseded { buf_alloc: self.buf_alloc, by: self.number, until: holds_at };
            self.superseded.push_back(superseded);
        }
        while self.superseded.back().is_some_and(|last| last.buf_alloc <= buf_alloc) {
            self.superseded.pop_back();
        }
        self.buf_alloc = buf_alloc;
    }

    /// Records that the sender keeps to the allocation with this number.
    fn confirm(&mut self, number: Counter) {
        while self.superseded.front().is_some_and(|first| number.since(first.by).cast_signed() >= 0) {
            self.superseded.pop_front();
        }
    }
}

impl Receiver {
    /// An end without VCs. A `pool` limits the cells that all VCs together have in memory.
    pub fn new(protocol: Protocol, pool: Option<u32>) -> Receiver {
        Receiver {
            protocol,
            pool,
            vcs: Vec::new(),
            queued: 0,
            due: VecDeque::new(),
            repeats: 0,
            repeating: VecDeque::new(),
        }
    }

    /// Repeats each record `repeats` times, with the count of that moment: in places of credit
    /// cells that no due record takes, and in [credit cells of their own](Self::take_repeat_cell).
    /// With incremental credits, where a record that comes twice counts twice, none is repeated.
    #[must_use]
    pub fn repeating(self, repeats: u32) -> Receiver {
        let repeats = if self.protocol == Protocol::Cup { repeats } else { 0 };
        Receiver { repeats, ..self }
    }

    /// Opens the next VC, with memory for `buf_alloc` cells, as the sender has it (where the sender
    /// allocates: for the most that it may allocate), and a credit record for each `n2` cells that
    /// leave, 1 to `buf_alloc`. All its counts begin with `start`, as they do at the sender.
    pub fn open(&mut self, buf_alloc: u32, n2: u32, start: Counter) -> Result<VcIx, Refused> {
        let vc = next_vc(self.vcs.len(), buf_alloc)?;
        check_allocation(buf_alloc.into(), n2.into())?;
        self.vcs.push(Vc {
            buf_alloc,
            number: Counter::default(),
            superseded: VecDeque::new(),
            n2,
            rx_cnt: start,
            fwd_cnt: start,
            reported: start,
            fwd_before: start,
            due: false,
        });
        Ok(vc)
    }

    /// Cells of the VC that are queued; none of a VC that is not open.
    pub fn queued(&self, vc: VcIx) -> u32 {
        self.vcs.get(vc.0 as usize).map_or(0, Vc::queued)
    }

    /// TQ: cells of all VCs that are queued.
    pub fn queued_in_all(&self) -> u64 {
        self.queued
    }

    /// The latest Buf_Alloc of the VC and its N2, in cells; zeros of a VC that is not open.
    pub fn allocated(&self, vc: VcIx) -> (u32, u32) {
        self.vcs.get(vc.0 as usize).map_or((0, 0), |state| (state.buf_alloc, state.n2))
    }

    /// Processes a cell of the VC that has arrived. A cell beyond the allocation is counted as
    /// received and, at once, as gone: a smaller allocation is policed from when it
    /// [holds](Confirmation).
    #[inline(always)]
    pub fn arrived(&mut self, now: Time, vc: VcIx) -> Arrival {
        let is_full = self.pool.is_some_and(|pool| self.queued >= u64::from(pool));
        self.arrived_at_pool(now, vc, is_full)
    }

    /// Processes a cell of the VC that has arrived; `is_full` is true if its pool has no place.
    #[inline(always)]
    pub(super) fn arrived_at_pool(&mut self, now: Time, vc: VcIx, is_full: bool) -> Arrival {
        let Some(state) = self.vcs.get_mut(vc.0 as usize) else { return Arrival::Dropped };
        //= kung1997 3.5.2
        let drops = is_full || state.queued() >= state.limit(now);
        state.rx_cnt = state.rx_cnt.plus(1);
        self.queued += 1;
        if drops {
            // It is not forwarded, and earns the VC no share of the pool.
            state.fwd_before = state.fwd_before.plus(1);
            self.left(vc);
            return Arrival::Dropped;
        }
        Arrival::Stored
    }

    /// Counts a cell of the VC that has left its queue: it was forwarded, or dropped.
    ///
    /// # Panics
    ///
    /// None was queued.
    #[inline(always)]
    pub fn left(&mut self, vc: VcIx) {
        let state = &mut self.vcs[vc.0 as usize];
        assert!(state.queued() > 0, "a cell leaves the empty queue of VC {}", vc.0);
        state.fwd_cnt = state.fwd_cnt.plus(1);
        self.queued -= 1;
        //= kung1997 3.1
        if state.fwd_cnt.since(state.reported) >= state.n2 {
            self.make_due(vc);
        }
    }

    /// Processes a credit_check cell, which comes behind the cells that it counts. Cells that have
    /// not come, Tx_Cnt − Rx_Cnt, are lost and count as gone; their number is returned. A record is
    /// due in any case, to replace lost ones.
    ///
    /// A check that no sender with this allocation could have sent is ignored.
    pub fn checked(&mut self, now: Time, check: &CreditCheck) -> u32 {
        let Some(state) = self.vcs.get_mut(check.vc.0 as usize) else { return 0 };
        let lost = check.tx_cnt.since(state.rx_cnt);
        if lost > state.limit(now).saturating_sub(state.queued()) {
            return 0;
        }
        state.confirm(check.allocation);
        state.rx_cnt = check.tx_cnt;
        //= kung1997 3.1
        state.fwd_cnt = state.fwd_cnt.plus(lost);
        self.make_due(check.vc);
        lost
    }

    /// Divides the pool among the VCs by the cells that each has forwarded since the previous
    /// allocation. Makes a record due for each VC whose allocation changes, or whose sender has not
    /// [confirmed](Confirmation) a smaller one:
    ///
    /// `Buf_Alloc = (M/2 − TQ − N)·(VU/TU)` (equation 3), `N2 = Buf_Alloc/4` (equation 4)
    ///
    /// It is called at an interval of at least the largest RTT. Then the receiver never has more
    /// than M cells: the cells that may come after an allocation are bounded by it and by the
    /// previous one, each of which was at most M/2 − TQ.
    pub fn allocate(&mut self, now: Time, adaptation: &Adaptation) {
        let vcs = (0..self.vcs.len() as u32).map(VcIx);
        let claims: Vec<Claim> = vcs.clone().map(|vc| self.claim(now, vc, adaptation.confirmation)).collect();
        for (vc, buf_alloc) in vcs.zip(adaptation.allocations(self.queued, &claims)) {
            self.give(now, vc, buf_alloc, adaptation);
        }
    }

    /// Returns the claim of a VC in an allocation that the pool's `confirmation` holds for.
    pub(super) fn claim(&mut self, now: Time, vc: VcIx, confirmation: Confirmation) -> Claim {
        let vc = &mut self.vcs[vc.0 as usize];
        Claim {
            used: vc.fwd_cnt.since(vc.fwd_before),
            held: match confirmation {
                Confirmation::After(_) => 0,
                Confirmation::Check => vc.limit(now).max(vc.queued()),
            },
        }
    }

    /// Gives a VC a new allocation. Its N2 and the evidence for a smaller one are those of the
    /// adaptation.
    pub(super) fn give(&mut self, now: Time, vc: VcIx, buf_alloc: u32, adaptation: &Adaptation) {
        let Adaptation { n2, confirmation, .. } = *adaptation;
        let state = &mut self.vcs[vc.0 as usize];
        let buf_alloc = buf_alloc.min(MAX_CELLS);
        state.fwd_before = state.fwd_cnt;
        if buf_alloc == state.limit(now) && state.superseded.is_empty() {
            return;
        }
        let holds_at = match confirmation {
            Confirmation::After(delay) => now + delay,
            Confirmation::Check => Time::NEVER,
        };
        state.allocate(buf_alloc, holds_at);
        //= kung1997 3.4
        state.n2 = n2.unwrap_or(buf_alloc / 4).clamp(1, buf_alloc);
        self.make_due(vc);
    }

    /// Number of VCs for which a record is due.
    pub fn records_due(&self) -> usize {
        self.due.len()
    }

    /// Returns true if records are to be repeated.
    pub fn repeats_wait(&self) -> bool {
        !self.repeating.is_empty()
    }

    /// Takes a credit cell with the records that are due, up to
    /// [`RECORDS_PER_CELL`](super::RECORDS_PER_CELL) of them and with the counts as they are now;
    /// `None` when none is. Repeated records take the places that are left.
    pub fn take_credit_cell(&mut self) -> Option<CreditCell> {
        let mut cell = CreditCell::default();
        while !cell.is_full()
            && let Some(vc) = self.due.pop_front()
        {
            let record = self.record(vc);
            let state = &mut self.vcs[vc.0 as usize];
            state.due = false;
            state.reported = state.fwd_cnt;
            cell.push(record);
        }
        if cell.records().is_empty() {
            return None;
        }
        let fresh = cell.records().len();
        self.fill_with_repeats(&mut cell);
        if self.repeats > 0 {
            let fresh = &cell.records()[..fresh];
            self.repeating.retain(|(vc, _)| fresh.iter().all(|record| record.vc != *vc));
            self.repeating.extend(fresh.iter().map(|record| (record.vc, self.repeats)));
        }
        Some(cell)
    }

    /// Takes a credit cell of repeated records alone, for a link back that has nothing else to
    /// send; `None` when no record is to be repeated.
    pub fn take_repeat_cell(&mut self) -> Option<CreditCell> {
        let mut cell = CreditCell::default();
        self.fill_with_repeats(&mut cell);
        (!cell.records().is_empty()).then_some(cell)
    }

    /// Fills the places left in a cell with records to be repeated, one for each VC that has none
    /// there.
    fn fill_with_repeats(&mut self, cell: &mut CreditCell) {
        for _ in 0..self.repeating.len() {
            if cell.is_full() {
                return;
            }
            let Some((vc, times)) = self.repeating.pop_front() else { return };
            let is_there = cell.records().iter().any(|record| record.vc == vc);
            if !is_there {
                cell.push(self.record(vc));
            }
            let left = if is_there { times } else { times - 1 };
            if left > 0 {
                self.repeating.push_back((vc, left));
            }
        }
    }

    /// The record of a VC with the counts as they are now.
    fn record(&self, vc: VcIx) -> CreditRecord {
        let state = &self.vcs[vc.0 as usize];
        let credit = match self.protocol {
            Protocol::Cup => Credit::Forwarded(state.fwd_cnt),
            //= kung1997 3.1
            Protocol::Incremental => Credit::Added(state.fwd_cnt.since(state.reported)),
        };
        let (number, buf_alloc) = (state.number, state.buf_alloc);
        let allocation = (number != Counter::default()).then_some(Allocation { number, buf_alloc });
        CreditRecord { vc, credit, allocation }
    }

    #[inline(never)]
    fn make_due(&mut self, vc: VcIx) {
        let state = &mut self.vcs[vc.0 as usize];
        if !state.due {
            state.due = true;
            self.due.push_back(vc);
        }
    }
}
