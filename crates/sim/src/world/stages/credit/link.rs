//! One link with credit: both of its ends, and their effects on the ports on either side.

use super::figures::{Figures, StallReport, VcFigures};
use super::output::Output;
use crate::probe::Subject;
use crate::stage::{Gauges, StageCx};
use tidegate_core::credit::messages::{Counter, CreditCell, CreditCheck, VcIx};
use tidegate_core::credit::params::{Conduct, CreditPlan, CreditTerms, Per};
use tidegate_core::credit::stall::Stall;
use tidegate_core::credit::{Arrival, RECORDS_PER_CELL, Receiver, Refused, Sender};
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Mark;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::Time;

/// A link with credit.
pub(super) struct CreditLink {
    pub(super) plan: CreditPlan,
    /// Its index in the network; for a virtual link, that of its first link.
    pub(super) link: u32,
    /// Links that its credit cells pass, starting at the receiver: one, unless it is a virtual
    /// link.
    pub(super) back: Box<[u32]>,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) vcs: Vec<LinkVc>,
    /// True if the packet in service at the port already counts as sent.
    counted: bool,
    /// Time of the next allocation; `NEVER` with static allocation.
    allocation_at: Time,
    /// True while a check waits for the link.
    pub(super) check_due: bool,
    /// The wake-up time requested last.
    wake_at: Time,
    /// Duplication of credit cells; `None` if none arrives twice.
    duplication: Option<Duplication>,
    pub(super) figures: Figures,
}

/// The duplication of credit cells on the way back.
#[derive(Debug)]
struct Duplication {
    /// The probability that a cell arrives twice.
    probability: f64,
    rng: Rng,
    /// The cell whose copy arrives behind the next one.
    copy: Option<CreditCell>,
}

/// State of a VC besides the counts of both ends.
#[derive(Clone, Debug)]
pub(super) struct LinkVc {
    /// Hops by which its flows' packets leave over the link.
    pub(super) hops: Vec<u32>,
    /// Its flow; the first, where there are several.
    pub(super) flow: u32,
    /// Number of its packets in switches between the ends of a virtual link.
    pub(super) between: u32,
    /// Pool of the output port by which its packets leave the receiver, if that has one.
    pub(super) output: Option<u32>,
    /// Time at which its last packet left the receiver, or a switch between the ends.
    pub(super) empty_since: Time,
    pub(super) figures: VcFigures,
}

impl CreditLink {
    /// Creates the link; the random stream is for the duplication of its credit cells.
    pub(super) fn new(
        plan: CreditPlan,
        link: u32,
        back: Box<[u32]>,
        rng: Rng,
    ) -> Result<CreditLink, Refused> {
        let (pool, interval) = match plan.terms {
            CreditTerms::Static { .. } | CreditTerms::Output { .. } => (None, None),
            CreditTerms::Sender { pool, interval, .. } => (Some(pool), Some(interval)),
            CreditTerms::Receiver { adaptation, interval } => (Some(adaptation.pool), Some(interval)),
        };
        let mut made = CreditLink {
            plan,
            link,
            back,
            sender: Sender::new(plan.check)?,
            receiver: Receiver::new(plan.protocol, pool).repeating(plan.repeats),
            vcs: Vec::new(),
            counted: false,
            allocation_at: interval.map_or(Time::NEVER, |interval| Time::ORIGIN + interval),
            check_due: false,
            wake_at: Time::NEVER,
            duplication: (plan.duplicate > 0.0).then_some(Duplication {
                probability: plan.duplicate,
                rng,
                copy: None,
            }),
            figures: Figures::default(),
        };
        made.wake_at = made.allocation_at;
        Ok(made)
    }

    /// Returns true if switches without credit are between its ends.
    #[inline(always)]
    pub(super) fn is_virtual(&self) -> bool {
        self.back.len() > 1
    }

