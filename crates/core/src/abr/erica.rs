//! ERICA, explicit rate indication for congestion avoidance (Kalyanaraman et al. 1998, section 3;
//! in full Kalyanaraman, Jain, Fahmy, Goyal, Vandalore, The ERICA switch algorithm for ABR traffic
//! management in ATM networks, IEEE/ACM Transactions on Networking 8 (2000)).
//!
//! # Model
//!
//! In every averaging interval the port measures its input rate, the rate of the traffic that is
//! served before the ABR class, and which VCs were active. At its end
//!
//! `target = utilisation · link − CBR and VBR`, `overload = input / target`,
//! `VA_fairness = target / active VCs`,
//!
//! and until the end of the next one a VC's allocation is `VAL = max(VA_fairness, VA_efficiency)`,
//! where `VA_efficiency = current rate / overload`. A VC is given at most one new allocation in an
//! interval.
//!
//! # Choices where the sources are silent
//!
//! - Until the first interval is over, allocations are without limit.
//! - An interval without input has an overload of zero: VA_efficiency is then without limit for a
//!   VC that has declared a rate.
//! - There is at least one active VC.
//! - With `queue_delay` the target is f(T) · (link − CBR and VBR), T the time that the queue takes
//!   at that rate: f is 1 up to `queue_delay`, and then its hyperbola with a = 1.15, at least 0.5
//!   (b = 1); the queue is the one that the last answer of the interval met.
//! - With `average_overload`, input rate and target are averaged separately, and the overload is
//!   their ratio.
//! - With `fairness = "mcr-plus"` the formulas of general weighted fairness apply (Vandalore,
//!   Fahmy, Jain, Goyal, Goyal, A definition of general weighted fairness and its support in
//!   explicit rate switch algorithms, ICNP 1998) with equal weights: the MCR of each active VC is
//!   taken from the target rate before the rest is divided, and from a VC's rate before that is
//!   divided by the overload. Without it, MCR has no effect, and sources keep at least theirs.
//! - An interval without a call at its end is closed late, with the length that it should have had.
//!   After 100 intervals without a cell, further empty ones change nothing.

use super::cell::RmCell;
use super::control::{Feedback, PortTerms, RateControl, VcIx, share_for_delay};
use crate::contract::Refused;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words};
use crate::stats::{Count, wrapping_count};
use crate::units::{Span, Time};
use alloc::format;
use alloc::vec::Vec;

words! {
    /// Shares at which ERICA aims (ATM TM 4.0, appendix I.3).
    pub enum Fairness {
        /// Equal shares of the target rate.
        MaxMin = "max-min",
        /// The MCR of each VC, and equal shares of the rest.
        McrPlus = "mcr-plus",
    }
}

parameters! {
    /// Parameters of ERICA.
    #[derive(Copy)]
    pub struct EricaParams {
        /// Target utilisation: share of the link for CBR, VBR and ABR together, above 0
        utilisation: f64 = 0.9,
        /// Averaging interval, above zero
        interval: Span = Span::from_millis(1),
        /// Cells of the ABR class after which the interval ends early; without it, none
        cells: Option<u32> as Integer(1, 100_000_000),
        /// Overload minus 1 up to which VCs also get the greatest allocation of the previous
        /// interval (δ of the fairness boost); without it, they do not
        fairness_boost: Option<f64>,
        /// Target of the queueing delay, above zero: the target rate then depends on the length of
        /// the queue (ERICA+) instead of `utilisation`; without it, it does not
        queue_delay: Option<Span>,
        /// Contribution of a VC to the number of active VCs in the first interval without a cell of
        /// it, decaying by the same factor afterwards, below 1; without it, 0
        average_active: Option<f64>,
        /// Weight of an interval in the averages of input rate and target rate, above 0; without
        /// it, 1
        average_overload: Option<f64>,
        /// Shares of the target rate: equal ones, or the MCR of each VC and an equal share of the
        /// rest
        fairness: Fairness = Fairness::MaxMin,
    }
}

impl PolicyParams for EricaParams {
    type Policy = Erica;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "erica",
        title: "ERICA",
        role: Role::RateControl,
        help: "Measures load and active VCs over intervals, and allocates to each VC the greater of an \
               equal share of the target rate and its own rate divided by the overload.",
        source: "Kalyanaraman et al. 1998, section 3; Kalyanaraman et al. 2000 (the enhancements)",
        params: EricaParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Erica, Refused> {
        Ok(Erica::new(*self))
    }

