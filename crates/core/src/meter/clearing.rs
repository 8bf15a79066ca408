//! The receiver's profile meter (Clark and Fang 1998, section II.E): at the receiver's access link
//! it removes the congestion indication from packets inside the profile, which the receiver has
//! paid for, and leaves it on those outside, so that their sender slows down.
//!
//! Every packet debits the profile. By a token bucket of the contract, a packet is inside when the
//! bucket has tokens for all of it, which are then taken; by an estimated rate, when the [TSW
//! tagger](super::tsw_tagger) would tag it in, which is the profile of the paper's Table II.
//!
//! Choices where the paper is silent:
//! - CE becomes ECT(0): the original codepoint, ECT(0) or ECT(1), is no longer known. EFCI is
//!   cleared, too.
//! - The dropping option takes "any packets that has exceeded the profile", whether they met
//!   congestion or not.
//! - A profile without a reservation, or without a W for its bucket, has nothing inside.
//! - Colours are not written: they are the sender's. They are read by the filter "in the profile
//!   meter" alone, which charges green packets and lets the others pass as they came: they are
//!   neither cleared nor dropped.

use super::bursts::check_bursts;
use super::estimator::Average;
use super::marker::Marker;
use super::mode::Mode;
use super::profiles::{Profile, Profiles};
use super::rate_marker::RateMarker;
use super::srtcm::SrTcmBuckets;
use super::tsw_tagger::{Approach, Tagger, Tagging};
use super::{Meter, ProfileIx, Reading, Usage};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{Colour, Packet};
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words,
};
use crate::units::{Span, Time};
use alloc::boxed::Box;

parameters! {
    /// Parameters of the clearing meter.
    #[derive(Copy, Eq)]
    pub struct ClearingParams {
        /// Window of the time sliding window over which the rate is averaged; without it, the
        /// profile is a token bucket of `reserve` and `workahead`
        window: Option<Span>,
        /// Rate above which packets are outside, with a `window`: R_T, or the peak of a sawtooth,
        /// 4/3 R_T
        approach: Approach = Approach::Short,
        /// Share of packets that are outside above that rate, with a `window`: (average - R_T) /
        /// R_T, at random, or all
        tagging: Tagging = Tagging::Probabilistic,
        /// Packets outside the profile: they pass unchanged, or are dropped
        excess: ClearingExcess = ClearingExcess::Pass,
        /// Packets that are charged to the profile: all, or those that come in profile (green),
        /// and then the others pass unchanged
        charges: Charges = Charges::All,
    }
}

words! {
    /// The receiver's filter of packets that should receive preferred service.
    pub enum Charges {
        /// Every packet is charged.
        All = "all",
        /// Packets that are not green are not charged, and not cleared.
        Green = "green",
    }
}

words! {
    /// Treatment of packets outside the profile.
    pub enum ClearingExcess {
        /// They pass as they came.
        Pass = "pass",
        /// They are dropped.
        Drop = "drop",
    }
}

impl PolicyParams for ClearingParams {
    type Policy = ClearingMeter;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "clearing-meter",
        title: "Clearing meter (receiver-based control)",
        role: Role::Meter { colours: false },
        help: "Clears the congestion indication (CE, EFCI) of packets inside a receiver's profile; packets \
               outside keep it, or are dropped.",
        source: "Clark and Fang 1998, section II.E",
        params: ClearingParams::PARAMS,
        reads: &["reserve", "interval", "workahead"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<ClearingMeter, Refused> {
        let judge: Box<dyn Meter + Send> = match self.window {
            None => Box::new(Marker::<SrTcmBuckets>::new(Mode::Blind)),
            Some(window) => {
                let tagger = Tagger { approach: self.approach, tagging: self.tagging };
                Box::new(RateMarker::new(Mode::Blind, Average::Window(window), tagger))
            }
        };
        let drops = self.excess == ClearingExcess::Drop;
        Ok(ClearingMeter { drops, charges: self.charges, congested: Profiles::new(()), judge })
    }

    fn example() -> ClearingParams {
        ClearingParams {
            window: None,
            approach: Approach::Short,
            tagging: Tagging::Probabilistic,
            excess: ClearingExcess::Pass,
            charges: Charges::All,
        }
    }

    fn reads_colours(&self) -> bool {
        self.charges == Charges::Green
    }

    fn check(&self) -> Result<(), Fault> {
        match self.window {
            Some(Span::ZERO) => Err(Fault::at("window", "`window` is zero")),
            _ => Ok(()),
        }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        if self.window.is_none() { check_bursts(node) } else { Ok(()) }
    }
}

/// The profiles of receivers.
pub struct ClearingMeter {
    drops: bool,
    charges: Charges,
    /// Profiles, with their usage by packets that met congestion.
    congested: Profiles<()>,
    /// Meter that colours packets inside the profile green, and others red.
    judge: Box<dyn Meter + Send>,
}

impl Meter for ClearingMeter {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        self.congested.open(profile);
        // There is nothing between inside and outside.
        self.judge.set_profile(profile, &Contract { excess_burst: None, ..*terms });
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        //= clark1998 II.E
        if self.charges == Charges::Green && packet.mark.shown_colour() != Colour::Green {
            return Verdict::Accept.into();
        }
        let mut judged = *packet;
        // A packet that is not metered keeps the colour.
        judged.mark = packet.mark.coloured(Colour::Red);
        self.judge.see(cx, profile, &mut judged);
        let colour = judged.mark.colour();
        if let Some(Profile { usage, .. }) = self.congested.get_mut(profile) {
            usage.add_congested(colour, packet.len, packet.mark);
        }
        if colour == Colour::Green {
            //= clark1998 II.E
            packet.mark = packet.mark.congestion_cleared();
        } else if self.drops {
            //= clark1998 II.E
            return Verdict::Drop(Reason::Meter).into();
        }
        Verdict::Accept.into()
    }

    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        self.judge.forgettable_at(profile)
    }

    fn forget(&mut self, profile: ProfileIx) {
        self.congested.forget(profile);
        self.judge.forget(profile);
    }

    fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        let coloured = self.judge.usage(profile)?.coloured;
        Some(Usage { coloured, ..self.congested.usage(profile)? })
    }

    fn memory(&self) -> usize {
        self.congested.memory() + self.judge.memory()
    }
}
