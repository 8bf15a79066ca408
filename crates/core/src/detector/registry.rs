//! The registry of built-in detectors.

use super::drop_history::DropHistoryParams;
use super::traits::Detector;
use crate::context::{Ctx, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet, PortIx};
use crate::params::{PolicyKind, PolicyParams, PolicyRecord, registry};
use alloc::boxed::Box;

/// Kind of a detector, as a plan holds it.
pub type DetectorKind = PolicyKind<BuiltInDetector, dyn Detector + Send>;

impl DetectorKind {
    /// A detector written outside this crate. A plan needs no more; for a name in files, see
    /// [`policies`](crate::policies).
    pub fn outside<T: PolicyParams<Policy: Detector + Send + 'static>>(params: T) -> DetectorKind {
        PolicyKind::declared(params, |detector| Box::new(detector))
    }

    /// A new detector of this kind, which has seen no packet.
    ///
    /// # Errors
    /// When a value is out of the detector's range.
    pub fn build(&self) -> Result<AnyDetector, Refused> {
        self.make_with(AnyDetector::built_in, AnyDetector::Custom)
    }
}

/// Writes the registry: [`BuiltInDetector`], and the enum of detectors with its dispatch.
macro_rules! detectors {
    ($($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in detector with its parameters.
            pub enum BuiltInDetector { $($variant($params),)* }
        }

        /// Every detector: the built-in ones without a pointer, `Custom` for the others.
        pub enum AnyDetector {
            $(#[doc = concat!("Of [`", stringify!($params), "`].")] $variant(<$params as PolicyParams>::Policy),)*
            /// A detector written outside this crate.
            Custom(Box<dyn Detector + Send>),
        }

        impl AnyDetector {
            fn built_in(detector: &BuiltInDetector) -> Result<AnyDetector, Refused> {
                match detector {
                    $(BuiltInDetector::$variant(params) => params.make().map(AnyDetector::$variant),)*
                }
            }
        }

        macro_rules! each {
            ($self:expr, $detector:ident => $call:expr) => {
                match $self {
                    $(AnyDetector::$variant($detector) => $call,)*
                    AnyDetector::Custom($detector) => $call,
                }
            };
        }
    };
}

// The registry: one line a detector.
detectors! {
    DropHistory(super::drop_history::DropHistoryParams),
}

/// The detector that a table without a kind is.
pub const DEFAULT: &PolicyRecord = &DropHistoryParams::RECORD;

impl Detector for AnyDetector {
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        each!(self, d => d.set_flow(flow, contract))
    }

    fn forget(&mut self, flow: FlowIx) {
        each!(self, d => d.forget(flow))
    }

    fn dropped(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) {
        each!(self, d => d.dropped(cx, port, packet))
    }

    #[inline]
    fn sees_arrivals(&self) -> bool {
        each!(self, d => d.sees_arrivals())
    }

    fn arrive(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) -> Verdict {
        each!(self, d => d.arrive(cx, port, packet))
    }
}
