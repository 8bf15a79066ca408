//! The time sliding window two colour marker (TSW2CM): [the one of three colours](super::tsw3cm)
//! (RFC 2859) with one target rate.
//!
//! Up to CTR, the profile's `reserve`, a packet is green; above, it is red with P = (average − CTR)
//! / average, and otherwise green. In the long run CTR is the green rate of traffic of a constant
//! rate.

use super::estimator::{Average, Rates, check_round_trips};
use super::mode::Mode;
use super::rate_marker::{RateMarker, Rule};
use crate::contract::Refused;
use crate::packet::Colour;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::rng::Rng;
use crate::units::Span;

parameters! {
    /// Parameters of the time sliding window two colour marker.
    #[derive(Copy, Eq)]
    pub struct Tsw2CmParams {
        /// Length of the time sliding window (AVG_INTERVAL)
        window: Option<Span>,
        /// Packets to average over in place of a window: each has the weight 1/`packets` (EWMA)
        packets: Option<u16> as Integer(1, 65535),
        /// Window in round-trip times measured by the flow's transport, which replaces `window`
        /// from the first measurement on, at the first port of the flow's route; without it, the
        /// window stays
        round_trips: Option<u16> as Integer(1, 1000),
        /// Use of a packet's earlier colour: ignored, or never improved
        mode: Mode = Mode::Blind,
    }
}

impl PolicyParams for Tsw2CmParams {
    type Policy = RateMarker<TwoColours>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tsw2cm",
        title: "Time sliding window two colour marker (TSW2CM)",
        role: Role::Meter { colours: true },
        help: "Colours the share of a profile's packets above `reserve` (CTR) red, at random, by its \
               estimated rate.",
        source: "RFC 2859, with one target rate",
        params: Tsw2CmParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<RateMarker<TwoColours>, Refused> {
        let average = Average::of(self.window, self.packets).map_err(|fault| Refused(fault.message))?;
        Ok(RateMarker::new(self.mode, average, TwoColours).following(self.round_trips))
    }

    fn example() -> Tsw2CmParams {
        Tsw2CmParams { window: Some(Span::from_secs(1)), packets: None, round_trips: None, mode: Mode::Blind }
    }

    fn check(&self) -> Result<(), Fault> {
        Average::of(self.window, self.packets)?;
        check_round_trips(self.packets, self.round_trips)
    }

    fn follows_round_trips(&self) -> Option<&'static str> {
        self.round_trips.map(|_| "round_trips")
    }
}

/// The marker of RFC 2859, section 4, with PTR = CTR.
#[derive(Clone, Copy)]
pub struct TwoColours;

impl Rule for TwoColours {
    fn colour(&self, &Rates { average, target, .. }: &Rates, rng: &mut Rng) -> Colour {
        let red = average > target && rng.chance((average - target) / average);
        if red { Colour::Red } else { Colour::Green }
    }
}
