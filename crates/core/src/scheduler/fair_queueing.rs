//! Packet fair queueing: the common part of its schedulers. A rule states the pace of virtual time,
//! and the tag that ranks.
//!
//! Every packet has a start tag, which is the later of the finish tag of its flow's previous packet
//! and virtual time, and a finish tag, `len / weight` after the start tag. A flow's weight is its
//! reservation, or the scheduler's `unreserved`.
//!
//! Choices where the papers are silent; rules state where theirs differ:
//! - Equal tags are served in the order of arrival.
//! - A packet gets its tags when it reaches the front of its queue. A packet that is pushed out or
//!   dropped at the head costs its flow nothing, and a change of the weight applies to every packet
//!   behind the first.
//! - A flow that was **held or absent** rejoins as if its packets had arrived at its return: the first
//!   starts no earlier than virtual time then, and the others follow. A flow ahead of virtual time
//!   stays ahead. So a ceiling is a shaper in front of the scheduler, and every other flow keeps its
//!   bound. Virtual time runs fast where others leave capacity unused: a flow under a ceiling, which
//!   may not use that capacity, would otherwise fall behind, and later displace flows that only claim
//!   their reservations.
//! - When a busy period ends, virtual time advances to the latest finish tag: no flow is ahead of
//!   another in the next one. A scheduler does not learn when the last bit leaves: the period ends when
//!   it has left at the rate of the server. Where that rate is unknown, virtual time advances as real
//!   time does from the beginning of the last service, up to the latest finish tag. Packets that are
//!   held do not prolong a busy period.
//! - A flow opened at the index of a closed flow starts anew.
//! - Push-out takes the packet with the latest finish tag.

use super::fair_rule::{FairRule, Order, Tags};
use super::virtual_time::{TagHeap, VirtualTime};
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::{Queued, Queues};
use crate::stats::Count;
use crate::units::{Rate, Span, Time};
use alloc::vec::Vec;

/// Virtual time when a scheduler resumes the lines of another's flows: later than any of them began, by
/// 8 days.
const RESUMED: VirtualTime = VirtualTime::from_ticks(1 << 56);

/// A scheduler that serves flows in the order of their first packets' tags, by rule `R`.
pub struct FairQueueing<R> {
    rule: R,
    /// The weight of a flow without a reservation.
    unreserved: Rate,
    flows: Vec<Tags>,
    /// Flows that may be selected, by the tag that ranks.
    ready: TagHeap,
    /// Flows that are not eligible yet, by start tag; under [`Order::EligibleFinish`] only.
    early: TagHeap,
    /// The latest time seen.
    now: Time,
    /// The rate of the server, if it is known.
    rate: Option<Rate>,
    /// The latest finish tag of all packets served.
    latest: VirtualTime,
    /// Virtual time when the service of the last packet began, and the time at which it ends.
    reached: VirtualTime,
    began: Time,
    sent: Time,
    /// The origin of push-out's ranks: virtual time when the first packet was queued, in ticks.
    epoch: u128,
}

impl<R: FairRule> FairQueueing<R> {
    /// Creates a scheduler of this rule, without flows.
    pub(super) fn new(rule: R, unreserved: Rate) -> FairQueueing<R> {
        FairQueueing {
            rule,
            unreserved,
            flows: Vec::new(),
            ready: TagHeap::default(),
            early: TagHeap::default(),
            now: Time::from_ticks(0),
            rate: None,
            latest: VirtualTime::default(),
            reached: VirtualTime::default(),
            began: Time::from_ticks(0),
            sent: Time::from_ticks(0),
            epoch: 0,
        }
    }

    /// Advances to `now`.
    #[inline]
    fn pass(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.rule.pass(self.now);
    }

    /// Returns the end of the busy period, if no packet arrives and no other waits.
    fn over(&self) -> Time {
        match self.rate {
            Some(_) => self.sent,
            None => self.began + self.latest.span_since(self.reached),
        }
    }

    /// Returns true if no packet waits that may be sent.
    #[inline]
    fn is_idle(&self) -> bool {
        self.ready.top().is_none() && self.early.top().is_none()
    }

    /// Advances virtual time after a time in which no packet waited that might be sent.
    fn pass_idle_time(&mut self) {
        if self.now >= self.over() {
            self.rule.end_busy_period(self.latest);
        } else if self.rate.is_none() {
            self.rule.advance_to(self.reached.later_by(self.now.since(self.began)));
        }
    }

