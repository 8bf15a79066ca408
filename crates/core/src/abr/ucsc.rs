//! The rate allocation of Kalampoukas, Varma and Ramakrishnan (An efficient rate allocation
//! algorithm for ATM networks providing max-min fairness, IFIP High Performance Networking 1995;
//! UCSC-CRL-95-29; called UCSC in Kalyanaraman 1997, Traffic management for the ABR service, section
//! 4.9): the port knows which VCs are limited elsewhere, and divides what they leave equally among
//! the others.
//!
//! # Model
//!
//! With a capacity B and N active VCs, a VC that asks for less than its greatest allocation is
//! *satisfied* and is allocated its request; the others are *bottlenecked* here. The equal share is
//! `B_eq = B/N`, the bandwidth that satisfied VCs leave of it is `B_f = Σ (B_eq − A_i)`, and a
//! bottlenecked VC may have `A_max = B_eq + B_f / N_bot`, which is what satisfied VCs leave of B,
//! divided by the number of the others. For a satisfied VC, A_max is that of a bottlenecked one in
//! its place, so that it is given back what it left. A decision takes a constant time: the sum and
//! the number of satisfied VCs are kept.
//!
//! # Choices where the sources are silent, or not followed
//!
//! - The request of a VC is the lesser of CCR and ER in its latest FRM cell. In the published
//!   algorithm ER is lowered on the way to the destination; here it is on the way back, and CCR
//!   follows it.
//! - A_max is at least B/N: an allocation that a satisfied VC has had since before others came does
//!   not count against it.
//! - B is `utilisation` of the link less CBR and VBR in the last averaging interval; in the first
//!   one there are none.
//! - A VC is active from its first FRM cell until it has sent none for `idle`.

use super::cell::RmCell;
use super::control::{Feedback, PortTerms, RateControl, VcIx};
use crate::contract::Refused;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::stats::{Count, wrapping_count};
use crate::units::{Span, Time};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

parameters! {
    /// Parameters of UCSC.
    #[derive(Copy)]
    pub struct UcscParams {
        /// Target utilisation: share of the link for CBR, VBR and ABR together, above 0
        utilisation: f64 = 0.9,
        /// Averaging interval of CBR and VBR, above zero
        interval: Span = Span::from_millis(1),
        /// Time without an RM cell after which a VC has no share, at least `interval`
        idle: Span = Span::from_millis(100),
    }
}

impl PolicyParams for UcscParams {
    type Policy = Ucsc;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "ucsc",
        title: "UCSC",
        role: Role::RateControl,
        help: "Knows which VCs are limited elsewhere by the rates that they declare, and divides what these \
               leave of the target rate equally among the others.",
        source: "Kalampoukas, Varma and Ramakrishnan 1995; Kalyanaraman 1997, section 4.9",
        params: UcscParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Ucsc, Refused> {
        Ok(Ucsc {
            params: *self,
            link: 0.0,
            began: Time::ORIGIN,
            above: 0,
            capacity: 0.0,
            vcs: Vec::new(),
            active: 0,
            satisfied: 0,
            allocated: 0,
        })
    }

    fn example() -> UcscParams {
        UcscParams { utilisation: 0.95, interval: Span::from_millis(5), idle: Span::from_millis(200) }
    }

    fn target_utilisation(&self) -> Option<f64> {
        Some(self.utilisation)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.utilisation == 0.0 {
            return Err(Fault::at(
                "utilisation",
                "`utilisation` is zero: nothing would be allocated".to_owned(),
            ));
        }
        if self.interval == Span::ZERO {
            return Err(Fault::at("interval", "`interval` is zero: nothing could be measured".to_owned()));
        }
        if self.idle < self.interval {
            return Err(Fault::at("idle", "`idle` is below `interval`: a VC would come and go".to_owned()));
        }
        Ok(())
    }
}

/// The state of a VC at the port.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// No RM cell has come for some time.
    Idle,
    /// Limited by this port.
    Bottlenecked,
    /// Limited elsewhere, to this rate in bit/s.
    Satisfied(u64),
}

/// UCSC, as [`UcscParams`] describes it.
#[derive(Clone, Debug)]
pub struct Ucsc {
    params: UcscParams,
    /// In bit/s.
    link: f64,
    began: Time,
    /// Bytes of higher priority in this interval.
    above: u64,
    /// B, in bit/s.
    capacity: f64,
    vcs: Vec<(State, Time)>,
    /// N, the number of satisfied VCs, and the sum of their allocations, in bit/s.
    active: u32,
    satisfied: u32,
    allocated: u64,
}

impl Ucsc {
    /// Measures B anew, and forgets idle VCs, when an interval is over.
    fn pass(&mut self, now: Time) {
        let passed = now.since(self.began);
        if passed < self.params.interval {
            return;
        }
        let above = self.above as f64 * 8.0 / passed.as_secs_f64();
        self.capacity = (self.params.utilisation * self.link - above).max(0.0);
        (self.began, self.above) = (now, 0);
        for vc in 0..self.vcs.len() {
            let (state, seen) = self.vcs[vc];
            if state != State::Idle && now.since(seen) > self.params.idle {
                self.set(vc, State::Idle);
            }
        }
    }

    /// Gives a VC another state, and keeps the sums.
    fn set(&mut self, vc: usize, state: State) {
        let before = core::mem::replace(&mut self.vcs[vc].0, state);
        self.active = self.active + u32::from(state != State::Idle) - u32::from(before != State::Idle);
        if let State::Satisfied(rate) = before {
            (self.satisfied, self.allocated) = (self.satisfied - 1, self.allocated - rate);
        }
        if let State::Satisfied(rate) = state {
            (self.satisfied, self.allocated) = (self.satisfied + 1, self.allocated + rate);
        }
    }

    /// A_max of a VC: its share if it were bottlenecked here.
    fn greatest(&self, vc: usize) -> f64 {
        let (state, _) = self.vcs[vc];
        let active = self.active + u32::from(state == State::Idle);
        let (others, allocated) = match state {
            State::Satisfied(rate) => (self.satisfied - 1, self.allocated - rate),
            State::Idle | State::Bottlenecked => (self.satisfied, self.allocated),
        };
        let equal = self.capacity / f64::from(active);
        //= kalyanaraman1998 1
        equal.max((self.capacity - allocated as f64) / f64::from(active - others))
    }
}

impl RateControl for Ucsc {
    fn begin(&mut self, terms: &PortTerms) {
        (self.link, self.began) = (terms.link.bits_per_second(), terms.start);
        self.capacity = self.params.utilisation * self.link;
    }

    fn open(&mut self) {
        self.vcs.push((State::Idle, Time::ORIGIN));
    }

    fn declared(&mut self, now: Time, vc: VcIx, frm: &RmCell) {
        self.pass(now);
        let vc = vc.ix();
        self.vcs[vc].1 = now;
        let request = frm.ccr.min(frm.er);
        // Cells carry whole bit/s: a VC that takes all of its allocation may seem to ask for less.
        let is_satisfied = (request as f64) + 1.0 < self.greatest(vc);
        self.set(vc, if is_satisfied { State::Satisfied(request) } else { State::Bottlenecked });
    }

    fn left_above(&mut self, now: Time, len: u32) {
        self.pass(now);
        wrapping_count(&mut self.above, u64::from(len));
    }

    fn feedback(&mut self, now: Time, vc: VcIx, _: Count) -> Feedback {
        self.pass(now);
        Feedback { er: self.greatest(vc.ix()), ci: false, ni: false }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("target_rate", self.capacity);
        show("active_vcs", f64::from(self.active));
    }
}
