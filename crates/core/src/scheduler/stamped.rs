//! The common part of schedulers that stamp packets and serve them in the order of their stamps. A
//! rule computes the stamp.

use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::{Queued, Queues};
use crate::ranking::Rank;
use crate::ranking::flow_ranks::FlowRanks;
use crate::stats::Count;
use crate::units::{Span, Time};

/// The stamping rule of a scheduler. Stamps of one flow never decrease; equal keys are served in
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

    /// Writes the tag of a packet that is about to be pushed, as of `packet.arrived`: a class loses
    /// nothing by waiting for its turn.
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues);

    /// Returns the current rank of a packet of `flow` with this tag: smaller is sooner.
    fn key(&self, flow: FlowIx, tag: u64) -> u64;

    /// Returns the push-out rank of the latest packet of `flow`, given the tag of the last packet
    /// that has one; see [`Scheduler::rank_to_lose`].
    fn key_behind(&self, flow: FlowIx, tag: u64, behind: Count) -> u64 {
        let _ = behind;
        self.key(flow, tag)
    }

    /// Reports that a packet has become the first of its flow: on its arrival, right after it was
    /// stamped, or when the one before it has left.
    #[inline]
    fn became_first(&mut self, now: Time, first: &Packet) {
        let _ = (now, first);
    }

    /// Changes the keys of a flow that was absent and takes part again, so that it gains nothing by
    /// its absence; `head` is at the front of its queue.
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

    /// Reports that service of a packet has begun; the values written to the packet leave with it.
    #[inline]
    fn dequeued(&mut self, now: Time, packet: &mut Packet, queues: &Queues) {
        let _ = (now, packet, queues);
    }

    /// Prefetches the data needed at the flow's next packet.
    #[inline]
    fn read_ahead(&self, flow: FlowIx) {
        let _ = flow;
    }

    /// See [`Scheduler::release`].
    fn release(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// See [`Scheduler::gauges`].
    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = (now, flow, show);
    }

    /// See [`Scheduler::own_line`].
    fn own_line(&self, flow: FlowIx, queues: &Queues) -> Option<Time> {
        let _ = (flow, queues);
        None
    }

    /// See [`Scheduler::resume`].
    fn resume(&mut self, flow: FlowIx, own_line: Time) {
        let _ = (flow, own_line);
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize;
}

/// A scheduler that serves packets in the order of the stamps of rule `R`.
#[derive(Default)]
pub struct Stamped<R> {
    pub(super) rule: R,
    /// Flows that may be selected, by the rank of their first packet.
    pub(super) heads: FlowRanks,
}

impl<R: StampRule> Stamped<R> {
    /// Creates a scheduler of this rule, without flows.
    pub fn new(rule: R) -> Stamped<R> {
        Stamped { rule, heads: FlowRanks::default() }
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
        self.heads.grow_to(flow.0 + 1);
        self.refresh(flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, _: Time, flow: FlowIx, _: &Queues) -> Time {
        self.rule.forgettable_at(flow)
    }

    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        self.rule.forgettable_at(flow).since(now)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.rule.stamp(packet, queues);
        let flow = packet.flow;
        if queues.len(flow) == 0 {
            self.rule.became_first(cx.now, packet);
            if queues.takes_part(flow) {
                self.heads.insert(flow, (self.rule.key(flow, packet.tag), queues.arriving()));
            }
        }
    }

    #[inline]
    fn select(&self, _now: Time, _queues: &Queues) -> Select {
        //= zhang1991 3.1
        match self.heads.top() {
            Some(flow) => Select::Flow(flow),
            None => Select::Idle,
        }
    }

    #[inline(always)]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.rule.dequeued(cx.now, packet, queues);
        self.renew_head(cx.now, packet.flow, queues);
    }

    #[inline(always)]
    fn read_ahead(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        let near = self.heads.take_near()?;
        near.iter().for_each(|flow| self.rule.read_ahead(*flow));
        queues.read_ahead(near);
        Some(near)
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        match why {
            // Push-out takes the latest packet. The first one is still there, unless the queue is
            // now empty.
            Removal::PushedOut if queues.len(packet.flow) > 0 => {}
            Removal::PushedOut | Removal::DroppedAtHead => self.renew_head(cx.now, packet.flow, queues),
        }
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        self.rule.key_behind(flow, last.packet.tag, behind)
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        if before == Participation::Absent
            && queues.participation(flow) != Participation::Absent
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

    fn own_line(&self, _: Time, flow: FlowIx, queues: &Queues) -> Option<Time> {
        self.rule.own_line(flow, queues)
    }

    fn resume(&mut self, _: Time, flow: FlowIx, own_line: Time) {
        self.rule.resume(flow, own_line);
    }

    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        self.rule.gauges(now, flow, show);
    }

    fn memory(&self) -> usize {
        self.rule.memory() + self.heads.memory()
    }
}

impl<R: StampRule> Stamped<R> {
    /// Updates the place of a flow that may be selected, after its first packet has changed.
    #[inline(always)]
    fn renew_head(&mut self, now: Time, flow: FlowIx, queues: &Queues) {
        match queues.first(flow) {
            Some(head) => {
                self.rule.became_first(now, &head.packet);
                self.heads.set(flow, self.rank(flow, head));
            }
            None => self.heads.remove(flow),
        }
    }

    /// Updates the flow's place after its keys or its participation have changed.
    pub(super) fn refresh(&mut self, flow: FlowIx, queues: &Queues) {
        match queues.first(flow) {
            Some(first) if queues.takes_part(flow) => self.heads.set(flow, self.rank(flow, first)),
            Some(_) => self.heads.remove(flow),
            None => {}
        }
    }
}
