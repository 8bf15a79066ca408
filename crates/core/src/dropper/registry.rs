//! The registry of built-in droppers.

use super::traits::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyKind, PolicyParams, registry};
use crate::units::{Rate, Time};
use alloc::boxed::Box;

/// Kind of a dropper, as a plan holds it.
pub type DropperKind = PolicyKind<BuiltInDropper, dyn Dropper + Send>;

impl DropperKind {
    /// A dropper written outside this crate. A plan needs no more; for a name in files, see
    /// [`policies`](crate::policies).
    pub fn outside<T: PolicyParams<Policy: Dropper + Send + 'static>>(params: T) -> DropperKind {
        PolicyKind::declared(params, |dropper| Box::new(dropper))
    }

    /// A new dropper of this kind.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<AnyDropper, Refused> {
        self.make_with(AnyDropper::built_in, AnyDropper::Custom)
    }
}

/// Writes the registry: [`BuiltInDropper`], and the enum of droppers with its dispatch.
macro_rules! droppers {
    ($($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in dropper with its parameters.
            pub enum BuiltInDropper { $($variant($params),)* }
        }

        /// Every dropper: the built-in ones without a pointer, `Custom` for the others.
        pub enum AnyDropper {
            $(#[doc = concat!("Of [`", stringify!($params), "`].")] $variant(<$params as PolicyParams>::Policy),)*
            /// A dropper written outside this crate.
            Custom(Box<dyn Dropper + Send>),
        }

        impl AnyDropper {
            fn built_in(dropper: &BuiltInDropper) -> Result<AnyDropper, Refused> {
                match dropper {
                    $(BuiltInDropper::$variant(params) => params.make().map(AnyDropper::$variant),)*
                }
            }
        }

        macro_rules! each {
            ($self:expr, $dropper:ident => $call:expr) => {
                match $self {
                    $(AnyDropper::$variant($dropper) => $call,)*
                    AnyDropper::Custom($dropper) => $call,
                }
            };
        }
    };
}

// The registry: one line a dropper.
droppers! {
    DropTail(super::drop_tail::DropTailParams),
    Red(super::red::RedParams),
    Rio(super::rio::RioParams),
    Wred(super::wred::WredParams),
    Codel(super::codel::CodelParams),
    Pie(super::pie::PieParams),
    CoupledPi2(super::coupled_pi2::CoupledPi2Params),
}

impl Dropper for AnyDropper {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        each!(self, d => d.set_rate(now, rate))
    }

    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract) {
        each!(self, d => d.set_flow(now, flow, contract))
    }

    #[inline]
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        each!(self, d => d.arrive(cx, packet, at))
    }

    fn looks_at_head(&self) -> bool {
        each!(self, d => d.looks_at_head())
    }

    #[inline]
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        each!(self, d => d.head(cx, packet, at))
    }

    #[inline]
    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy, how: Left) {
        each!(self, d => d.left(cx, packet, at, how))
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        each!(self, d => d.gauges(show))
    }
}
