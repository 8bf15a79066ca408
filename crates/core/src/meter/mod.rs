//! Does a flow, or several flows together, keep a profile?

pub mod clearing;
pub mod estimator;
pub mod flow_monitor;
pub mod marker;
pub mod mode;
pub mod policer;
mod profiles;
pub mod rate_marker;
pub mod srtcm;
mod tokens;
pub mod trtcm;
pub mod tsw2cm;
pub mod tsw3cm;
pub mod tsw_tagger;

pub use profiles::Usage;

use crate::context::{Ctx, Finding, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::Packet;
use crate::params::{Fault, Member, NodeContext, PolicyKind, PolicyParams, PolicyRecord, registry};
use crate::units::{Span, Time};
use flow_monitor::FlowMonitorParams;

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

/// Kind of a meter, as a plan holds it.
pub type MeterKind = PolicyKind<BuiltInMeter, dyn Meter + Send>;

/// Writes the registry: [`BuiltInMeter`], and the construction of each meter.
macro_rules! meters {
    ($($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in meter with its parameters.
            pub enum BuiltInMeter { $($variant($params),)* }
        }

        impl MeterKind {
            /// Makes a new meter of this kind, without profiles.
            ///
            /// # Errors
            /// When a parameter that depends on the link is missing.
            pub fn build(&self) -> Result<Box<dyn Meter + Send>, Refused> {
                let built_in = |meter: &BuiltInMeter| -> Result<Box<dyn Meter + Send>, Refused> {
                    match meter {
                        $(BuiltInMeter::$variant(params) => Ok(Box::new(params.make()?)),)*
                    }
                };
                self.make_with(built_in, |meter| meter)
            }
        }
    };
}

// The registry: one line a meter.
meters! {
    FlowMonitor(flow_monitor::FlowMonitorParams),
    Policer(policer::PolicerParams),
    SrTcm(srtcm::SrTcmParams),
    TrTcm(trtcm::TrTcmParams),
    TswTagger(tsw_tagger::TswTaggerParams),
    Tsw2Cm(tsw2cm::Tsw2CmParams),
    Tsw3Cm(tsw3cm::Tsw3CmParams),
    Clearing(clearing::ClearingParams),
}

/// The meter of a port that names none.
pub const DEFAULT: &PolicyRecord = &FlowMonitorParams::RECORD;

/// Checks that each profile with a rate has a committed burst, and that no burst is smaller than a
/// packet of the profile: such packets would never conform (RFC 2697 and 2698, section 2).
///
/// # Errors
/// At the member of the first that has none, or too small a one.
fn check_bursts(node: &NodeContext<'_>) -> Result<(), Fault> {
    for (index, Member { contract, largest, .. }) in node.members.iter().enumerate() {
        if contract.reserve.is_none() {
            continue;
        }
        let Some(committed) = contract.committed_burst() else {
            let message = "it has no committed burst size (CBS): state its `workahead`, or its `interval`";
            return Err(Fault::of(index, 0, "workahead", message));
        };
        let bursts = [("workahead", Some(committed)), ("peak_burst", contract.peak_burst)];
        for (key, burst) in bursts {
            if let Some(burst) = burst.filter(|burst| burst < largest) {
                let message =
                    format!("its `{key}` ({burst}B) is smaller than its largest packet ({largest}B)");
                return Err(Fault::of(index, 0, key, message));
            }
        }
    }
    Ok(())
}
