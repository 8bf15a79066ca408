//! Phantom (Afek, Mansour, Ostfeld, Phantom: a simple and effective flow control scheme, ACM
//! SIGCOMM 1996): an imaginary VC at the port gets the capacity that the others leave, and each of
//! the others may have a multiple of it.
//!
//! # Model
//!
//! In every averaging interval the port measures the residual rate, `link − CBR and VBR − input`.
//! The rate of the phantom VC, MACR, is its exponential average, and a VC's allocation is
//! `factor · MACR`. With n greedy VCs the rates converge to `factor · C / (1 + n · factor)`, where C
//! is the link less CBR and VBR: a state of one number, whatever n.
//!
//! # Choices where the source is silent, or not followed
//!
//! - MACR begins at zero; until the first interval is over, allocations are without limit.
//! - The weight of the average is one constant where the residual rate is above MACR, and another
//!   where it is below. The published weights also depend on a running mean of the deviation, which
//!   is left out.
//! - The residual rate is negative in an interval with more input than capacity; MACR is not.
//! - A queue has no effect on MACR, except that the overload that fills it makes the residual rate
//!   negative.

use super::control::{Feedback, PortTerms, RateControl, VcIx};
use crate::contract::Refused;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::stats::{Count, wrapping_count};
use crate::units::{Span, Time};
use alloc::borrow::ToOwned;
use alloc::format;

parameters! {
    /// Parameters of Phantom.
    #[derive(Copy)]
    pub struct PhantomParams {
        /// Allocation of a VC over the rate that all leave (the utilisation factor)
        factor: u32 as Integer(1, 1_000_000) = 5,
        /// Averaging interval, above zero
        interval: Span = Span::from_millis(1),
        /// Weight of an interval in MACR while it leaves more than MACR
        increase: f64 = 0.015625,
        /// Weight of an interval in MACR while it leaves less
        decrease: f64 = 0.0625,
    }
}

impl PolicyParams for PhantomParams {
    type Policy = Phantom;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "phantom",
        title: "Phantom",
        role: Role::RateControl,
        help: "Averages the rate that all VCs together leave of the link, and allocates to each VC a multiple \
               of it.",
        source: "Afek, Mansour and Ostfeld 1996",
        params: PhantomParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Phantom, Refused> {
        Ok(Phantom { params: *self, link: 0.0, began: Time::ORIGIN, bytes: 0, macr: None })
    }

    fn example() -> PhantomParams {
        PhantomParams { factor: 10, interval: Span::from_millis(5), increase: 0.125, decrease: 0.25 }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.interval == Span::ZERO {
            return Err(Fault::at("interval", "`interval` is zero: nothing could be measured".to_owned()));
        }
        for (key, weight) in [("increase", self.increase), ("decrease", self.decrease)] {
            if weight == 0.0 {
                return Err(Fault::at(key, format!("`{key}` is zero: nothing measured would count")));
            }
        }
        Ok(())
    }
}

/// Intervals without a cell after which MACR is at the capacity.
const FORGOTTEN: u64 = 10_000;

/// Phantom, as [`PhantomParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct Phantom {
    params: PhantomParams,
    /// In bit/s.
    link: f64,
    began: Time,
    /// Bytes in this interval, of the ABR class and of higher priority.
    bytes: u64,
    /// Rate of the phantom VC in bit/s; `None` in the first interval.
    macr: Option<f64>,
}

impl Phantom {
    /// Ends the intervals that are over.
    fn pass(&mut self, now: Time) {
        let length = self.params.interval;
        for _ in 0..FORGOTTEN {
            if now.since(self.began) < length {
                return;
            }
            self.end();
        }
        let whole = now.since(self.began).ticks() / length.ticks();
        self.began += Span::from_ticks(whole * length.ticks());
        self.macr = Some(self.link);
    }

    fn end(&mut self) {
        let residual = self.link - self.bytes as f64 * 8.0 / self.params.interval.as_secs_f64();
        //= kalyanaraman1998 1
        let macr = self.macr.unwrap_or(0.0);
        let weight = if residual > macr { self.params.increase } else { self.params.decrease };
        self.macr = Some((macr + weight * (residual - macr)).max(0.0));
        self.began += self.params.interval;
        self.bytes = 0;
    }
}

impl RateControl for Phantom {
    fn begin(&mut self, terms: &PortTerms) {
        (self.link, self.began) = (terms.link.bits_per_second(), terms.start);
    }

    fn arrived(&mut self, now: Time, _: Option<VcIx>, len: u32) {
        self.pass(now);
        wrapping_count(&mut self.bytes, u64::from(len));
    }

    fn left_above(&mut self, now: Time, len: u32) {
        self.pass(now);
        wrapping_count(&mut self.bytes, u64::from(len));
    }

    fn feedback(&mut self, now: Time, _: VcIx, _: Count) -> Feedback {
        self.pass(now);
        let er = self.macr.map_or(f64::INFINITY, |macr| f64::from(self.params.factor) * macr);
        Feedback { er, ci: false, ni: false }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("macr", self.macr.unwrap_or(f64::NAN));
    }
}