    fn example() -> EricaParams {
        EricaParams {
            utilisation: 0.95,
            interval: Span::from_millis(5),
            cells: Some(100),
            fairness_boost: Some(0.1),
            queue_delay: Some(Span::from_micros(1500)),
            average_active: Some(0.5),
            average_overload: Some(0.25),
            fairness: Fairness::McrPlus,
        }
    }

    fn target_utilisation(&self) -> Option<f64> {
        // With a target of the queueing delay, all of the link is given away until the queue is
        // that long.
        Some(if self.queue_delay.is_some() { 1.0 } else { self.utilisation })
    }

    fn check(&self) -> Result<(), Fault> {
        let zero = |key, what| Err(Fault::at(key, format!("`{key}` is zero: {what}")));
        if self.utilisation == 0.0 {
            return zero("utilisation", "nothing would be allocated");
        }
        if self.interval == Span::ZERO {
            return zero("interval", "nothing could be measured");
        }
        if self.queue_delay == Some(Span::ZERO) {
            return zero("queue_delay", "leave it out to aim at none");
        }
        if self.average_overload == Some(0.0) {
            return zero("average_overload", "nothing measured would count");
        }
        if self.average_active == Some(1.0) {
            return Err(Fault::at("average_active", "`average_active` is 1: a VC would count for ever"));
        }
        Ok(())
    }
}

/// Intervals without a cell after which another one changes nothing.
const FORGOTTEN: u64 = 100;

/// ERICA, as [`EricaParams`] describes it.
#[derive(Clone, Debug)]
pub struct Erica {
    params: EricaParams,
    /// In bit/s.
    link: f64,
    measures: bool,
    interval: Interval,
    vcs: Vec<Vc>,
    load: Load,
    /// Bytes in the class queue at the last answer.
    queue: u64,
}

/// Counts of an averaging interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    began: Time,
    /// From 1; no VC has been given an allocation in interval 0.
    number: u64,
    /// Bytes of the ABR class, and of higher priority.
    bytes: u64,
    above: u64,
    cells: u32,
    /// Greatest allocation above a minimum in this interval, and in the previous one.
    greatest: f64,
    greatest_before: f64,
}

/// Load measured in the last interval; rates in bit/s.
#[derive(Clone, Copy, Debug)]
struct Load {
    input: f64,
    target: f64,
    active: f64,
    /// Sum of the minima of active VCs.
    minima: f64,
}

#[derive(Clone, Copy, Debug)]
struct Vc {
    /// Current rate, declared or measured.
    rate: f64,
    /// Part of the target rate that is not shared with other VCs.
    minimum: f64,
    /// Bytes in this interval, where the rate is measured.
    bytes: u64,
    /// True if a cell was seen in this interval.
    seen: bool,
    /// Contribution to the number of active VCs.
    activity: f64,
    allocated: f64,
    /// Interval of the latest allocation.
    allocated_in: u64,
}

impl Erica {
    fn new(params: EricaParams) -> Erica {
        let interval = Interval {
            began: Time::ORIGIN,
            number: 1,
            bytes: 0,
            above: 0,
            cells: 0,
            greatest: 0.0,
            greatest_before: 0.0,
        };
        let load = Load { input: 0.0, target: f64::INFINITY, active: 1.0, minima: 0.0 };
        Erica { params, link: 0.0, measures: false, interval, vcs: Vec::new(), load, queue: 0 }
    }

