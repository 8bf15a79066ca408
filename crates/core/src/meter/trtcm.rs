//! The two rate three colour marker (trTCM, RFC 2698).
//!
//! Two token buckets, P of PBS bytes that fills at PIR and C of CBS bytes that fills at CIR, are
//! full at the start. A packet is red if P does not have tokens for all of it, and none are taken;
//! else yellow if C does not, and they are taken out of P; else green, and they are taken out of
//! both. In the colour-aware mode a packet is never marked better than it came.
//!
//! Choices where the RFC is silent, or leaves the choice:
//! - CIR is the profile's `reserve`, CBS its `workahead` (or `reserve` times `interval`), PIR its
//!   `peak`, PBS its `peak_burst`. Without a `peak`, or once `reserve` is raised above it, PIR is
//!   CIR; without a `peak_burst`, PBS is CBS. Bytes are those that the packet is charged with.
//! - Buckets fill continuously (`meter/tokens.rs`).
//! - The colour with which a packet comes is the worse of the one that was written on it and the
//!   drop precedence of its assured-forwarding codepoint (RFC 2597).
//! - Changed terms count from the profile's last packet on; tokens stay, in bytes, as far as there
//!   is room.
//!
//! A profile without a reservation, and one whose CBS is not stated, is not metered.

use super::bursts::check_bursts;
use super::marker::{Buckets, Marker};
use super::mode::Mode;
use super::tokens::{Fine, missing_after};
use crate::contract::{Contract, Refused};
use crate::packet::Colour;
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Rate, Time};

parameters! {
    /// Parameters of the two rate three colour marker.
    #[derive(Copy, Eq)]
    pub struct TrTcmParams {
        /// Use of a packet's earlier colour: ignored, or never improved
        mode: Mode = Mode::Blind,
    }
}

impl PolicyParams for TrTcmParams {
    type Policy = Marker<TrTcmBuckets>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "trtcm",
        title: "Two rate three colour marker (trTCM)",
        role: Role::Meter { colours: true },
        help: "Colours a profile's packets: red beyond `peak` (PIR) and `peak_burst` (PBS), yellow beyond `reserve` (CIR) \
               and `workahead` (CBS), green otherwise.",
        source: "RFC 2698",
        params: TrTcmParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak", "peak_burst"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: Some("reserve"),
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Marker<TrTcmBuckets>, Refused> {
        Ok(Marker::new(self.mode))
    }

    fn example() -> TrTcmParams {
        TrTcmParams { mode: Mode::Blind }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        check_bursts(node)
    }
}

/// Terms stated by a profile.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TrTcmTerms {
    cir: Rate,
    pir: Rate,
    /// CBS in bytes.
    cbs: u32,
    /// PBS in bytes.
    pbs: u32,
}

impl TrTcmTerms {
    fn of(contract: &Contract) -> Option<TrTcmTerms> {
        let (cir, cbs) = (contract.reserve?, contract.committed_burst()?);
        Some(TrTcmTerms { cir, pir: contract.peak_rate()?, cbs, pbs: contract.peak_burst.unwrap_or(cbs) })
    }
}

/// The two buckets of a profile: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct TrTcmBuckets {
    /// Terms of the profile; `None` for a profile that is not metered.
    terms: Option<TrTcmTerms>,
    /// Time of the last packet.
    seen: Time,
    /// Time at which C is full.
    committed: Fine,
    /// Time at which P is full.
    peak: Fine,
}

impl Buckets for TrTcmBuckets {
    const NEWCOMER: TrTcmBuckets =
        TrTcmBuckets { terms: None, seen: Time::from_ticks(0), committed: Fine::ZERO, peak: Fine::ZERO };

    fn set(&mut self, terms: &Contract) {
        let terms = TrTcmTerms::of(terms);
        if let (Some(TrTcmTerms { cir, pir, cbs, pbs }), Some(new)) = (self.terms, terms) {
            let seen = Fine::at(self.seen);
            let missing = |full: Fine| full.since(seen);
            self.committed = seen + missing_after(missing(self.committed), (cir, cbs), (new.cir, new.cbs));
            self.peak = seen + missing_after(missing(self.peak), (pir, pbs), (new.pir, new.pbs));
        }
        self.terms = terms;
    }

    fn are_metered(&self) -> bool {
        self.terms.is_some()
    }

    #[inline]
    fn colour(&mut self, now: Time, len: u32, came: Colour) -> Option<Colour> {
        let TrTcmTerms { cir, pir, cbs, pbs } = self.terms?;
        let at = Fine::at(now);
        self.seen = now;
        let peak = self.peak.max(at) + Fine::of(pir, len);
        if came == Colour::Red || peak > at + Fine::of(pir, pbs) {
            return Some(Colour::Red);
        }
        self.peak = peak;
        let committed = self.committed.max(at) + Fine::of(cir, len);
        if came == Colour::Yellow || committed > at + Fine::of(cir, cbs) {
            return Some(Colour::Yellow);
        }
        self.committed = committed;
        Some(Colour::Green)
    }

    fn full_at(&self) -> Time {
        self.committed.max(self.peak).up()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_profile_is_one_cache_line() {
        assert_eq!(size_of::<super::TrTcmBuckets>(), 64);
    }
}
