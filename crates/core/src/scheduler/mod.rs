//! Which flow sends next?
//!
//! A scheduler orders flows. It owns neither packets nor counters: the switch keeps the
//! queues and tells the scheduler what happened to them.

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
use crate::units::{Rate, Time};

/// What a scheduler would send now.
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

/// Orders the flows of one node. Indices are dense and local to the node; `set_flow` comes
/// before any other call for a flow, and the same index may later be set for another flow,
/// once `forgettable_at` has passed. Time never runs backwards over the calls at one node.
///
/// The node keeps the queues, how each flow takes part ([`Queues::participation`]) and the index
/// by which push-out finds its packet.
pub trait Scheduler {
    /// The rate of the server behind the node: of a port its link's, of a class the least of its
    /// ceiling and what is above it; `None` when nobody knows it. Comes before the first flow,
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

    /// Until when the flow, were its queue empty, would differ from a newcomer: closing and
    /// opening again is no escape from debt.
    fn forgettable_at(&self, flow: FlowIx) -> Time;

    /// A packet of `packet.flow` is about to be pushed; writes its tag. It came at
    /// `packet.arrived`, which is before `cx.now` for the token of a class that has waited.
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues);

    /// Real time has passed: what became eligible may now be selected. Comes before
    /// [`select`](Self::select).
    fn advance(&mut self, now: Time, queues: &Queues) {
        let _ = (now, queues);
    }

    /// What to send now. Pure: asking twice changes nothing.
    fn select(&self, now: Time, queues: &Queues) -> Select;

    /// Service begins: `packet` has just been popped from the front of its flow's queue. What is
    /// written to it (`carry`) leaves with it.
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
    /// equal ones the latest arrival. May change only with the flow's latest packet, its contract
    /// and how it takes part.
    fn rank_to_lose(&self, flow: FlowIx, last: &Queued) -> u64 {
        let _ = (flow, last);
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

    /// The flow is closed and its queue is empty: what it was promised is free again. Its debts
    /// stay until [`forgettable_at`](Self::forgettable_at).
    fn release(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// Shows what is to be seen of the flow at `now`, by name and in base units (seconds, bytes,
    /// bit/s): for probes and metrics.
    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = (now, flow, show);
    }

    /// Bytes of memory held, for the memory report.
    fn memory(&self) -> usize;
}

/// How to make a scheduler: what a plan holds.
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

impl AnyScheduler {
    /// Selects and pops to `packet`, in one look at what scheduler it is. Whether there was
    /// something to be sent. `ahead` is given the flows of [`Scheduler::read_ahead`].
    #[inline(always)]
    pub fn serve(
        &mut self,
        cx: &mut Ctx<'_>,
        queues: &mut Queues,
        packet: &mut Packet,
        ahead: impl FnOnce(&[FlowIx]),
    ) -> bool {
        each_inlined!(
            self,
            s => s.serve(cx, queues, packet, ahead),
            self.serve_by_call(cx, queues, packet, ahead)
        )
    }

    #[inline(never)]
    fn serve_by_call(
        &mut self,
        cx: &mut Ctx<'_>,
        queues: &mut Queues,
        packet: &mut Packet,
        ahead: impl FnOnce(&[FlowIx]),
    ) -> bool {
        each!(self, s => s.serve(cx, queues, packet, ahead))
    }

    #[inline(never)]
    fn select_by_call(&self, now: Time, queues: &Queues) -> Select {
        each!(self, s => s.select(now, queues))
    }

    #[inline(never)]
    fn advance_by_call(&mut self, now: Time, queues: &Queues) {
        each!(self, s => s.advance(now, queues))
    }

    #[inline(never)]
    fn dequeued_by_call(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        each!(self, s => s.dequeued(cx, packet, queues))
    }

    #[inline(never)]
    fn read_ahead_by_call(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        each!(self, s => s.read_ahead(queues))
    }

    #[inline(never)]
    fn enqueue_by_call(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        each!(self, s => s.enqueue(cx, packet, queues))
    }
}

/// [`AnyScheduler::serve`] for one kind of scheduler.
trait Serve: Scheduler {
    #[inline(always)]
    fn serve(
        &mut self,
        cx: &mut Ctx<'_>,
        queues: &mut Queues,
        packet: &mut Packet,
        ahead: impl FnOnce(&[FlowIx]),
    ) -> bool {
        self.advance(cx.now, queues);
        let Select::Flow(flow) = self.select(cx.now, queues) else { return false };
        let Some(first) = queues.pop_first(flow) else { return false };
        *packet = first.packet;
        self.dequeued(cx, packet, queues);
        if let Some(near) = self.read_ahead(queues) {
            ahead(near);
        }
        true
    }
}

impl<S: Scheduler + ?Sized> Serve for S {}

impl Scheduler for AnyScheduler {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        each!(self, s => s.set_rate(now, rate))
    }

    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        each!(self, s => s.set_flow(now, flow, contract, queues))
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        each!(self, s => s.forgettable_at(flow))
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        each_inlined!(self, s => s.enqueue(cx, packet, queues), {
            // A copy: a packet that no call gets the address of stays in registers.
            let mut passed = *packet;
            self.enqueue_by_call(cx, &mut passed, queues);
            *packet = passed;
        })
    }

    #[inline]
    fn select(&self, now: Time, queues: &Queues) -> Select {
        each_inlined!(self, s => s.select(now, queues), self.select_by_call(now, queues))
    }

    #[inline]
    fn advance(&mut self, now: Time, queues: &Queues) {
        each_inlined!(self, s => s.advance(now, queues), self.advance_by_call(now, queues))
    }

    #[inline]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        each_inlined!(self, s => s.dequeued(cx, packet, queues), self.dequeued_by_call(cx, packet, queues))
    }

    #[inline(always)]
    fn read_ahead(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        each_inlined!(self, s => s.read_ahead(queues), self.read_ahead_by_call(queues))
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        each!(self, s => s.removed(cx, packet, queues, why))
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued) -> u64 {
        each!(self, s => s.rank_to_lose(flow, last))
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        each!(self, s => s.take_part(now, flow, before, queues))
    }

    fn synchronise(
        &mut self,
        flow: FlowIx,
        virtual_clock: Time,
        in_service: Option<(FlowIx, u64)>,
        queues: &Queues,
    ) {
        each!(self, s => s.synchronise(flow, virtual_clock, in_service, queues))
    }

    fn release(&mut self, flow: FlowIx) {
        each!(self, s => s.release(flow))
    }

    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        each!(self, s => s.gauges(now, flow, show))
    }

    fn memory(&self) -> usize {
        each!(self, s => s.memory())
    }
}
