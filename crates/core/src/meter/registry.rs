//! The registry of built-in meters.

use super::flow_monitor::FlowMonitorParams;
use super::traits::Meter;
use crate::contract::Refused;
use crate::params::{PolicyKind, PolicyParams, PolicyRecord, registry};
use alloc::boxed::Box;

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
            /// A meter written outside this crate. A plan needs no more; for a name in files, see
            /// [`policies`](crate::policies).
            pub fn outside<T: PolicyParams<Policy: Meter + Send + 'static>>(params: T) -> MeterKind {
                PolicyKind::declared(params, |meter| Box::new(meter))
            }

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
    FlowMonitor(super::flow_monitor::FlowMonitorParams),
    Policer(super::policer::PolicerParams),
    SrTcm(super::srtcm::SrTcmParams),
    TrTcm(super::trtcm::TrTcmParams),
    TswTagger(super::tsw_tagger::TswTaggerParams),
    Tsw2Cm(super::tsw2cm::Tsw2CmParams),
    Tsw3Cm(super::tsw3cm::Tsw3CmParams),
    Clearing(super::clearing::ClearingParams),
    SelectiveMarker(super::selective_marker::SelectiveMarkerParams),
}

/// The meter of a port that names none.
pub const DEFAULT: &PolicyRecord = &FlowMonitorParams::RECORD;
