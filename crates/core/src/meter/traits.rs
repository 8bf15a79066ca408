//! The trait of meters, and the result of a meter for a packet.

use super::usage::Usage;
use crate::context::{Ctx, Finding, Verdict};
use crate::contract::Contract;
use crate::packet::Packet;
use crate::units::{Span, Time};

/// A bucket, clock or estimator of one meter: of a flow, or of several flows together. Dense and
/// local to the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileIx(pub u32);

impl ProfileIx {
    /// As an index into a `Vec`.
    #[inline]
    pub const fn ix(self) -> usize {
        self.0 as usize
    }
}

/// The result of a meter for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Decision on the packet.
    pub verdict: Verdict,
    /// Check of the profile's clock at this packet, if there was one.
    pub check: Option<Check>,
    /// The finding about the flow, of which its source is notified.
    pub finding: Option<Finding>,
}

impl From<Verdict> for Reading {
    fn from(verdict: Verdict) -> Reading {
        Reading { verdict, check: None, finding: None }
    }
}

/// A clock at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// VirtualClock after the check, without the packet at which it was made.
    pub virtual_clock: Time,
}

/// The counts of a flow monitor for a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metered {
    /// Checks.
    pub checks: u64,
    /// Checks at which the source was warned.
    pub warnings: u64,
    /// The reading of VirtualClock; zero before the first packet.
    pub virtual_clock: Time,
}

impl Metered {
    /// The counts of a profile without packets.
    pub const NOTHING: Metered = Metered { checks: 0, warnings: 0, virtual_clock: Time::from_ticks(0) };

    /// Time by which VirtualClock is ahead of real time.
    pub fn lead(&self, now: Time) -> Span {
        self.virtual_clock.since(now)
    }
}

/// Sees every packet that has arrived at a port, when its shaper has let it go and before the
/// droppers, and may colour it or refuse it. It reads the profile that the packet belongs to,
/// which is its flow's own or shared by several flows.
pub trait Meter {
    /// Opens a profile or changes its terms; its counts stay.
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        let _ = (profile, terms);
    }

    /// Returns true if the windows over which the meter averages rates follow round-trip times.
    fn follows_round_trips(&self) -> bool {
        false
    }

    /// Reports a smoothed round-trip time, measured by the transport that sends packets of this
    /// profile. Changes nothing for a meter that does not follow it.
    fn set_round_trip(&mut self, profile: ProfileIx, round_trip: Span) {
        let _ = (profile, round_trip);
    }

    /// Meters a packet of this profile that has arrived.
    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading;

    /// Time until which the profile, without further packets, would differ from a new one. This and
    /// the following calls accept a profile that was never opened: it is a new one.
    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        let _ = profile;
        Time::from_ticks(0)
    }

    /// Gives the index to another profile: a new one.
    fn forget(&mut self, profile: ProfileIx) {
        let _ = profile;
    }

    /// The usage of a profile; `None` when the meter does not report it, or the profile is not
    /// metered.
    fn usage(&self, profile: ProfileIx) -> Option<Usage> {
        let _ = profile;
        None
    }

    /// The counts of a profile by the clock of a flow monitor; `None` for a meter without one.
    fn metered(&self, profile: ProfileIx) -> Option<Metered> {
        let _ = profile;
        None
    }

    /// Bytes of memory held, for the memory report.
    fn memory(&self) -> usize {
        0
    }
}
