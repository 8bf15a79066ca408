//! The time sliding window three colour marker (TSWTCM, RFC 2859).
//!
//! The estimated rate governs ([`estimator`](super::estimator); RFC 2859, section 2). Up to CTR a
//! packet is green. Above, up to PTR, it is yellow with P0 = (average − CTR) / average, and else
//! green. Above PTR it is red with P1 = (average − PTR) / average, yellow with P2 = (PTR − CTR) /
//! average, and else green (section 4): of traffic of a constant rate, CTR is green and PTR − CTR
//! is yellow in the long run.
//!
//! Choices where the RFC is silent:
//! - CTR is the profile's `reserve`, PTR its `peak`. Without a `peak`, or once `reserve` is raised
//!   above it, PTR is CTR, and nothing is yellow. Without a `reserve` everything is red.
//! - A colour-aware mode, for a meter that checks what another has marked: red packets stay red and
//!   do not count in the rate, and no packet is marked better than it came.

use super::estimator::{Average, Rates, check_round_trips};
use super::mode::Mode;
use super::rate_marker::{RateMarker, Rule};
use crate::contract::Refused;
use crate::packet::Colour;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::rng::Rng;
use crate::units::Span;

parameters! {
    /// Parameters of the time sliding window three colour marker.
    #[derive(Copy, Eq)]
    pub struct Tsw3CmParams {
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

impl PolicyParams for Tsw3CmParams {
    type Policy = RateMarker<ThreeColours>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tsw3cm",
        title: "Time sliding window three colour marker (TSW3CM)",
        role: Role::Meter { colours: true },
        help: "Colours the share of a profile's packets above `reserve` (CTR) yellow, and the share above `peak` (PTR) red, \
               at random, by its estimated rate.",
        source: "RFC 2859",
        params: Tsw3CmParams::PARAMS,
        reads: &["reserve", "peak"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<RateMarker<ThreeColours>, Refused> {
        let average = Average::of(self.window, self.packets).map_err(|fault| Refused(fault.message))?;
        Ok(RateMarker::new(self.mode, average, ThreeColours).following(self.round_trips))
    }

    fn example() -> Tsw3CmParams {
        Tsw3CmParams { window: Some(Span::from_secs(1)), packets: None, round_trips: None, mode: Mode::Blind }
    }

    fn check(&self) -> Result<(), Fault> {
        Average::of(self.window, self.packets)?;
        check_round_trips(self.packets, self.round_trips)
    }

    fn follows_round_trips(&self) -> Option<&'static str> {
        self.round_trips.map(|_| "round_trips")
    }
}

/// The marker of RFC 2859, section 4.
#[derive(Clone, Copy)]
pub struct ThreeColours;

impl Rule for ThreeColours {
    fn colour(&self, &Rates { average, target, peak }: &Rates, rng: &mut Rng) -> Colour {
        if average <= target {
            return Colour::Green;
        }
        // Uniform over (0, 1]: at most the probability, with that probability.
        let drawn = rng.unit() * average;
        let red = (average - peak).max(0.0);
        if drawn <= red {
            Colour::Red
        } else if drawn <= average - target {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }
}