    /// Lets the flow be served again.
    fn rejoin(&mut self, flow: FlowIx, queues: &Queues) {
        if self.is_idle() {
            self.pass_idle_time();
        }
        let tags = &mut self.flows[flow.ix()];
        let late = queues.first(flow).map(|first| self.rule.late(tags, &first.packet));
        tags.delay(late.unwrap_or(0));
        self.rule.rejoin(flow, tags, late);
    }

    /// Updates the flow's place after its first packet or its participation has changed.
    #[inline]
    fn place(&mut self, flow: FlowIx, queues: &Queues) {
        match queues.first(flow) {
            Some(first) if queues.takes_part(flow) => {
                self.place_head(flow, first.order);
                self.rule.waits(flow, true);
            }
            _ => {
                self.rule.waits(flow, false);
                self.ready.remove(flow);
                if R::ORDER == Order::EligibleFinish {
                    self.early.remove(flow);
                }
            }
        }
    }

    /// Places the flow by its first packet; `order` is the order of arrival of that packet.
    #[inline]
    fn place_head(&mut self, flow: FlowIx, order: u64) {
        let tags = &self.flows[flow.ix()];
        match R::ORDER {
            Order::Start => self.ready.set(flow, tags.start.ticks(), order),
            Order::Finish => self.ready.set(flow, tags.finish.ticks(), order),
            Order::EligibleFinish => {
                let eligible = tags.start.ticks() <= self.rule.virtual_time().ticks();
                let (to, from, tag) = match eligible {
                    true => (&mut self.ready, &mut self.early, tags.finish),
                    false => (&mut self.early, &mut self.ready, tags.start),
                };
                from.remove(flow);
                to.set(flow, tag.ticks(), order);
            }
        }
    }

    /// Moves the flows whose start tags virtual time has reached to the eligible ones.
    #[inline]
    fn find_eligible(&mut self, queues: &Queues) {
        if R::ORDER != Order::EligibleFinish {
            return;
        }
        let now = self.rule.virtual_time().ticks();
        while let Some(first) = self.early.top()
            && self.flows[first.ix()].start.ticks() <= now
            && let Some(head) = queues.first(first)
        {
            self.early.remove(first);
            self.ready.set(first, self.flows[first.ix()].finish.ticks(), head.order);
        }
    }
}

