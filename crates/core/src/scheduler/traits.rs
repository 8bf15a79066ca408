//! The trait of schedulers, and what they select.

use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::{Participation, Queued, Queues};
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

/// Cause that holds back a flow's first packet, whatever other packets there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// It is sent in a slot of its flow.
    Slot,
    /// It is not eligible yet.
    Regulator,
}

/// Cause for which a packet left its queue without being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It was its flow's latest packet when the pool was exhausted.
    PushedOut,
    /// It was its flow's first packet and had been selected, but a dropper did not let it leave.
    DroppedAtHead,
}

/// Time until the next query, for a scheduler that cannot tell when a flow becomes forgettable.
pub(super) const ASK_AGAIN: Span = Span::from_millis(1);

/// Orders the flows of one node. Indices are dense and local to the node; `set_flow` comes before
/// any other call for a flow. Once the flow is forgettable, its index may be set for another flow.
/// Time never runs backwards from one call to the next at a node.
///
/// The node keeps the queues, the participation of each flow ([`Queues::participation`]) and the
/// index by which push-out finds its packet.
pub trait Scheduler {
    /// Sets the rate of the server behind the node: for a port, the rate of its link; for a class,
    /// the least of its ceiling and the rates of the servers above it; `None` when it is unknown.
    /// Called before the first flow is set, and again when the rate changes.
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let _ = (now, rate);
    }

    /// Makes the node a class: its server also sends for others, so its service does not follow
    /// from the elapsed time. Called before the rate is set.
    fn follow_service(&mut self) {}

    /// Opens a flow or changes its contract; its queue stays as it is. A refusal changes nothing.
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused>;

    /// Returns the time until which the flow, with an empty queue, would differ from a newcomer:
    /// closing and reopening it must not clear its debt. If it does not differ, the time is not
    /// after `now`, and closing it changes nothing for any flow. If the time is after `now`, ask
    /// again then, because packets that arrive in the meantime may postpone it.
    fn forgettable_at(&self, now: Time, flow: FlowIx, queues: &Queues) -> Time;

    /// Writes the tag of a packet of `packet.flow` that is about to be pushed. The packet arrived
    /// at `packet.arrived`, which is before `cx.now` for the token of a class that has waited.
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues);

    /// Passes a packet of `packet.flow` that arrives at an empty node whose server is free:
    /// [`enqueue`](Self::enqueue), [`select`](Self::select) and [`dequeued`](Self::dequeued) in one
    /// step, without queueing it. Returns false, with nothing changed, if only these calls can
    /// decide whether the packet is sent now.
    fn pass(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) -> bool {
        let _ = (cx, packet, queues);
        false
    }

    /// Returns true if packets are served in the order in which they arrived, whatever their flow.
    /// While every flow takes part, the node may then hold them in one line, of which the
    /// scheduler is told only when the node gives it up.
    fn serves_in_order(&self) -> bool {
        false
    }

    /// Adds a packet of `flow` behind all others, when the node gives up its line.
    fn join(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// Advances to real time `now`: packets that have become eligible may be selected. Called
    /// before [`select`](Self::select).
    fn advance(&mut self, now: Time, queues: &Queues) {
        let _ = (now, queues);
    }

    /// Returns the packet to send now. Pure: a repeated call returns the same.
    fn select(&self, now: Time, queues: &Queues) -> Select;

    /// Returns the cause that holds back the flow's first packet now, whatever other packets there
    /// are, and until when. `None` for a work-conserving scheduler, and without a cause. For the
    /// diagnosis of delays.
    fn holds(&self, now: Time, flow: FlowIx, queues: &Queues) -> Option<(Hold, Time)> {
        let _ = (now, flow, queues);
        None
    }

    /// Begins service of `packet`, which has just been popped from the front of its flow's queue.
    /// The value written to it (`carry`) leaves with it.
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues);

    /// Prefetches the data of flows that have just come near to being selected, its own and that of
    /// the queues: reads that wait for memory together cost little more than one. Returns these
    /// flows, so that the driver can prefetch its own data about them. Called after
    /// [`dequeued`](Self::dequeued); affects running time only.
    fn read_ahead(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        let _ = queues;
        None
    }

    /// Gives the flow's only packet, the token of a class, a new length before its service begins,
    /// and a new stamp to match; the token has the old one in its queue until then. Returns false,
    /// with nothing changed, if its stamp stays: the difference is charged with the next token.
    fn resize(&mut self, now: Time, flow: FlowIx, len: u32, queues: &Queues) -> bool {
        let _ = (now, flow, len, queues);
        false
    }

    /// Reports that `packet` has just been taken out of its flow's queue and will not be sent.
    /// Clocks keep the advance.
    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal);

    /// Rank of a flow's latest packet for push-out: the greatest rank loses first, and among equal
    /// ranks the latest arrival. A class has its token queued as a packet, and `behind` is what the
    /// class has queued beyond that token; for a flow, `behind` is zero. The rank may change only
    /// with `last`, `behind`, the flow's contract and its participation.
    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        let _ = (flow, last, behind);
        0
    }

    /// Returns true if push-out takes the latest packet of the member with the largest backlog, in
    /// the unit of the pool's limit, instead of the one with the greatest
    /// [`rank_to_lose`](Self::rank_to_lose). A member's only packet goes when no other has two.
    fn loses_by_length(&self) -> bool {
        false
    }

    /// Changes the participation of a flow from `before` to [`Queues::participation`]. Flows begin
    /// active.
    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues);

    /// Reports a check by the flow's monitor, at a packet that is about to arrive: the flow's
    /// VirtualClock reads `virtual_clock`. `in_service` holds the flow and the tag of the packet
    /// that the link is sending, if that packet was queued at this node. Later stamps may change;
    /// the order within the flow may not.
    fn synchronise(
        &mut self,
        flow: FlowIx,
        virtual_clock: Time,
        in_service: Option<(FlowIx, u64)>,
        queues: &Queues,
    ) {
        let _ = (flow, virtual_clock, in_service, queues);
    }

    /// Frees the reservation of a flow that is closed and whose queue is empty. Its debts stay
    /// until [`forgettable_at`](Self::forgettable_at).
    fn release(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// Returns the time at which a line of the flow's own, which has its reserved rate, begins with the
    /// flow's first packet; without one, the time at which it is free. It may be before `now`. `None`
    /// for a scheduler that has no such time, and for a flow that has none. It outlives the scheduler: a
    /// reload hands it to the next with [`resume`](Self::resume).
    fn own_line(&self, now: Time, flow: FlowIx, queues: &Queues) -> Option<Time> {
        let _ = (now, flow, queues);
        None
    }

    /// Sets that time for a flow without packets at a new scheduler, before the packets that wait at
    /// the node are pushed. Called for every flow, and then [`resumed`](Self::resumed) once they have
    /// been pushed.
    fn resume(&mut self, now: Time, flow: FlowIx, own_line: Time) {
        let _ = (now, flow, own_line);
    }

    /// Ends what [`resume`](Self::resume) began. The server is still sending a packet of `in_service`
    /// bytes, or none.
    fn resumed(&mut self, now: Time, in_service: Option<u32>, queues: &Queues) {
        let _ = (now, in_service, queues);
    }

    /// Lead of the flow's clock over real time, or of its tags over virtual time; zero for a
    /// scheduler that has neither.
    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        let _ = (now, flow);
        Span::ZERO
    }

    /// Shows the flow's state at `now`, by name and in base units (seconds, bytes, bit/s): for
    /// probes and metrics.
    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = (now, flow, show);
    }

    /// Bytes of memory held, for the memory report.
    fn memory(&self) -> usize;
}