    /// Ends the intervals that are over.
    #[inline(always)]
    fn pass(&mut self, now: Time) {
        if now.since(self.interval.began) >= self.params.interval {
            self.end_all(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_all(&mut self, now: Time) {
        let length = self.params.interval;
        for _ in 0..FORGOTTEN {
            if now.since(self.interval.began) < length {
                return;
            }
            self.end(self.interval.began + length);
        }
        let whole = now.since(self.interval.began).ticks() / length.ticks();
        self.interval.began += Span::from_ticks(whole * length.ticks());
    }

    /// Ends the interval and begins the next one.
    fn end(&mut self, at: Time) {
        let seconds = at.since(self.interval.began).as_secs_f64();
        let rate = |bytes: u64| bytes as f64 * 8.0 / seconds;
        let (input, capacity) = (rate(self.interval.bytes), (self.link - rate(self.interval.above)).max(0.0));
        let target = match self.params.queue_delay {
            //= kalyanaraman1998 3
            None => (self.params.utilisation * self.link - rate(self.interval.above)).max(0.0),
            Some(delay) => capacity * share_for_delay(self.queue as f64 * 8.0 / capacity.max(1.0), delay),
        };
        let weight = self.params.average_overload.filter(|_| self.load.target.is_finite()).unwrap_or(1.0);
        let averaged =
            |before: f64, now: f64| if weight == 1.0 { now } else { before + weight * (now - before) };
        let (mut active, mut minima) = (0.0, 0.0);
        for vc in &mut self.vcs {
            vc.activity = match vc.seen {
                true => 1.0,
                false => vc.activity * self.params.average_active.unwrap_or(0.0),
            };
            active += vc.activity;
            minima += vc.activity * vc.minimum;
            if self.measures {
                vc.rate = rate(vc.bytes);
            }
            (vc.seen, vc.bytes) = (false, 0);
        }
        self.load = Load {
            input: averaged(self.load.input, input),
            target: averaged(self.load.target, target),
            active: active.max(1.0),
            minima,
        };
        self.interval = Interval {
            began: at,
            number: self.interval.number + 1,
            bytes: 0,
            above: 0,
            cells: 0,
            greatest: 0.0,
            greatest_before: self.interval.greatest,
        };
    }

    fn overload(&self) -> f64 {
        match self.load.target {
            target if target > 0.0 => self.load.input / target,
            _ if self.load.input > 0.0 => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// Computes VAL of a VC anew.
    fn allocation(&mut self, vc: VcIx) -> f64 {
        let Vc { rate, minimum, .. } = self.vcs[vc.ix()];
        let overload = self.overload();
        //= kalyanaraman1998 3
        let fairness = minimum + (self.load.target - self.load.minima).max(0.0) / self.load.active;
        //= kalyanaraman1998 3
        let efficiency = if rate > minimum { minimum + (rate - minimum) / overload } else { minimum };
        //= kalyanaraman1998 3
        let mut allocation = fairness.max(efficiency);
        if self.params.fairness_boost.is_some_and(|boost| overload <= 1.0 + boost) {
            allocation = allocation.max(minimum + self.interval.greatest_before);
        }
        if self.load.target.is_finite() {
            self.interval.greatest = self.interval.greatest.max(allocation.min(self.load.target) - minimum);
        }
        allocation
    }
}

impl RateControl for Erica {
    fn begin(&mut self, terms: &PortTerms) {
        (self.link, self.measures, self.interval.began) =
            (terms.link.bits_per_second(), terms.measures, terms.start);
    }

    fn open(&mut self) {
        self.vcs.push(Vc {
            rate: 0.0,
            minimum: 0.0,
            bytes: 0,
            seen: false,
            activity: 0.0,
            allocated: 0.0,
            allocated_in: 0,
        });
    }

    fn arrived(&mut self, now: Time, vc: Option<VcIx>, len: u32) {
        self.pass(now);
        wrapping_count(&mut self.interval.bytes, u64::from(len));
        if let Some(vc) = vc {
            self.vcs[vc.ix()].seen = true;
        }
        self.interval.cells += 1;
        if self.params.cells.is_some_and(|cells| self.interval.cells >= cells) && now > self.interval.began {
            self.end(now);
        }
    }

    fn declared(&mut self, now: Time, vc: VcIx, frm: &RmCell) {
        self.pass(now);
        if !self.measures {
            self.vcs[vc.ix()].rate = frm.ccr as f64;
        }
        if self.params.fairness == Fairness::McrPlus {
            self.vcs[vc.ix()].minimum = frm.mcr as f64;
        }
    }

    fn measured(&mut self, now: Time, vc: VcIx, len: u32) {
        self.pass(now);
        wrapping_count(&mut self.vcs[vc.ix()].bytes, u64::from(len));
    }

    fn left_above(&mut self, now: Time, len: u32) {
        self.pass(now);
        wrapping_count(&mut self.interval.above, u64::from(len));
    }

    fn feedback(&mut self, now: Time, vc: VcIx, queue: Count) -> Feedback {
        self.pass(now);
        self.queue = queue.bytes;
        if self.vcs[vc.ix()].allocated_in != self.interval.number {
            let allocated = self.allocation(vc);
            let state = &mut self.vcs[vc.ix()];
            (state.allocated, state.allocated_in) = (allocated, self.interval.number);
        }
        Feedback { er: self.vcs[vc.ix()].allocated, ci: false, ni: false }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("input_rate", self.load.input);
        show("target_rate", self.load.target);
        show("active_vcs", self.load.active);
    }
}
