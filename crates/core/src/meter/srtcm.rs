//! The single rate three colour marker (srTCM, RFC 2697).
//!
//! Two token buckets, C of CBS bytes and E of EBS bytes, are full at the start. Tokens come at the rate CIR: into C while
//! there is room, then into E. A packet is green if C has tokens for all of it and they are taken; else yellow if E has,
//! and they are taken; else red, and none are. In the colour-aware mode a packet is never marked better than it came.
//!
//! Choices where the RFC is silent, or leaves the choice:
//! - CIR is the profile's `reserve`, CBS its `workahead` (or `reserve` times `interval`), EBS its `excess_burst`. Bytes are
//!   those that the packet is charged with.
//! - Buckets fill continuously ([`tokens`](super::tokens)).
//! - The colour with which a packet comes is the worse of the one that was written on it and the drop precedence of its
//!   assured-forwarding codepoint (RFC 2597).
//! - Changed terms count from the profile's last packet on; tokens stay, in bytes, as far as there is room.
//!
//! A profile without a reservation, and one whose CBS is not stated, is not metered.

use super::check_bursts;
use super::marker::{Buckets, Marker};
use super::mode::Mode;
use super::tokens::Tokens;
use crate::contract::{Contract, Refused};
use crate::packet::Colour;
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Rate, Time};

parameters! {
    /// What can be set of the single rate three colour marker.
    #[derive(Eq)]
    pub struct SrTcmParams {
        /// Use of the colour with which a packet comes: none, or it is marked no better
        mode: Mode = Mode::Blind,
    }
}

impl PolicyParams for SrTcmParams {
    type Made = Marker<SrTcmBuckets>;

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

/// What a profile states.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Terms {
    cir: Rate,
    /// Bytes.
    cbs: u32,
    /// Bytes.
    ebs: u32,
}

impl Terms {
    fn of(contract: &Contract) -> Option<Terms> {
        let (cir, cbs) = (contract.reserve?, contract.committed_burst()?);
        Some(Terms { cir, cbs, ebs: contract.excess_burst.unwrap_or(0) })
    }
}

/// The two buckets of a profile: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct SrTcmBuckets {
    /// `None` for one that is not metered.
    terms: Option<Terms>,
    /// When the buckets were filled last.
    filled: Time,
    committed: Tokens,
    excess: Tokens,
}

impl Buckets for SrTcmBuckets {
    const NEWCOMER: SrTcmBuckets = SrTcmBuckets {
        terms: None,
        filled: Time::from_ticks(0),
        committed: Tokens::NONE,
        excess: Tokens::NONE,
    };

    fn set(&mut self, terms: &Contract) {
        let terms = Terms::of(terms);
        if let Some(Terms { cir, cbs, ebs }) = terms {
            let full = [Tokens::of(cir, cbs), Tokens::of(cir, ebs)];
            [self.committed, self.excess] = match self.terms {
                None => full,
                Some(Terms { cir: before, .. }) => {
                    [self.committed.moved(before, cir, full[0]), self.excess.moved(before, cir, full[1])]
                }
            };
        }
        self.terms = terms;
    }

    fn are_metered(&self) -> bool {
        self.terms.is_some()
    }

    #[inline]
    fn colour(&mut self, now: Time, len: u32, came: Colour) -> Option<Colour> {
        let Terms { cir, cbs, ebs } = self.terms?;
        let spilled = self.committed.fill(Tokens::in_span(now.since(self.filled)), Tokens::of(cir, cbs));
        self.excess.fill(spilled, Tokens::of(cir, ebs));
        self.filled = now;
        let need = Tokens::of(cir, len);
        if came == Colour::Green && self.committed.take(need) {
            return Some(Colour::Green);
        }
        let yellow = came != Colour::Red && self.excess.take(need);
        Some(if yellow { Colour::Yellow } else { Colour::Red })
    }

    /// E fills when C is full.
    fn full_at(&self) -> Time {
        let Some(Terms { cir, cbs, ebs }) = self.terms else { return self.filled };
        self.filled + self.committed.time_to(Tokens::of(cir, cbs)) + self.excess.time_to(Tokens::of(cir, ebs))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_profile_is_one_cache_line() {
        assert_eq!(size_of::<super::SrTcmBuckets>(), 64);
    }
}