    /// Returns true if it has tasks at set times: allocations, checks.
    #[inline(always)]
    pub(super) fn is_woken(&self) -> bool {
        self.plan.check.is_some() || self.allocation_at < Time::NEVER
    }

    /// Returns its first wake-up time.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        (self.wake_at < Time::NEVER).then_some(self.wake_at)
    }

    /// Opens a VC for a flow whose packets leave by `hop`: a new one, or the one of all flows.
    pub(super) fn open(&mut self, flow: u32, hop: u32) -> Result<VcIx, Refused> {
        if self.plan.per == Per::Link
            && let Some(vc) = self.vcs.first_mut()
        {
            vc.hops.push(hop);
            return Ok(VcIx(0));
        }
        let start = Counter::default();
        let vc = match self.plan.terms {
            CreditTerms::Static { buf_alloc, n2 } => {
                self.receiver.open(buf_alloc, n2, start)?;
                self.sender.open(buf_alloc, start)?
            }
            CreditTerms::Sender { pool, n2, .. } => {
                self.receiver.open(pool, n2, start)?;
                self.sender.open(n2, start)?
            }
            CreditTerms::Receiver { .. } | CreditTerms::Output { .. } => {
                self.receiver.open(1, 1, start)?;
                self.sender.open(1, start)?
            }
        };
        let (empty_since, figures) = (Time::ORIGIN, VcFigures::default());
        self.vcs.push(LinkVc { hops: vec![hop], flow, between: 0, output: None, empty_since, figures });
        Ok(vc)
    }

    /// Counts a packet of a VC that has come to the receiver, and to the pool of its output port.
    #[inline(always)]
    pub(super) fn arrived(&mut self, cx: &mut StageCx, vc: VcIx, output: Option<&mut Output>) -> Arrival {
        let arrival = match output {
            None => self.receiver.arrived(cx.now(), vc),
            Some(output) => output.arrived(cx.now(), &mut self.receiver, vc),
        };
        match arrival {
            Arrival::Stored => {
                let figures = &mut self.vcs[vc.0 as usize].figures;
                figures.queue_max = figures.queue_max.max(self.receiver.queued(vc));
                self.figures.queue_max = self.figures.queue_max.max(self.receiver.queued_in_all());
            }
            Arrival::Dropped => {
                self.figures.dropped += 1;
                self.announce(cx);
            }
        }
        arrival
    }

    /// Counts a packet of a VC that has left the receiver, and the pool of its output port.
    #[inline(always)]
    pub(super) fn left(&mut self, cx: &mut StageCx, vc: VcIx, output: Option<&mut Output>) {
        match output {
            None => self.receiver.left(vc),
            Some(output) => output.pool.left(&mut self.receiver, vc),
        }
        if self.receiver.queued(vc) == 0 {
            self.vcs[vc.0 as usize].empty_since = cx.now();
        }
        self.announce(cx);
    }

    /// Counts a packet of a VC that a switch between the ends of a virtual link has passed on, or
    /// dropped.
    pub(super) fn passed_on(&mut self, now: Time, vc: VcIx) {
        let vc = &mut self.vcs[vc.0 as usize];
        debug_assert!(vc.between > 0, "a switch passed on a packet that had not come to it");
        vc.between = vc.between.saturating_sub(1);
        vc.empty_since = now;
    }

    /// Handles a check that has come to the receiver.
    pub(super) fn checked(&mut self, cx: &mut StageCx, check: &CreditCheck) {
        self.figures.found_lost += u64::from(self.receiver.checked(cx.now(), check));
        self.announce(cx);
    }

    /// Sends a check on over a switch without credit, as a packet of its flow behind those that it
    /// counts.
    pub(super) fn send_check(&self, cx: &mut StageCx, check: CreditCheck) {
        let LinkVc { flow, hops, .. } = &self.vcs[check.vc.0 as usize];
        cx.send(*flow, hops[0] + 1, self.plan.credit_cell, Mark::NONE, Payload::Check(check));
    }

    /// Asks the link back to carry a credit cell, if one is due.
    pub(super) fn announce(&self, cx: &mut StageCx) {
        if self.receiver.records_due() > 0 {
            cx.request_link(self.back[0]);
        }
    }

    /// Counts a packet of a VC whose last bit has left the sender.
    #[inline(always)]
    pub(super) fn sent(&mut self, cx: &mut StageCx, vc: VcIx) {
        if core::mem::take(&mut self.counted) {
            return;
        }
        self.count_sent(cx, vc);
    }

    #[inline(always)]
    fn count_sent(&mut self, cx: &mut StageCx, vc: VcIx) {
        if self.plan.sender == Conduct::Ignores {
            return self.sender.sent_regardless(cx.now(), vc);
        }
        let sent = self.sender.sent(cx.now(), vc);
        debug_assert!(sent.is_ok(), "a packet was started without credit");
        if self.sender.no_credit_since(vc) != Time::NEVER {
            self.take_part(cx, vc, false);
        }
    }

    /// Counts the packet in service, which is of this VC, as sent: an allocation cannot call it
    /// back.
    pub(super) fn count_in_service(&mut self, cx: &mut StageCx, vc: VcIx) {
        if !self.counted {
            self.count_sent(cx, vc);
            self.counted = true;
        }
    }

    fn take_part(&self, cx: &mut StageCx, vc: VcIx, has_credit: bool) {
        if self.plan.sender == Conduct::Ignores {
            return;
        }
        let how = if has_credit { Participation::Active } else { Participation::Absent };
        for hop in &self.vcs[vc.0 as usize].hops {
            cx.take_part(*hop, how);
        }
    }

    /// Handles a credit cell that has arrived at the sender, followed by a copy of the previous one
    /// if that is duplicated.
    pub(super) fn credited(&mut self, cx: &mut StageCx, cell: &CreditCell) {
        self.take_credit(cx, cell);
        let Some(Duplication { probability, rng, copy }) = &mut self.duplication else { return };
        let next = rng.chance(*probability).then_some(*cell);
        if let Some(copy) = core::mem::replace(copy, next) {
            self.figures.duplicated_cells += 1;
            self.take_credit(cx, &copy);
        }
    }

    fn take_credit(&mut self, cx: &mut StageCx, cell: &CreditCell) {
        let records = cell.records();
        let mut since = [Time::NEVER; RECORDS_PER_CELL];
        for (since, record) in since.iter_mut().zip(records) {
            *since = self.sender.no_credit_since(record.vc);
        }
        self.sender.credited(cx.now(), cell, |_, _| ());
        for (since, record) in since.into_iter().zip(records) {
            self.see_credit(cx, record.vc, since);
        }
    }

    /// Acts on the present credit of a VC that had none since `since`; `NEVER` if it had some.
    fn see_credit(&mut self, cx: &mut StageCx, vc: VcIx, since: Time) {
        let (had, has) = (since == Time::NEVER, self.sender.balance(vc) > 0);
        if had == has {
            return;
        }
        if has {
            let now = cx.now();
            if let Some(stall) = self.stall(vc, since, now)
                && self.vcs[vc.0 as usize].hops.iter().any(|hop| cx.waits_at(*hop))
            {
                let ended = self.stall_report(stall, Some(now));
                self.figures.stalls.push(ended);
            }
            self.vcs[vc.0 as usize].figures.ended_without_credit(now, since);
        }
        self.take_part(cx, vc, has);
    }

    /// The flow of a VC; `None` where one VC carries all flows.
    pub(super) fn flow_of(&self, vc: VcIx) -> Option<u32> {
        (self.plan.per == Per::Flow).then(|| self.vcs[vc.0 as usize].flow)
    }

    /// The report of a stall that ended at `until`, or has not ended.
    pub(super) fn stall_report(&self, stall: Stall, until: Option<Time>) -> StallReport {
        StallReport { link: self.link, flow: self.flow_of(stall.vc), stall, until }
    }

    /// Returns the stall of a VC that has had no credit since `no_credit_since`, if it is one.
    pub(super) fn stall(&self, vc: VcIx, no_credit_since: Time, now: Time) -> Option<Stall> {
        if self.plan.sender == Conduct::Ignores {
            return None;
        }
        let LinkVc { between, empty_since, .. } = self.vcs[vc.0 as usize];
        let is_empty = self.receiver.queued(vc) == 0 && between == 0;
        let empty_since = if is_empty { empty_since } else { Time::NEVER };
        Stall::found(vc, no_credit_since, empty_since, now, self.plan.rtt)
    }

    /// Returns true if the sender is about to make an allocation.
    pub(super) fn sender_allocates(&self, now: Time) -> bool {
        self.allocation_at <= now && matches!(self.plan.terms, CreditTerms::Sender { .. })
    }

    /// Does the allocation or the check that is due.
    pub(super) fn wake(&mut self, cx: &mut StageCx) {
        let now = cx.now();
        if self.allocation_at <= now {
            self.allocate(cx);
        }
        if self.sender.next_check() <= now {
            self.check_due = true;
            cx.request_link(self.link);
        }
    }

    fn allocate(&mut self, cx: &mut StageCx) {
        let now = cx.now();
        match self.plan.terms {
            CreditTerms::Static { .. } | CreditTerms::Output { .. } => {}
            CreditTerms::Sender { pool, n2, interval } => {
                let since = |vc| self.sender.no_credit_since(VcIx(vc));
                let since: Vec<Time> = (0..self.vcs.len() as u32).map(since).collect();
                self.sender.allocate(now, pool, n2, |_, _| ());
                for (vc, since) in (0..).map(VcIx).zip(since) {
                    self.see_credit(cx, vc, since);
                }
                self.allocation_at = now + interval;
            }
            CreditTerms::Receiver { adaptation, interval } => {
                self.receiver.allocate(now, &adaptation);
                self.announce(cx);
                self.allocation_at = now + interval;
            }
        }
    }

    /// Takes a check that was due and waits for the link.
    pub(super) fn take_check(&mut self, now: Time) -> Option<CreditCheck> {
        if !self.check_due {
            return None;
        }
        let check = self.sender.take_check(now);
        self.check_due = self.sender.next_check() <= now;
        check
    }

    /// Returns the previous and the new wake-up time, if they differ.
    pub(super) fn new_wake(&mut self) -> Option<(Time, Time)> {
        // A check that is due waits for the link, which fetches it.
        let check_at = if self.check_due { Time::NEVER } else { self.sender.next_check() };
        let at = self.allocation_at.min(check_at);
        let before = core::mem::replace(&mut self.wake_at, at);
        (before != at).then_some((before, at))
    }

    pub(super) fn restart_counts(&mut self, now: Time) {
        self.figures.restart_counts(self.receiver.queued_in_all());
        for (ix, vc) in (0..).zip(&mut self.vcs) {
            vc.figures.restart_counts(now, self.receiver.queued(VcIx(ix)));
        }
    }

    pub(super) fn gauges(&self, gauges: &mut Gauges<'_>) {
        gauges.show_for(Subject::Link(self.link), "pool", self.receiver.queued_in_all() as f64);
        for (ix, vc) in (0..).zip(&self.vcs) {
            let subject = match self.plan.per {
                Per::Flow => Subject::Vc { link: self.link, flow: vc.flow },
                Per::Link => Subject::Link(self.link),
            };
            let vc = VcIx(ix);
            gauges.show_for(subject, "vc_queue", f64::from(self.receiver.queued(vc)));
            gauges.show_for(subject, "buf_alloc", f64::from(self.sender.buf_alloc(vc)));
            gauges.show_for(subject, "credit_balance", f64::from(self.sender.balance(vc)));
        }
    }
}

impl AsMut<Receiver> for CreditLink {
    fn as_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
}
