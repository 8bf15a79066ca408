//! A policy meter in the host that marks packets of an application's choice (Clark and Fang 1998,
//! section II.E): the chosen ones are *in* (green), and the others are *out* (red). In times of
//! congestion the network favours the former.
//!
//! A packet is chosen by its place in the stream, by its place in a burst, or by its length; the
//! rules add up. A meter with a profile behind it, which is colour-aware, checks that the
//! application does not choose more than it has bought.
//!
//! Choices where the paper is silent:
//! - Packets are counted from the first one of the profile, which is chosen: one in n, and the
//!   first k of a burst.
//! - A burst begins with the first packet, and with each packet that comes at least `pause` after
//!   the one before it.
//! - A packet that came out of profile stays out, and takes its place among the others.

use super::profiles::{Profile, Profiles};
use super::{Meter, ProfileIx, Reading, Usage};
use crate::context::{Ctx, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{Colour, Packet};
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::units::{Span, Time};

parameters! {
    /// Parameters of the selective marker.
    #[derive(Copy, Eq)]
    pub struct SelectiveMarkerParams {
        /// One packet in so many is in profile, beginning with the first; without it, none for its
        /// place in the stream
        every: Option<u16> as Integer(1, 65535),
        /// Packets at the beginning of each burst that are in profile; without it, none for their
        /// place in a burst
        first: Option<u16> as Integer(1, 65535),
        /// Time without a packet after which the next one begins a burst, above zero; needed by
        /// `first`
        pause: Option<Span>,
        /// Longest packet that is in profile for its length; without it, none
        up_to: Option<u32> as Size,
    }
}

impl PolicyParams for SelectiveMarkerParams {
    type Policy = SelectiveMarker;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "selective-marker",
        title: "Selective marker",
        role: Role::Meter { colours: true },
        help: "Colours the packets that an application favours green and its other packets red: one in so \
               many, the first ones of each burst, or short ones.",
        source: "Clark and Fang 1998, section II.E",
        params: SelectiveMarkerParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<SelectiveMarker, Refused> {
        Ok(SelectiveMarker { choice: *self, profiles: Profiles::new(Stream::default()) })
    }

    fn example() -> SelectiveMarkerParams {
        SelectiveMarkerParams {
            every: Some(5),
            first: Some(2),
            pause: Some(Span::from_millis(20)),
            up_to: Some(100),
        }
    }

    fn reads_colours(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), Fault> {
        let SelectiveMarkerParams { every, first, pause, up_to } = *self;
        match (first, pause) {
            (Some(_), None) => return Err(Fault::at("first", "`first` needs a `pause`, which ends a burst")),
            (None, Some(_)) => return Err(Fault::at("pause", "`pause` has no effect without `first`")),
            (_, Some(Span::ZERO)) => return Err(Fault::at("pause", "`pause` is zero")),
            _ => {}
        }
        if every.is_none() && first.is_none() && up_to.is_none() {
            return Err(Fault::at("every", "nothing is chosen: state `every`, `first` or `up_to`"));
        }
        Ok(())
    }
}

/// Place of the next packet of a profile.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// Packets since the last one that was chosen by `every`, that one included; 0 before the
    /// first packet, and when the next one is chosen.
    passed: u16,
    /// Packets of the present burst, up to `first`.
    of_burst: u16,
    /// Arrival of the packet before; `None` before the first.
    before: Option<Time>,
}

/// The streams of profiles, and the choice of packets.
pub struct SelectiveMarker {
    choice: SelectiveMarkerParams,
    profiles: Profiles<Stream>,
}

impl Stream {
    /// Returns true if a packet of `len` bytes that arrives now is chosen; it then has its place.
    fn chooses(&mut self, choice: &SelectiveMarkerParams, now: Time, len: u32) -> bool {
        let by_number = choice.every.is_some_and(|every| {
            let chosen = self.passed == 0;
            self.passed = (self.passed + 1) % every;
            chosen
        });
        let in_burst = choice.first.zip(choice.pause).is_some_and(|(first, pause)| {
            if self.before.is_none_or(|before| now.since(before) >= pause) {
                self.of_burst = 0;
            }
            self.before = Some(now);
            let chosen = self.of_burst < first;
            self.of_burst += u16::from(chosen);
            chosen
        });
        by_number || in_burst || choice.up_to.is_some_and(|up_to| len <= up_to)
    }
}

impl Meter for SelectiveMarker {
    fn set_profile(&mut self, profile: ProfileIx, _: &Contract) {
        self.profiles.open(profile);
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let Some(Profile { state, usage }) = self.profiles.get_mut(profile) else {
            return Verdict::Accept.into();
        };
        //= clark1998 II.E
        let colour = match state.chooses(&self.choice, cx.now, packet.len) {
            true => packet.mark.shown_colour(),
            false => Colour::Red,
        };
        usage.add(colour, packet.len);
        packet.mark = packet.mark.coloured(colour);
        Verdict::Accept.into()
    }

    /// A stream that chooses by number has its place for ever, but for that of a new one.
    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        let Some(stream) = self.profiles.get(profile) else { return Time::from_ticks(0) };
        match (stream.passed, stream.before, self.choice.pause) {
            (1.., ..) => Time::NEVER,
            (0, Some(before), Some(pause)) => before + pause,
            _ => Time::from_ticks(0),
        }
    }

    fn forget(&mut self, profile: ProfileIx) {
        self.profiles.forget(profile);
    }

    fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        self.profiles.usage(profile)
    }

    fn memory(&self) -> usize {
        self.profiles.memory()
    }
}
