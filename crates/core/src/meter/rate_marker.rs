//! The common part of markers by an estimated rate: everything but the rule that derives a colour
//! from the rate.

use super::estimator::{Average, Estimators, Rates};
use super::mode::Mode;
use super::profiles::Profile;
use super::{Meter, ProfileIx, Reading, Usage};
use crate::context::{Ctx, Verdict};
use crate::contract::Contract;
use crate::packet::{Colour, Packet};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Rule by which a packet is coloured.
pub trait Rule {
    /// The colour of a packet at these rates.
    fn colour(&self, rates: &Rates, rng: &mut Rng) -> Colour;
}

/// A marker: it colours packets by the rate of their profile, and lets all of them pass. In the
/// colour-aware mode, that of a meter that checks what a meter before it has marked, a red packet
/// stays red and does not count in the rate, and no packet is marked better than it came.
pub struct RateMarker<R> {
    mode: Mode,
    rule: R,
    estimators: Estimators,
}

impl<R: Rule> RateMarker<R> {
    /// A marker without profiles.
    pub(super) fn new(mode: Mode, average: Average, rule: R) -> RateMarker<R> {
        RateMarker { mode, rule, estimators: Estimators::new(average) }
    }

    /// Sets windows to `round_trips` round-trip times, once one was measured.
    pub(super) fn following(self, round_trips: Option<u16>) -> RateMarker<R> {
        RateMarker { estimators: self.estimators.following(round_trips), ..self }
    }
}

impl<R: Rule> Meter for RateMarker<R> {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        self.estimators.set_profile(profile, terms);
    }

    fn follows_round_trips(&self) -> bool {
        self.estimators.follows_round_trips()
    }

    fn set_round_trip(&mut self, profile: ProfileIx, round_trip: Span) {
        //= clark1998 IV.D
        self.estimators.set_round_trip(profile, round_trip);
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let came = self.mode.colour_of(packet.mark);
        let average = self.estimators.average;
        let Some(Profile { state, usage }) = self.estimators.profiles.get_mut(profile) else {
            return Verdict::Accept.into();
        };
        let colour = match came {
            Colour::Red => came,
            _ => self.rule.colour(&state.see(average, cx.now, packet.len), cx.rng).max(came),
        };
        usage.add(colour, packet.len);
        packet.mark = packet.mark.coloured(colour);
        Verdict::Accept.into()
    }

    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        self.estimators.forgettable_at(profile)
    }

    fn forget(&mut self, profile: ProfileIx) {
        self.estimators.profiles.forget(profile);
    }

    fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        self.estimators.profiles.usage(profile)
    }

    fn memory(&self) -> usize {
        self.estimators.profiles.memory()
    }
}
