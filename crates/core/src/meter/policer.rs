//! The policer of contracts: packets that exceed a profile's (W, r, r̂) are dropped, or marked as
//! out of profile.
//!
//! A packet conforms when a server of rate r that serves only conforming packets has at most W
//! bytes with it, itself included, and when the conforming packet before it has had its time at the
//! peak rate r̂. A packet that exceeds the contract takes nothing out of the bucket, so only
//! packets that would break it are dropped.
//!
//! A profile without a reservation, and one whose W is not stated, is not policed. A packet larger
//! than W conforms when the bucket is full; files with such a flow are refused.

use super::{Meter, ProfileIx, Reading};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{Colour, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words};
use crate::shaper::TokenBucket;
use crate::units::{Rate, Time};
use alloc::vec::Vec;

parameters! {
    /// Parameters of the policer.
    #[derive(Copy, Eq)]
    pub struct PolicerParams {
        /// Packets that exceed the contract: they are dropped, or forwarded and marked as out of
        /// profile
        excess: PolicerExcess = PolicerExcess::Drop,
    }
}

words! {
    /// Treatment of packets that exceed the contract.
    pub enum PolicerExcess {
        /// They are dropped.
        Drop = "drop",
        /// They go on, coloured red.
        Mark = "mark",
    }
}

impl PolicyParams for PolicerParams {
    type Policy = Policer;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "policer",
        title: "Policer of contracts",
        role: Role::Meter { colours: false },
        help: "Drops or marks the packets of a flow that exceed its contract: more than `workahead` ahead \
               of `reserve`, or faster than `peak`, if given.",
        source: "Pincheira 1994, section 2.1; RFC 2475, section 2.3.3 (policing)",
        params: PolicerParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: Some("reserve"),
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Policer, Refused> {
        Ok(Policer { marks: self.excess == PolicerExcess::Mark, profiles: Vec::new() })
    }

    fn example() -> PolicerParams {
        PolicerParams { excess: PolicerExcess::Drop }
    }
}

/// Terms stated by a profile.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PolicerTerms {
    rate: Rate,
    /// W in bytes.
    workahead: u32,
    peak: Option<Rate>,
}

impl PolicerTerms {
    fn of(contract: &Contract) -> Option<PolicerTerms> {
        let (rate, workahead) = (contract.reserve?, contract.committed_burst()?);
        // A reservation may have been raised above the peak rate.
        let peak = contract.peak.map(|peak| peak.max(rate));
        Some(PolicerTerms { rate, workahead, peak })
    }
}

#[derive(Clone, Copy)]
struct Profile {
    /// Terms of the profile; `None` for a profile that is not policed.
    terms: Option<PolicerTerms>,
    /// True while the bucket still has previous terms.
    changed: bool,
    /// `None` before the first packet.
    bucket: Option<TokenBucket>,
}

const NEWCOMER: Profile = Profile { terms: None, changed: false, bucket: None };

/// The buckets of a meter's profiles.
pub struct Policer {
    marks: bool,
    profiles: Vec<Profile>,
}

impl Profile {
    /// Returns true if a packet that arrives now conforms; it then counts.
    fn conforms(&mut self, now: Time, len: u32) -> bool {
        let Some(PolicerTerms { rate, workahead, peak }) = self.terms else { return true };
        let bucket = self.bucket.get_or_insert_with(|| TokenBucket::new(rate, workahead).with_peak(peak));
        if self.changed {
            bucket.change(now, rate, workahead);
            *bucket = bucket.with_peak(peak);
            self.changed = false;
        }
        //= pincheira1994 2.1
        let conforms = bucket.conforms_at(len) <= now;
        if conforms {
            bucket.take(now, len);
        }
        conforms
    }
}

impl Meter for Policer {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        if self.profiles.len() <= profile.ix() {
            self.profiles.resize(profile.ix() + 1, NEWCOMER);
        }
        let profile = &mut self.profiles[profile.ix()];
        let terms = PolicerTerms::of(terms);
        if profile.terms != terms {
            // The bucket changes at the next packet: tokens owed by then stay owed.
            (profile.terms, profile.changed) = (terms, profile.bucket.is_some());
        }
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        if self.profiles[profile.ix()].conforms(cx.now, packet.len) {
            return Verdict::Accept.into();
        }
        if self.marks {
            packet.mark = packet.mark.coloured(Colour::Red);
            return Verdict::Accept.into();
        }
        Verdict::Drop(Reason::Meter).into()
    }

    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        let bucket = self.profiles.get(profile.ix()).and_then(|profile| profile.bucket);
        bucket.map_or(Time::from_ticks(0), |bucket| bucket.full_at())
    }

    fn forget(&mut self, profile: ProfileIx) {
        if let Some(profile) = self.profiles.get_mut(profile.ix()) {
            *profile = NEWCOMER;
        }
    }

    fn memory(&self) -> usize {
        self.profiles.capacity() * size_of::<Profile>()
    }
}
