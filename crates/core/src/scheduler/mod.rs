//! Which flow is served next?
//!
//! A scheduler orders flows. It owns neither packets nor counters: the switch keeps the queues and notifies
//! the scheduler of every change.

pub mod axel;
pub mod axel_unbounded;
mod deadlines;
pub mod deferred;
pub mod drr;
pub mod edf;
mod fair_queueing;
mod fair_rule;
pub mod fifo;
pub mod fifo_plus;
mod floors;
pub mod fq_codel;
pub mod jitter_edd;
pub mod peak_vc;
pub mod pulse;
mod restamped;
pub mod round_robin;
pub mod scfq;
pub mod sfq;
mod stamped;
pub mod strict_priority;
pub mod tdm;
mod turns;
pub mod virtual_clock;
mod virtual_time;
pub mod wf2q_plus;
pub mod wfq;

pub use crate::queues::Participation;
pub use fair_queueing::FairQueueing;
pub use stamped::{StampRule, Stamped};

use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyKind, PolicyParams, PolicyRecord, registry};
use crate::queues::{Queued, Queues};
use crate::stats::Count;
use crate::units::{Rate, Span, Time};

/// The packet that a scheduler would send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The first packet of this flow.
    Flow(FlowIx),
    /// Nothing before this time.
    NotBefore(Time),
    /// Nothing: no flow that takes part has a packet.
    Idle,
}

/// Why a packet left its queue without being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It was the flow's latest, and the pool was exhausted.
    PushedOut,
    /// It was the flow's first, selected, and a dropper did not let it leave.
    DroppedAtHead,
}

/// How long a scheduler that does not know when a flow is forgettable puts the question off.
const ASK_AGAIN: Span = Span::from_millis(1);

/// Orders the flows of one node. Indices are dense and local to the node; `set_flow` comes
/// before any other call for a flow, and the same index may later be set for another flow,
/// once it is forgettable. Time never runs backwards over the calls at one node.
///
/// The node keeps the queues, how each flow takes part ([`Queues::participation`]) and the index
/// by which push-out finds its packet.
pub trait Scheduler {
    /// The rate of the server behind the node: of a port its link's, of a class the least of its
    /// ceiling and the servers above it; `None` when it is unknown. Comes before the first flow,
    /// and again when the rate changes.
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let _ = (now, rate);
    }

    /// Opens a flow or changes its contract; its queue stays as it is. A refusal changes nothing.
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused>;

    /// Until when the flow, with an empty queue, would differ from a newcomer: closing and opening it again
    /// must not clear its debt. The time is not after `now` when it does not differ: closing it then changes
    /// nothing for any flow. A time after `now` is when to ask again, because packets that come until then
    /// may postpone it.
    fn forgettable_at(&self, now: Time, flow: FlowIx, queues: &Queues) -> Time;

    /// A packet of `packet.flow` is about to be pushed; writes its tag. It came at
    /// `packet.arrived`, which is before `cx.now` for the token of a class that has waited.
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues);

    /// A packet of `packet.flow` comes to an empty node whose server is free: [`enqueue`](Self::enqueue),
    /// [`select`](Self::select) and [`dequeued`](Self::dequeued) at once, without a place in the queue. False, with nothing
    /// changed, where only these can say whether the packet is sent now.
    fn pass(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) -> bool {
        let _ = (cx, packet, queues);
        false
    }

    /// Real time has passed: packets that became eligible may now be selected. Comes before
    /// [`select`](Self::select).
    fn advance(&mut self, now: Time, queues: &Queues) {
        let _ = (now, queues);
    }

    /// The packet to send now. Pure: asking twice changes nothing.
    fn select(&self, now: Time, queues: &Queues) -> Select;

    /// Service begins: `packet` has just been popped from the front of its flow's queue. The value written to
    /// it (`carry`) leaves with it.
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues);

    /// Reads what it and the queues will be asked for soon, where several flows have just come near to being selected:
    /// reads that wait for memory together cost little more than one. Returns these flows, so that the driver reads what
    /// it knows of them. Comes after [`dequeued`](Self::dequeued); nothing depends on it but time.
    fn read_ahead(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        let _ = queues;
        None
    }

    /// `packet` has just been taken out of its flow's queue and will not be sent. Clocks keep the
    /// advance.
    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal);

    /// Push-out's order among the latest packets of all flows: the greatest loses first, of
    /// equal ones the latest arrival. A class has its token queued, as a packet, and `behind` is what it
    /// has queued beyond that; of a flow it is nothing. May change only with these two, the flow's contract
    /// and how it takes part.
    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        let _ = (flow, last, behind);
        0
    }

    /// The flow takes part as [`Queues::participation`] says now, and took part as `before` says
    /// until now. Flows begin active.
    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues);

    /// The flow's monitor has checked it, at a packet that is about to arrive: its VirtualClock
    /// reads `virtual_clock`. `in_service` is the flow and the tag of the packet that the link is
    /// sending, if it was queued at this node. Later stamps may change; the order within the flow may not.
    fn synchronise(
        &mut self,
        flow: FlowIx,
        virtual_clock: Time,
        in_service: Option<(FlowIx, u64)>,
        queues: &Queues,
    ) {
        let _ = (flow, virtual_clock, in_service, queues);
    }

    /// The flow is closed and its queue is empty: its reservation is free again. Its debts stay until
    /// [`forgettable_at`](Self::forgettable_at).
    fn release(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// By how much the flow's clock is ahead of real time, or its tags of virtual time; zero for a scheduler that has
    /// neither.
    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        let _ = (now, flow);
        Span::ZERO
    }

    /// Shows the flow's state at `now`, by name and in base units (seconds, bytes, bit/s): for probes and
    /// metrics.
    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = (now, flow, show);
    }

    /// Bytes of memory held, for the memory report.
    fn memory(&self) -> usize;
}