impl<R: FairRule> Scheduler for FairQueueing<R> {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.pass(now);
        self.rate = rate;
        self.rule.set_rate(now, rate);
    }

    fn follow_service(&mut self) {
        self.rule.follow_service();
    }

    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.pass(now);
        let weight = contract.reserve.unwrap_or(self.unreserved);
        let before = self.flows.get(flow.ix()).filter(|tags| tags.open).map(|tags| tags.weight);
        self.rule.set_weight(flow, before, weight)?;
        let zero = VirtualTime::default();
        let newcomer = Tags { start: zero, finish: zero, last: zero, weight, open: false };
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, newcomer);
            self.ready.grow_to(flow.0 + 1);
            if R::ORDER == Order::EligibleFinish {
                self.early.grow_to(flow.0 + 1);
            }
        }
        let tags = &mut self.flows[flow.ix()];
        if before.is_none() {
            *tags = Tags { open: true, ..newcomer };
        } else if tags.weight != weight {
            tags.weight = weight;
            self.rule.weigh(tags, queues.of(flow).map(|queued| queued.packet.len));
        }
        Ok(())
    }

    /// Returns the time at which virtual time has passed the flow's tags, or the busy period is
    /// over.
    fn forgettable_at(&self, now: Time, flow: FlowIx, queues: &Queues) -> Time {
        let end = self.rule.end(flow, &self.flows[flow.ix()]);
        if end <= self.rule.virtual_time() {
            return Time::from_ticks(0);
        }
        self.rule.caught_up_at(now, flow, end, queues.is_empty().then_some(self.over()))
    }

    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        let end = self.rule.end(flow, &self.flows[flow.ix()]);
        match end.span_since(self.rule.virtual_time()) {
            Span::ZERO => Span::ZERO,
            ahead => (self.now + ahead).since(now),
        }
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.pass(cx.now);
        let flow = packet.flow;
        let queued = queues.len(flow) > 0;
        if self.is_idle() {
            self.pass_idle_time();
            if queues.is_empty() {
                self.epoch = self.rule.virtual_time().ticks();
            }
        }
        let tags = &mut self.flows[flow.ix()];
        self.rule.stamp(packet, tags, queued);
        if !queued {
            self.rule.backlogged(flow, tags);
            if queues.takes_part(flow) {
                self.place_head(flow, queues.arriving());
                self.rule.waits(flow, true);
            }
        }
    }

    #[inline]
    fn advance(&mut self, now: Time, queues: &Queues) {
        if R::ORDER == Order::EligibleFinish {
            self.pass(now);
            self.find_eligible(queues);
        }
    }

    #[inline]
    fn select(&self, _: Time, _: &Queues) -> Select {
        // If no flow is eligible, virtual time advances to the first that will be.
        self.ready.top().or(self.early.top()).map_or(Select::Idle, Select::Flow)
    }

    #[inline]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.pass(cx.now);
        let tags = &mut self.flows[packet.flow.ix()];
        self.rule.served(tags, packet.len);
        self.latest = self.latest.max(tags.finish);
        match queues.first(packet.flow) {
            Some(next) => self.rule.follow(tags, &next.packet),
            None => self.rule.emptied(packet.flow, tags),
        }
        self.reached = self.rule.virtual_time();
        self.began = self.now;
        self.sent = self.now + self.rate.map_or(Span::ZERO, |rate| rate.time_for(packet.len));
        self.place(packet.flow, queues);
    }

    fn resize(&mut self, now: Time, flow: FlowIx, len: u32, queues: &Queues) -> bool {
        self.pass(now);
        let resized = self.rule.resize(&mut self.flows[flow.ix()], len);
        if resized {
            self.place(flow, queues);
        }
        resized
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        self.pass(cx.now);
        let tags = &mut self.flows[packet.flow.ix()];
        let next = queues.first(packet.flow);
        match why {
            Removal::PushedOut => {
                self.rule.drop_last(tags, packet, next.is_some());
                if next.is_some() {
                    return;
                }
            }
            Removal::DroppedAtHead => self.rule.drop_first(tags, packet, next.map(|next| &next.packet)),
        }
        if next.is_none() {
            self.rule.emptied(packet.flow, tags);
        }
        self.place(packet.flow, queues);
    }

    fn rank_to_lose(&self, flow: FlowIx, _: &Queued, behind: Count) -> u64 {
        let tags = &self.flows[flow.ix()];
        let behind = u32::try_from(behind.bytes).unwrap_or(u32::MAX);
        tags.last.after(behind, tags.weight).rank_since(self.epoch)
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        self.pass(now);
        match (before == Participation::Active, queues.takes_part(flow)) {
            (true, false) => self.rule.leave(flow, &self.flows[flow.ix()], queues.bytes_of(flow)),
            (false, true) => self.rejoin(flow, queues),
            _ => {}
        }
        self.place(flow, queues);
    }

    fn own_line(&self, _: Time, flow: FlowIx, queues: &Queues) -> Option<Time> {
        let tags = self.flows.get(flow.ix()).filter(|tags| tags.open)?;
        let at = if queues.len(flow) > 0 { tags.start } else { self.rule.end(flow, tags) };
        let virtual_time = self.rule.virtual_time();
        // Virtual time is that of `self.now`.
        Some((self.now + at.span_since(virtual_time)).before(virtual_time.span_since(at)))
    }

    /// Virtual time stays at its origin while packets are pushed, so that the tags of a flow which
    /// its own line serves already may be before those of others.
    fn resume(&mut self, now: Time, flow: FlowIx, own_line: Time) {
        self.now = self.now.max(now);
        let Some(tags) = self.flows.get_mut(flow.ix()).filter(|tags| tags.open) else { return };
        tags.finish = RESUMED.later_by(own_line.since(now)).before_by(now.since(own_line));
        tags.last = tags.finish;
        self.rule.resume(flow, tags);
    }

    fn resumed(&mut self, now: Time, in_service: Option<u32>, queues: &Queues) {
        self.now = self.now.max(now);
        self.rule.resumed(RESUMED, in_service);
        self.latest = RESUMED;
        for (ix, tags) in self.flows.iter().enumerate() {
            let flow = FlowIx(ix as u32);
            if tags.open && tags.finish > RESUMED && queues.len(flow) == 0 {
                self.latest = self.latest.max(tags.finish);
                self.rule.resume_ahead(flow, tags);
            }
        }
        self.find_eligible(queues);
    }

    fn release(&mut self, flow: FlowIx) {
        let tags = &mut self.flows[flow.ix()];
        if core::mem::take(&mut tags.open) {
            self.rule.release(flow, tags.weight);
        }
    }

    fn gauges(&self, _: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        let end = self.rule.end(flow, &self.flows[flow.ix()]);
        show("lead", end.span_since(self.rule.virtual_time()).as_secs_f64());
    }

    fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<Tags>()
            + self.ready.memory()
            + self.early.memory()
            + self.rule.memory()
    }
}
