//! The time sliding window (TSW) taggers (Clark and Fang 1998, section III.C), which tag packets as
//! *in* (green) or *out* (red) so that a TCP connection oscillates between 2/3 and 4/3 of its
//! target rate R_T.
//!
//! The estimated rate governs ([`estimator`](super::estimator)). Two approaches:
//! - `long`: the window remembers a whole sawtooth, and tagging starts above R_T. A packet is out
//!   with the probability P = (average − R_T) / R_T, at most 1.
//! - `short`: the window is of the order of a round-trip time, and tagging starts above the
//!   sawtooth's peak, 4/3 R_T.
//!
//! Choices where the paper is silent:
//! - The probability of the second approach is not given. It is that of the first, once the rate is
//!   above 4/3 R_T: it starts at 1/3, so that out packets are spaced ("reducing the probability of
//!   going into slow starts", section III.D), and is 1 from 2 R_T on.
//! - Deterministic tagging, to compare, tags every packet out while the rate is above where tagging
//!   starts.
//! - The peak "1.33 R_T" is 4/3 R_T.
//! - R_T is the profile's `reserve`. Without one it is zero: everything is out.
//! - A meter that checks what another has tagged (section II.B) is colour-aware: out packets stay
//!   out, and the rate is that of the in packets.

use super::estimator::{Average, Rates, check_round_trips};
use super::mode::Mode;
use super::rate_marker::{RateMarker, Rule};
use crate::contract::Refused;
use crate::packet::Colour;
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words};
use crate::rng::Rng;
use crate::units::Span;

parameters! {
    /// Parameters of the TSW tagger.
    #[derive(Copy, Eq)]
    pub struct TswTaggerParams {
        /// Length of the time sliding window
        window: Option<Span>,
        /// Packets to average over in place of a window: each has the weight 1/`packets` (EWMA)
        packets: Option<u16> as Integer(1, 65535),
        /// Window in round-trip times measured by the flow's transport, which replaces `window`
        /// from the first measurement on, at the first port of the flow's route; without it, the
        /// window stays
        round_trips: Option<u16> as Integer(1, 1000),
        /// Rate above which tagging starts: R_T, for a window of a whole sawtooth, or its peak, 4/3
        /// R_T, for one of a round-trip time
        approach: Approach = Approach::Short,
        /// Share of packets that are out above that rate: (average - R_T) / R_T, at random, or all
        tagging: Tagging = Tagging::Probabilistic,
        /// Use of a packet's earlier colour: ignored, or out packets stay out and do not count
        mode: Mode = Mode::Blind,
    }
}

words! {
    /// Rate at which tagging starts.
    pub enum Approach {
        /// At the target rate.
        Long = "long",
        /// At the peak of the sawtooth, 4/3 of the target rate.
        Short = "short",
    }
}

words! {
    /// Share of packets that are tagged out.
    pub enum Tagging {
        /// A share that grows with the rate, at random.
        Probabilistic = "probabilistic",
        /// All.
        Deterministic = "deterministic",
    }
}

impl PolicyParams for TswTaggerParams {
    type Policy = RateMarker<Tagger>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tsw-tagger",
        title: "Time sliding window tagger (TSW)",
        role: Role::Meter { colours: true },
        help: "Tags a profile's packets as in (green) or out (red) of profile, by its estimated rate and its target rate, \
               `reserve`; without one, all are out.",
        source: "Clark and Fang 1998, section III.C",
        params: TswTaggerParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<RateMarker<Tagger>, Refused> {
        let average = Average::of(self.window, self.packets).map_err(|fault| Refused(fault.message))?;
        Ok(RateMarker::new(self.mode, average, Tagger { approach: self.approach, tagging: self.tagging })
            .following(self.round_trips))
    }

    fn example() -> TswTaggerParams {
        TswTaggerParams {
            window: Some(Span::from_millis(100)),
            packets: None,
            round_trips: None,
            approach: Approach::Short,
            tagging: Tagging::Probabilistic,
            mode: Mode::Blind,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Average::of(self.window, self.packets)?;
        check_round_trips(self.packets, self.round_trips)
    }

    fn follows_round_trips(&self) -> Option<&'static str> {
        self.round_trips.map(|_| "round_trips")
    }
}

/// Rule by which packets are tagged out.
#[derive(Clone, Copy)]
pub struct Tagger {
    pub(super) approach: Approach,
    pub(super) tagging: Tagging,
}

impl Rule for Tagger {
    fn colour(&self, &Rates { average, target, .. }: &Rates, rng: &mut Rng) -> Colour {
        let start = match self.approach {
            //= clark1998 III.C
            Approach::Long => target,
            //= clark1998 III.C
            Approach::Short => target * (4.0 / 3.0),
        };
        if average <= start {
            return Colour::Green;
        }
        let probability = match self.tagging {
            //= clark1998 III.C
            Tagging::Probabilistic => (average - target) / target,
            Tagging::Deterministic => 1.0,
        };
        // The probability is infinite without a target.
        //= clark1998 III.D
        if probability >= 1.0 || rng.chance(probability) { Colour::Red } else { Colour::Green }
    }
}
