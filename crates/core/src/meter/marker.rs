//! The common part of three-colour markers with token buckets: everything but the buckets.

use super::mode::Mode;
use super::profiles::{Profile, Profiles};
use super::{Meter, ProfileIx, Reading, Usage};
use crate::context::{Ctx, Verdict};
use crate::contract::Contract;
use crate::packet::{Colour, Packet};
use crate::units::Time;

/// The token buckets of one profile.
pub trait Buckets: Copy {
    /// Buckets of a profile that was never opened.
    const NEWCOMER: Self;

    /// Opens the profile or changes its terms; tokens stay.
    fn set(&mut self, terms: &Contract);

    /// Returns true if the terms are sufficient for metering.
    fn are_metered(&self) -> bool;

    /// Colours a packet of `len` bytes that came in the colour `came`; `None` when it is not
    /// metered.
    fn colour(&mut self, now: Time, len: u32, came: Colour) -> Option<Colour>;

    /// Time at which the buckets are full, if no more packets come.
    fn full_at(&self) -> Time;
}

/// A marker: it colours packets by the buckets of their profile, and lets all of them pass.
pub struct Marker<B> {
    mode: Mode,
    profiles: Profiles<B>,
}

impl<B: Buckets> Marker<B> {
    /// A marker without profiles.
    pub(super) fn new(mode: Mode) -> Marker<B> {
        Marker { mode, profiles: Profiles::new(B::NEWCOMER) }
    }
}

impl<B: Buckets> Meter for Marker<B> {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        let mut buckets = self.profiles.get(profile).copied().unwrap_or(B::NEWCOMER);
        buckets.set(terms);
        if buckets.are_metered() || self.profiles.get(profile).is_some() {
            *self.profiles.open(profile) = buckets;
        }
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let came = self.mode.colour_of(packet.mark);
        let Some(Profile { state, usage }) = self.profiles.get_mut(profile) else {
            return Verdict::Accept.into();
        };
        if let Some(colour) = state.colour(cx.now, packet.len, came) {
            usage.add(colour, packet.len);
            packet.mark = packet.mark.coloured(colour);
        }
        Verdict::Accept.into()
    }

    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        self.profiles.get(profile).map_or(Time::from_ticks(0), B::full_at)
    }

    fn forget(&mut self, profile: ProfileIx) {
        self.profiles.forget(profile);
    }

    fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        self.profiles.usage(profile).filter(|_| self.profiles.get(profile).is_some_and(B::are_metered))
    }

    fn memory(&self) -> usize {
        self.profiles.memory()
    }
}
