//! Dispatch on the kind of scheduler: the calls of [`AnyScheduler`].
//!
//! The schedulers that the registry names as inlined cost no call per packet; the others cost one.

use super::AnyScheduler;
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::{Participation, Queued, Queues};
use crate::scheduler::traits::{Hold, Removal, Scheduler, Select};
use crate::stats::Count;
use crate::units::{Rate, Span, Time};

impl AnyScheduler {
    /// Selects a packet and pops it into `packet`, with one dispatch on the kind of scheduler.
    /// Returns false if there was no packet to send. `ahead` is called with the flows of
    /// [`Scheduler::read_ahead`].
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
    fn read_ahead_by_call(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        each!(self, s => s.read_ahead(queues))
    }

    #[inline(never)]
    fn pass_by_call(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) -> bool {
        each!(self, s => s.pass(cx, packet, queues))
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

    fn follow_service(&mut self) {
        each!(self, s => s.follow_service())
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

    fn forgettable_at(&self, now: Time, flow: FlowIx, queues: &Queues) -> Time {
        each!(self, s => s.forgettable_at(now, flow, queues))
    }

    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        each!(self, s => s.lead(now, flow))
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        each_inlined!(self, s => s.enqueue(cx, packet, queues), self.enqueue_by_call(cx, packet, queues))
    }

    #[inline(always)]
    fn pass(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) -> bool {
        each_inlined!(self, s => s.pass(cx, packet, queues), self.pass_by_call(cx, packet, queues))
    }

    fn serves_in_order(&self) -> bool {
        each!(self, s => s.serves_in_order())
    }

    fn join(&mut self, flow: FlowIx) {
        each!(self, s => s.join(flow))
    }

    #[inline]
    fn select(&self, now: Time, queues: &Queues) -> Select {
        each!(self, s => s.select(now, queues))
    }

    fn holds(&self, now: Time, flow: FlowIx, queues: &Queues) -> Option<(Hold, Time)> {
        each!(self, s => s.holds(now, flow, queues))
    }

    #[inline]
    fn advance(&mut self, now: Time, queues: &Queues) {
        each!(self, s => s.advance(now, queues))
    }

    #[inline]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        each!(self, s => s.dequeued(cx, packet, queues))
    }

    #[inline(always)]
    fn read_ahead(&mut self, queues: &Queues) -> Option<&[FlowIx]> {
        each_inlined!(self, s => s.read_ahead(queues), self.read_ahead_by_call(queues))
    }

    fn resize(&mut self, now: Time, flow: FlowIx, len: u32, queues: &Queues) -> bool {
        each!(self, s => s.resize(now, flow, len, queues))
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        each!(self, s => s.removed(cx, packet, queues, why))
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        each!(self, s => s.rank_to_lose(flow, last, behind))
    }

    #[inline]
    fn loses_by_length(&self) -> bool {
        each!(self, s => s.loses_by_length())
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

    fn own_line(&self, now: Time, flow: FlowIx, queues: &Queues) -> Option<Time> {
        each!(self, s => s.own_line(now, flow, queues))
    }

    fn resume(&mut self, now: Time, flow: FlowIx, own_line: Time) {
        each!(self, s => s.resume(now, flow, own_line))
    }

    fn resumed(&mut self, now: Time, in_service: Option<u32>, queues: &Queues) {
        each!(self, s => s.resumed(now, in_service, queues))
    }

    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        each!(self, s => s.gauges(now, flow, show))
    }

    fn memory(&self) -> usize {
        each!(self, s => s.memory())
    }
}
