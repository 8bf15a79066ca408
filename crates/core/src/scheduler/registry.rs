//! The registry of built-in schedulers.

use super::traits::Scheduler;
use crate::contract::Refused;
use crate::params::{PolicyKind, PolicyParams, PolicyRecord, registry};
use alloc::boxed::Box;

/// A kind of scheduler and its parameters, as held in a plan.
pub type SchedulerKind = PolicyKind<BuiltInScheduler, dyn Scheduler + Send>;

impl SchedulerKind {
    /// A scheduler written outside this crate. A plan needs no more; for a name in files, see
    /// [`policies`](crate::policies).
    pub fn outside<T: PolicyParams<Policy: Scheduler + Send + 'static>>(params: T) -> SchedulerKind {
        PolicyKind::declared(params, |scheduler| Box::new(scheduler))
    }

    /// Builds a new scheduler of this kind, without flows.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<AnyScheduler, Refused> {
        self.make_with(AnyScheduler::built_in, AnyScheduler::Custom)
    }
}

/// The type that holds a scheduler.
macro_rules! held {
    (Fifo, $params:path) => { <$params as PolicyParams>::Policy };
    ($variant:ident, $params:path) => { Box<<$params as PolicyParams>::Policy> };
}

/// Writes the registry: [`BuiltInScheduler`], and the enum of schedulers with its dispatch. The
/// methods of the schedulers named first are inlined on the packet path; the others cost a call.
macro_rules! schedulers {
    (inlined: $($inlined:ident),*; $($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in scheduler with its parameters.
            pub enum BuiltInScheduler { $($variant($params),)* }
        }

        /// Every scheduler: the built-in ones, and `Custom` for the others. A port has room for
        /// the default one; the others have their own.
        // The tag in a byte of its own is read faster than one hidden in a variant's data.
        #[repr(u8)]
        pub enum AnyScheduler {
            $(#[doc = concat!("Of [`", stringify!($params), "`].")] $variant(held!($variant, $params)),)*
            /// A scheduler written outside this crate.
            Custom(Box<dyn Scheduler + Send>),
        }

        impl AnyScheduler {
            fn built_in(scheduler: &BuiltInScheduler) -> Result<AnyScheduler, Refused> {
                match scheduler {
                    $(BuiltInScheduler::$variant(params) => {
                        params.make().map(|made| AnyScheduler::$variant(made.into()))
                    })*
                }
            }
        }

        macro_rules! each {
            ($self:expr, $scheduler:ident => $call:expr) => {
                match $self {
                    $(AnyScheduler::$variant($scheduler) => $call,)*
                    AnyScheduler::Custom($scheduler) => $call,
                }
            };
        }

        macro_rules! each_inlined {
            ($self:expr, $scheduler:ident => $call:expr, $others:expr) => {
                match $self {
                    $(AnyScheduler::$inlined($scheduler) => $call,)*
                    _ => $others,
                }
            };
        }
    };
}

// The registry: one line per scheduler.
schedulers! {
    inlined: Fifo, VirtualClock;
    Fifo(super::fifo::FifoParams),
    StrictPriority(super::strict_priority::StrictPriorityParams),
    VirtualClock(super::virtual_clock::VirtualClockParams),
    Tdm(super::tdm::TdmParams),
    PeakVc(super::peak_vc::PeakVcParams),
    Pulse(super::pulse::PulseParams),
    Deferred(super::deferred::DeferredParams),
    AxelUnbounded(super::axel_unbounded::AxelUnboundedParams),
    Axel(super::axel::AxelParams),
    AxelFloor(super::axel_floor::AxelFloorParams),
    AxelMeasured(super::axel_measured::AxelMeasuredParams),
    Wfq(super::wfq::WfqParams),
    Wf2qPlus(super::wf2q_plus::Wf2qPlusParams),
    Scfq(super::scfq::ScfqParams),
    Sfq(super::sfq::SfqParams),
    FifoPlus(super::fifo_plus::FifoPlusParams),
    TimeShiftedFifo(super::time_shifted_fifo::TimeShiftedFifoParams),
    RoundRobin(super::round_robin::RoundRobinParams),
    Drr(super::drr::DrrParams),
    DrrPlusPlus(super::drr_plus_plus::DrrPlusPlusParams),
    HostDrrPlusPlus(super::host_drr_plus_plus::HostDrrPlusPlusParams),
    TripleIsolate(super::triple_isolate::TripleIsolateParams),
    Edf(super::edf::EdfParams),
    JitterEdd(super::jitter_edd::JitterEddParams),
}

/// The scheduler of a port that names none.
pub const DEFAULT: &PolicyRecord = &super::fifo::FifoParams::RECORD;

// Behind the registry, whose macros it uses.
mod dispatch;
