//! The registry of built-in congestion controls.

use super::delivery::{Delivery, Ruling};
use super::traits::{Acknowledged, CongestionControl, Windows};
use crate::contract::Refused;
use crate::params::{
    Kind, NamedPolicy, Parameter, PolicyKind, PolicyParams, PolicyValue, Role, Value, registry,
};
use crate::rng::Rng;
use crate::units::{Span, Time};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// Kind of a congestion control, as a plan holds it.
pub type CongestionControlKind = PolicyKind<BuiltInCongestionControl, dyn CongestionControl>;

impl CongestionControlKind {
    /// A congestion control written outside this crate. A plan needs no more; for a name in files,
    /// see [`policies`](crate::policies).
    pub fn outside<T: PolicyParams<Policy: CongestionControl + 'static>>(params: T) -> CongestionControlKind {
        PolicyKind::declared(params, |control| Box::new(control))
    }

    /// A new congestion control of this kind, for one connection.
    ///
    /// # Errors
    /// When a value is out of the control's range.
    pub fn build(&self) -> Result<AnyCongestionControl, Refused> {
        self.make_with(AnyCongestionControl::built_in, AnyCongestionControl::Custom)
    }
}

/// CUBIC, the control of most hosts today (RFC 9438).
impl Default for CongestionControlKind {
    fn default() -> CongestionControlKind {
        PolicyKind::BuiltIn(BuiltInCongestionControl::Cubic(super::cubic::CubicParams {}))
    }
}

/// A congestion control as a parameter of a transport.
impl Parameter for CongestionControlKind {
    const KIND: Kind = Kind::Policy(Role::CongestionControl.name());

    fn of(value: &Value) -> Result<CongestionControlKind, String> {
        let Value::Policy(PolicyValue { name, values }) = value else {
            return Err("is no congestion control".into());
        };
        let read = Self::read(name, values).ok_or_else(|| format!("`{name}` is no congestion control"))?;
        let checked = read.and_then(|control| control.check().map(|()| control));
        checked.map_err(|fault| format!("`{name}`: {}", fault.message))
    }

    fn value(&self, _: Kind) -> Option<Value> {
        Some(Value::Policy(PolicyValue { name: self.record().name.to_owned(), values: self.values() }))
    }
}

/// Writes the registry: [`BuiltInCongestionControl`], and the enum of controls with its dispatch.
macro_rules! congestion_controls {
    ($($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in congestion control with its parameters.
            pub enum BuiltInCongestionControl { $($variant($params),)* }
        }

        /// Every congestion control: the built-in ones without a pointer, `Custom` for the others.
        #[derive(Debug)]
        pub enum AnyCongestionControl {
            $(#[doc = concat!("Of [`", stringify!($params), "`].")] $variant(<$params as PolicyParams>::Policy),)*
            /// A congestion control written outside this crate.
            Custom(Box<dyn CongestionControl>),
        }

        impl AnyCongestionControl {
            fn built_in(control: &BuiltInCongestionControl) -> Result<AnyCongestionControl, Refused> {
                match control {
                    $(BuiltInCongestionControl::$variant(params) => {
                        params.make().map(AnyCongestionControl::$variant)
                    })*
                }
            }
        }

        impl Clone for AnyCongestionControl {
            fn clone(&self) -> AnyCongestionControl {
                match self {
                    $(AnyCongestionControl::$variant(control) => {
                        AnyCongestionControl::$variant(control.clone())
                    })*
                    AnyCongestionControl::Custom(control) => AnyCongestionControl::Custom(control.copy()),
                }
            }
        }

        macro_rules! each {
            ($self:expr, $control:ident => $call:expr) => {
                match $self {
                    $(AnyCongestionControl::$variant($control) => $call,)*
                    AnyCongestionControl::Custom($control) => $call,
                }
            };
        }
    };
}

// The registry: one line a congestion control.
congestion_controls! {
    Reno(super::reno::RenoParams),
    Cubic(super::cubic::CubicParams),
    Dctcp(super::dctcp::DctcpParams),
    Prague(super::prague::PragueParams),
    Bbr(super::bbr::BbrParams),
}

impl CongestionControl for AnyCongestionControl {
    fn count_segments(&mut self) -> bool {
        each!(self, c => c.count_segments())
    }

    fn has_hystart(&self) -> bool {
        each!(self, c => c.has_hystart())
    }

    #[inline]
    fn arrived(&mut self, report: &Acknowledged) {
        each!(self, c => c.arrived(report))
    }

    #[inline]
    fn measured(&mut self, now: Time, rtt: Span) {
        each!(self, c => c.measured(now, rtt))
    }

    #[inline]
    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        each!(self, c => c.grow(windows, report))
    }

    fn avoid(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        each!(self, c => c.avoid(windows, report))
    }

    #[inline]
    fn not_used(&mut self, now: Time) {
        each!(self, c => c.not_used(now))
    }

    #[inline]
    fn grows_beyond(&self, windows: &Windows, flight: u64) -> bool {
        each!(self, c => c.grows_beyond(windows, flight))
    }

    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        each!(self, c => c.decrease(now, windows, flight))
    }

    fn decrease_marked(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        each!(self, c => c.decrease_marked(now, windows, flight))
    }

    fn marked(&mut self, windows: &Windows, report: &Acknowledged) -> Option<u64> {
        each!(self, c => c.marked(windows, report))
    }

    #[inline]
    fn interval(&self, windows: &Windows, bytes: u64) -> Option<Span> {
        each!(self, c => c.interval(windows, bytes))
    }

    fn recovered(&mut self, now: Time) {
        each!(self, c => c.recovered(now))
    }

    fn begin_anew(&mut self, now: Time) {
        each!(self, c => c.begin_anew(now))
    }

    fn has_model(&self) -> bool {
        each!(self, c => c.has_model())
    }

    fn draw_from(&mut self, rng: Rng) {
        each!(self, c => c.draw_from(rng))
    }

    fn begin(&mut self, now: Time, windows: &Windows, srtt: Option<Span>) {
        each!(self, c => c.begin(now, windows, srtt))
    }

    fn resumed(&mut self, now: Time, windows: &Windows) -> u64 {
        each!(self, c => c.resumed(now, windows))
    }

    fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        each!(self, c => c.delivered(windows, delivery))
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        each!(self, c => c.gauges(show))
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        each!(self, c => c.copy())
    }
}
