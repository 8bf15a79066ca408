//! Schedulers that stamp packets and serve them in the order of their stamps: the part
//! that they share. A rule says what the stamp is.

use super::fifo::InOrder;
use super::{Gate, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::flow_heap::{FlowHeap, Rank};
use crate::packet::{FlowIx, Packet};
use crate::queues::{Queued, Queues};
use crate::units::Time;

/// How packets are stamped. Stamps of one flow never decrease; equal keys are served in
/// the order of arrival.
pub trait StampRule {
    /// Opens a flow or changes its contract.
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused>;

    /// See [`Scheduler::forgettable_at`].
    fn forgettable_at(&self, flow: FlowIx) -> Time;

    /// Writes the tag of a packet that is about to be pushed.
    fn stamp(&mut self, now: Time, packet: &mut Packet, queues: &Queues);

    /// What a packet of `flow` is ranked by now: smaller is sooner.
    fn key(&self, flow: FlowIx, tag: u64) -> u64;

    /// The flow was absent and takes part again, with `head` in front of its queue: changes
    /// its keys so that it gains nothing by its absence.
    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, queues: &Queues);

    /// See [`Scheduler::synchronise`].
    fn synchronise(
        &mut self,
        flow: FlowIx,
        virtual_clock: Time,
        in_service: Option<(FlowIx, u64)>,
        queues: &Queues,
    ) {
        let _ = (flow, virtual_clock, in_service, queues);
    }

    /// See [`Scheduler::release`].
    fn release(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize;
}

/// A scheduler that serves packets in the order of the stamps of rule `R`.
#[derive(Default)]
pub struct Stamped<R> {
    rule: R,
    /// Flows that may be selected, by the rank of their first packet.
    heads: FlowHeap,
    /// Backlogged flows by the rank of their latest packet, the greatest on top. Kept only
    /// from the first push-out until the node is empty: most links never push out.
    tails: Option<FlowHeap>,
    gates: Vec<Gate>,
}

/// The order of a heap with the greatest rank on top.
fn reversed((key, order): Rank) -> Rank {
    (!key, !order)
}

impl<R: StampRule> Stamped<R> {
    /// A scheduler of this rule, without flows.
    pub fn new(rule: R) -> Stamped<R> {
        Stamped { rule, heads: FlowHeap::default(), tails: None, gates: Vec::new() }
    }

    #[inline]
    fn rank(&self, flow: FlowIx, queued: &Queued) -> Rank {
        (self.rule.key(flow, queued.packet.tag), queued.order)
    }
}

impl<R: StampRule> Scheduler for Stamped<R> {
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.rule.set_flow(now, flow, contract, queues)?;
        self.reach(flow);
        self.refresh(flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.rule.forgettable_at(flow)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.rule.stamp(cx.now, packet, queues);
        let flow = packet.flow;
        if queues.len(flow) == 0 && self.gates[flow.ix()] == Gate::Open {
            self.heads.insert(flow, (self.rule.key(flow, packet.tag), queues.arriving()));
        }
        if let Some(tails) = &mut self.tails {
            let rank = (self.rule.key(flow, packet.tag), queues.arriving());
            tails.set(flow, reversed(rank));
        }
    }

    #[inline]
    fn select(&self, _now: Time, _queues: &Queues) -> Select {
        match self.heads.top() {
            Some((_, flow)) => Select::Flow(flow),
            None => Select::Idle,
        }
    }

    #[inline(always)]
    fn dequeued(&mut self, _cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues) {
        let flow = packet.flow;
        match queues.first(flow) {
            Some(head) => self.heads.set(flow, self.rank(flow, head)),
            None => {
                self.heads.remove(flow);
                if let Some(tails) = &mut self.tails {
                    tails.remove(flow);
                    if queues.is_empty() {
                        self.tails = None;
                    }
                }
            }
        }
    }

    fn worst(&mut self, queues: &Queues) -> Option<FlowIx> {
        if self.tails.is_none() {
            let mut tails = FlowHeap::default();
            tails.reach(queues.flows());
            for flow in (0..queues.flows()).map(FlowIx) {
                if let Some(last) = queues.last(flow) {
                    tails.set(flow, reversed(self.rank(flow, last)));
                }
            }
            self.tails = Some(tails);
        }
        self.tails.as_ref()?.top().map(|(_, flow)| flow)
    }

    fn evicted(&mut self, packet: &Packet, queues: &Queues) {
        let flow = packet.flow;
        let rank = queues.last(flow).map(|last| self.rank(flow, last));
        if rank.is_none() {
            self.heads.remove(flow);
        }
        if let Some(tails) = &mut self.tails {
            match rank {
                Some(rank) => tails.set(flow, reversed(rank)),
                None => tails.remove(flow),
            }
        }
    }

    fn gate(&mut self, now: Time, flow: FlowIx, gate: Gate, queues: &Queues) {
        let before = core::mem::replace(&mut self.gates[flow.ix()], gate);
        if before == Gate::Absent
            && gate != Gate::Absent
            && let Some(head) = queues.first(flow)
        {
            self.rule.rejoin(now, flow, &head.packet, queues);
        }
        self.refresh(flow, queues);
    }

    fn synchronise(
        &mut self,
        flow: FlowIx,
        virtual_clock: Time,
        in_service: Option<(FlowIx, u64)>,
        queues: &Queues,
    ) {
        self.rule.synchronise(flow, virtual_clock, in_service, queues);
    }

    fn release(&mut self, flow: FlowIx) {
        self.rule.release(flow);
    }

    fn memory(&self) -> usize {
        let tails = self.tails.as_ref().map_or(0, FlowHeap::memory);
        self.rule.memory() + self.heads.memory() + tails + self.gates.capacity() * size_of::<Gate>()
    }
}

impl Stamped<InOrder> {
    /// Opens a flow, of which nothing needs to be known. What it has queued does not take part
    /// before it is refreshed.
    pub(super) fn open(&mut self, flow: FlowIx) {
        self.rule.reach(flow);
        self.reach(flow);
    }
}

impl<R: StampRule> Stamped<R> {
    fn reach(&mut self, flow: FlowIx) {
        if self.gates.len() <= flow.ix() {
            self.gates.resize(flow.ix() + 1, Gate::Open);
        }
        self.heads.reach(flow.0 + 1);
        if let Some(tails) = &mut self.tails {
            tails.reach(flow.0 + 1);
        }
    }

    pub(super) fn gate_of(&self, flow: FlowIx) -> Gate {
        self.gates[flow.ix()]
    }

    /// Brings the flow's places up to date after its keys or its gate have changed.
    pub(super) fn refresh(&mut self, flow: FlowIx, queues: &Queues) {
        let (Some(first), Some(last)) = (queues.first(flow), queues.last(flow)) else { return };
        if self.gates[flow.ix()] == Gate::Open {
            self.heads.set(flow, self.rank(flow, first));
        } else {
            self.heads.remove(flow);
        }
        let rank = self.rank(flow, last);
        if let Some(tails) = &mut self.tails {
            tails.set(flow, reversed(rank));
        }
    }
}
