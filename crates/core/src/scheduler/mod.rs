//! Which flow sends next?
//!
//! A scheduler orders flows. It owns neither packets nor counters: the switch keeps the
//! queues and tells the scheduler what happened to them.

pub mod fifo;
mod stamped;
pub mod strict_priority;
pub mod tdm;
pub mod virtual_clock;

pub use stamped::{StampRule, Stamped};

use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyKind, PolicyParams, PolicyRecord, registry};
use crate::queues::Queues;
use crate::units::Time;

/// What a scheduler would send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The first packet of this flow.
    Flow(FlowIx),
    /// Nothing before this time.
    NotBefore(Time),
    /// Nothing: no open flow has a packet.
    Idle,
}

/// Whether a flow takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Gate {
    /// It takes part.
    #[default]
    Open,
    /// It may not be selected, and keeps its tags: a ceiling. What it was promised in the
    /// meantime it may catch up with.
    Held,
    /// It may not be selected, and rejoins as a newcomer: a flow without credit. It never
    /// gains by having been away, and never loses a debt.
    Absent,
}

/// Orders the flows of one node. Indices are dense and local to the node; `set_flow` comes
/// before any other call for a flow, and the same index may later be set for another flow,
/// once `forgettable_at` has passed.
pub trait Scheduler {
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

    /// A packet of `packet.flow` is about to be pushed; writes its tag.
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues);

    /// What to send now. Pure: asking twice changes nothing.
    fn select(&self, now: Time, queues: &Queues) -> Select;

    /// `packet` has just been popped from the front of its flow's queue to be sent.
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues);

    /// The flow whose latest packet push-out should take; `None` when nothing is queued. May
    /// build an index that later calls keep up, and changes nothing that shows.
    fn worst(&mut self, queues: &Queues) -> Option<FlowIx>;

    /// `packet` has just been taken from the back of its flow's queue. Clocks keep the advance.
    fn evicted(&mut self, packet: &Packet, queues: &Queues);

    /// Opens or closes a flow's gate. Flows start open.
    fn gate(&mut self, now: Time, flow: FlowIx, gate: Gate, queues: &Queues);

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

/// Writes the registry: [`BuiltInScheduler`], and the enum of schedulers with its dispatch.
macro_rules! schedulers {
    ($($variant:ident($params:path),)*) => {
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
    };
}

// The registry: one line a scheduler.
schedulers! {
    Fifo(fifo::FifoParams),
    StrictPriority(strict_priority::StrictPriorityParams),
    VirtualClock(virtual_clock::VirtualClockParams),
    Tdm(tdm::TdmParams),
}

/// The scheduler of a port that names none.
pub const DEFAULT: &PolicyRecord = &fifo::FifoParams::RECORD;

/// What [`AnyScheduler::serve`] has found.
pub(crate) enum Served {
    /// A packet of this member: it is out of its queue.
    Packet(FlowIx),
    /// A member without packets of its own.
    Member(FlowIx),
    /// Nothing that may be sent now.
    Nothing,
}

impl AnyScheduler {
    /// Selects, and pops to `packet` if `flow_of` says that the member is a flow, and which: all
    /// in one look at what scheduler it is.
    #[inline(always)]
    pub(crate) fn serve(
        &mut self,
        cx: &mut Ctx<'_>,
        queues: &mut Queues,
        packet: &mut Packet,
        flow_of: impl Fn(FlowIx) -> Option<FlowIx>,
    ) -> Served {
        each!(self, s => s.serve(cx, queues, packet, flow_of))
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
        flow_of: impl Fn(FlowIx) -> Option<FlowIx>,
    ) -> Served {
        let Select::Flow(slot) = self.select(cx.now, queues) else { return Served::Nothing };
        let Some(flow) = flow_of(slot) else { return Served::Member(slot) };
        let Some(first) = queues.pop_first(slot) else { return Served::Nothing };
        *packet = first.packet;
        self.dequeued(cx, packet, queues);
        packet.flow = flow;
        Served::Packet(slot)
    }
}

impl<S: Scheduler + ?Sized> Serve for S {}

impl Scheduler for AnyScheduler {
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
        each!(self, s => s.enqueue(cx, packet, queues))
    }

    #[inline]
    fn select(&self, now: Time, queues: &Queues) -> Select {
        each!(self, s => s.select(now, queues))
    }

    #[inline]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues) {
        each!(self, s => s.dequeued(cx, packet, queues))
    }

    fn worst(&mut self, queues: &Queues) -> Option<FlowIx> {
        each!(self, s => s.worst(queues))
    }

    fn evicted(&mut self, packet: &Packet, queues: &Queues) {
        each!(self, s => s.evicted(packet, queues))
    }

    fn gate(&mut self, now: Time, flow: FlowIx, gate: Gate, queues: &Queues) {
        each!(self, s => s.gate(now, flow, gate, queues))
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

    fn memory(&self) -> usize {
        each!(self, s => s.memory())
    }
}