/// How to make a scheduler, as a plan holds it.
pub type SchedulerKind = PolicyKind<BuiltInScheduler, dyn Scheduler + Send>;

impl SchedulerKind {
    /// A new scheduler of this kind, without flows.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<AnyScheduler, Refused> {
        self.make_with(AnyScheduler::built_in, AnyScheduler::Custom)
    }
}

/// Writes the registry: [`BuiltInScheduler`], and the enum of schedulers with its dispatch. What those do that are named first
/// is inlined where packets come and go; the others cost a call.
macro_rules! schedulers {
    (inlined: $($inlined:ident),*; $($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in scheduler with its parameters.
            pub enum BuiltInScheduler { $($variant($params),)* }
        }

        /// Every scheduler: the built-in ones without a pointer, `Custom` for the others.
        // The tag in a byte of its own is read faster than one hidden in a variant's data.
        #[repr(u8)]
        pub enum AnyScheduler {
            $(#[doc = concat!("Of [`", stringify!($params), "`].")] $variant(<$params as PolicyParams>::Made),)*
            /// A scheduler written outside this crate.
            Custom(Box<dyn Scheduler + Send>),
        }

        impl AnyScheduler {
            fn built_in(scheduler: &BuiltInScheduler) -> Result<AnyScheduler, Refused> {
                match scheduler {
                    $(BuiltInScheduler::$variant(params) => params.make().map(AnyScheduler::$variant),)*
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

// The registry: one line a scheduler.
schedulers! {
    inlined: Fifo, VirtualClock;
    Fifo(fifo::FifoParams),
    StrictPriority(strict_priority::StrictPriorityParams),
    VirtualClock(virtual_clock::VirtualClockParams),
    Tdm(tdm::TdmParams),
    PeakVc(peak_vc::PeakVcParams),
    Pulse(pulse::PulseParams),
    Deferred(deferred::DeferredParams),
    AxelUnbounded(axel_unbounded::AxelUnboundedParams),
    Axel(axel::AxelParams),
    Wfq(wfq::WfqParams),
    Wf2qPlus(wf2q_plus::Wf2qPlusParams),
    Scfq(scfq::ScfqParams),
    Sfq(sfq::SfqParams),
    FifoPlus(fifo_plus::FifoPlusParams),
    RoundRobin(round_robin::RoundRobinParams),
    Drr(drr::DrrParams),
    FqCodel(fq_codel::FqCodelParams),
    Edf(edf::EdfParams),
    JitterEdd(jitter_edd::JitterEddParams),
}

/// The scheduler of a port that names none.
pub const DEFAULT: &PolicyRecord = &fifo::FifoParams::RECORD;

/// The scheduler of a port or a class that names none where people share a real link: fair at once, whatever flows have sent
/// before.
pub const FAIR_DEFAULT: &PolicyRecord = &wf2q_plus::Wf2qPlusParams::RECORD;

// Behind the registry, whose macros it uses.
mod dispatch;
