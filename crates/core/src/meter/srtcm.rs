//! The single rate three colour marker (srTCM, RFC 2697).
//!
//! Two token buckets, C of CBS bytes and E of EBS bytes, are full at the start. Tokens come at the
//! rate CIR: into C while there is room, then into E. A packet is green if C has tokens for all of
//! it and they are taken; else yellow if E has, and they are taken; else red, and none are. In the
//! colour-aware mode a packet is never marked better than it came.
//!
//! Choices where the RFC is silent, or leaves the choice:
//! - CIR is the profile's `reserve`, CBS its `workahead` (or `reserve` times `interval`), EBS its
//!   `excess_burst`. Bytes are those that the packet is charged with.
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
    /// Parameters of the single rate three colour marker.
    #[derive(Copy, Eq)]
    pub struct SrTcmParams {
        /// Use of a packet's earlier colour: ignored, or never improved
        mode: Mode = Mode::Blind,
    }
}

impl PolicyParams for SrTcmParams {
    type Policy = Marker<SrTcmBuckets>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "srtcm",
        title: "Single rate three colour marker (srTCM)",
        role: Role::Meter { colours: true },
        help: "Colours a profile's packets: green within `reserve` (CIR) and `workahead` (CBS), yellow within \
               `excess_burst` (EBS) beyond that, red otherwise.",
        source: "RFC 2697",
        params: SrTcmParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "excess_burst"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: Some("reserve"),
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Marker<SrTcmBuckets>, Refused> {
        Ok(Marker::new(self.mode))
    }

    fn example() -> SrTcmParams {
        SrTcmParams { mode: Mode::Blind }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        check_bursts(node)
    }
}

/// Terms stated by a profile.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SrTcmTerms {
    cir: Rate,
    /// CBS in bytes.
    cbs: u32,
    /// EBS in bytes.
    ebs: u32,
}

impl SrTcmTerms {
    fn of(contract: &Contract) -> Option<SrTcmTerms> {
        let (cir, cbs) = (contract.reserve?, contract.committed_burst()?);
        Some(SrTcmTerms { cir, cbs, ebs: contract.excess_burst.unwrap_or(0) })
    }
}

/// The two buckets of a profile: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct SrTcmBuckets {
    /// Terms of the profile; `None` for a profile that is not metered.
    terms: Option<SrTcmTerms>,
    /// Time of the last packet.
    seen: Time,
    /// Time at which C is full, or has been full since; in the latter case E has received all
    /// tokens up to then.
    committed: Fine,
    /// Time that E takes to fill.
    excess: Fine,
}

impl Buckets for SrTcmBuckets {
    const NEWCOMER: SrTcmBuckets =
        SrTcmBuckets { terms: None, seen: Time::from_ticks(0), committed: Fine::ZERO, excess: Fine::ZERO };

    fn set(&mut self, terms: &Contract) {
        let terms = SrTcmTerms::of(terms);
        if let (Some(SrTcmTerms { cir, cbs, ebs }), Some(new)) = (self.terms, terms) {
            let seen = Fine::at(self.seen);
            let missing = self.committed.since(seen);
            self.committed = seen + missing_after(missing, (cir, cbs), (new.cir, new.cbs));
            self.excess = missing_after(self.excess, (cir, ebs), (new.cir, new.ebs));
        }
        self.terms = terms;
    }

    fn are_metered(&self) -> bool {
        self.terms.is_some()
    }

    #[inline]
    fn colour(&mut self, now: Time, len: u32, came: Colour) -> Option<Colour> {
        let SrTcmTerms { cir, cbs, ebs } = self.terms?;
        let (at, need) = (Fine::at(now), Fine::of(cir, len));
        self.seen = now;
        if self.committed < at {
            self.excess = self.excess.since(at.since(self.committed));
            self.committed = at;
        }
        let committed = self.committed + need;
        if came == Colour::Green && committed <= at + Fine::of(cir, cbs) {
            self.committed = committed;
            return Some(Colour::Green);
        }
        let excess = self.excess + need;
        if came != Colour::Red && excess <= Fine::of(cir, ebs) {
            self.excess = excess;
            return Some(Colour::Yellow);
        }
        Some(Colour::Red)
    }

    /// C fills first, and then E.
    fn full_at(&self) -> Time {
        (self.committed + self.excess).up()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_profile_is_one_cache_line() {
        assert_eq!(size_of::<super::SrTcmBuckets>(), 64);
    }
}
