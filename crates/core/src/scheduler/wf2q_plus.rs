//! WF²Q+ (Bennett and Zhang 1997) serves, among the packets whose service would have begun in the
//! fluid system, the one that would end first.
//!
//! Virtual time advances by the work done over the sum of the weights of the flows that count, and
//! is never behind the smallest start tag of a flow that has packets:
//! `V ← max(V + work / sum of weights, smallest start tag)`. A packet is eligible once its start
//! tag is not after virtual time; of the eligible ones, the smallest finish tag is served. So no
//! flow is more than a packet ahead of its share, and none more than a packet behind.
//!
//! A flow counts while it has packets or is ahead of virtual time. The paper counts every session
//! of the server; a flow that virtual time has passed would slow virtual time without need, and
//! flows that come and go would affect all others.
//!
//! A flow is guaranteed its share of the server by weight, at least its share among all open flows.
//! The rate of the server states only how much of a packet in service is done; where the rate is
//! unknown, a packet counts as done when its service begins, as in the hierarchical H-WF²Q+.
//!
//! Choices in addition to those of fair queueing in general (`fair_queueing.rs`):
//! - At a server that is slower than its stated rate, a packet counts as done earlier than it is.
//! - The smallest start tag counts when service begins, among flows that are neither held nor
//!   absent. The order of arrival breaks ties.

use super::fair_queueing::FairQueueing;
use super::fair_rule::{FairRule, Order, Tags};
use super::virtual_time::{TagHeap, UNRESERVED, VirtualTime};
use super::weights::share;
use crate::contract::Refused;
use crate::packet::FlowIx;
use crate::params::{
    Carry, FixedPort, Guarantee, KeepsRates, Line, Member, NoLine, Parameters, PolicyParams, PolicyRecord,
    Role, Service, Stamps, parameters,
};
use crate::units::{Rate, Time};
use alloc::vec::Vec;

parameters! {
    /// Parameters of WF²Q+.
    #[derive(Copy, Eq)]
    pub struct Wf2qPlusParams {
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

impl PolicyParams for Wf2qPlusParams {
    type Policy = FairQueueing<Wf2qPlus>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "wf2q-plus",
        title: "WF²Q+",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Shares the link in proportion to the flows' reservations, each never more than a packet ahead or behind: \
               of the packets that a fluid server would have started, serves the one that it would finish \
               first.",
        source: "Bennett and Zhang 1997",
        params: Wf2qPlusParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<FairQueueing<Wf2qPlus>, Refused> {
        Ok(FairQueueing::new(Wf2qPlus::default(), self.unreserved))
    }

    /// Theorem 4 of the paper.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        Some(KeepsRates { in_classes: true, longest_packet: None })
    }

    fn returns_as_newcomers(&self) -> bool {
        true
    }

    /// A packet leaves by the time at which a server of the flow's share would have finished it, and
    /// L / C, L being the largest packet of any flow (Bennett and Zhang 1997, theorem 4).
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        let rule = port.has_whole_link().map(|()| {
            let (share, late) = (share(port, index, self.unreserved), port.largest(|_| true));
            port.own_line(index, share, &late, "WF²Q+ (Bennett and Zhang 1997, theorem 4)")
        });
        port.or_arbitrary(index, rule)
    }

    fn example() -> Wf2qPlusParams {
        Wf2qPlusParams { unreserved: UNRESERVED }
    }

    /// The share of a class by weight. It is behind by its worst-case fair index (Bennett and Zhang
    /// 1997, theorem 3), and by two of its packets: the one in service counts when it has left, and
    /// the one that it has announced may be longer than the one that it sends.
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee> {
        // It is a share of the service since the class has packets.
        let server = Some(server).filter(|server| server.at_any_time)?;
        let weight = |member: &Member| {
            let weight = member.contract.reserve.unwrap_or(self.unreserved).bits_per_second();
            weight * member.count as f64
        };
        let share = weight(&members[index]) / members.iter().map(weight).sum::<f64>();
        let own = f64::from(members[index].largest);
        let longest = members.iter().map(|member| member.largest).max().map_or(0.0, f64::from);
        let rate = server.rate * share;
        let behind = 3.0 * own + longest * share;
        Some(Guarantee { rate, latency: server.latency + behind / rate, ..server })
    }
}

/// A flow's contribution to the sum of the weights.
#[derive(Clone, Copy, Default)]
struct Share {
    /// Its weight; 0 while it does not count.
    weight: u64,
    /// The virtual time until which it is ahead, without a packet.
    end: VirtualTime,
}

/// The rule of WF²Q+.
#[derive(Default)]
pub struct Wf2qPlus {
    virtual_time: VirtualTime,
    flows: Vec<Share>,
    /// The sum of the weights of the flows that count.
    weights: u128,
    /// Flows that count and have no packet, by the virtual time at which they are no longer ahead.
    ahead: TagHeap,
    /// The server's rate as a weight; 0 when it is unknown.
    rate: u64,
    as_of: Option<Time>,
    /// Work left of the packet in service, at most.
    left: u128,
    /// The packet in service began at another scheduler.
    begun_before: bool,
    /// Work done by which virtual time has not advanced yet: less than a unit of virtual time.
    rest: u128,
}

impl Wf2qPlus {
    /// Does `done` of the work left, in weight times virtual time.
    #[inline]
    fn work(&mut self, done: u128) {
        self.left -= done;
        let mut work = done + self.rest;
        while let Some(first) = self.ahead.top() {
            let needed = self.flows[first.ix()].end.since(self.virtual_time).checked_mul(self.weights);
            match needed {
                Some(needed) if needed <= work => {
                    work -= needed;
                    self.advance_to(self.flows[first.ix()].end);
                }
                _ => break,
            }
        }
        if self.weights == 0 {
            self.rest = 0;
            return;
        }
        self.virtual_time = self.virtual_time.later(work / self.weights);
        self.rest = work % self.weights;
    }

    /// Removes the flow from those that count.
    fn leave_out(&mut self, flow: FlowIx) {
        self.weights -= u128::from(core::mem::take(&mut self.flows[flow.ix()].weight));
        self.ahead.remove(flow);
    }
}

impl FairRule for Wf2qPlus {
    const ORDER: Order = Order::EligibleFinish;

    fn set_rate(&mut self, _: Time, rate: Option<Rate>) {
        self.rate = rate.map_or(0, Rate::weight);
    }

    fn set_weight(&mut self, flow: FlowIx, before: Option<Rate>, weight: Rate) -> Result<(), Refused> {
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, Share::default());
            self.ahead.grow_to(flow.0 + 1);
        }
        if before.is_none() {
            self.leave_out(flow);
        }
        let share = &mut self.flows[flow.ix()];
        if share.weight > 0 {
            let before = core::mem::replace(&mut share.weight, weight.weight());
            self.weights = self.weights + u128::from(weight.weight()) - u128::from(before);
        }
        Ok(())
    }

    #[inline]
    fn backlogged(&mut self, flow: FlowIx, tags: &Tags) {
        let share = &mut self.flows[flow.ix()];
        if share.weight > 0 {
            return self.ahead.remove(flow);
        }
        share.weight = tags.weight.weight();
        self.weights += u128::from(share.weight);
    }

    #[inline]
    fn emptied(&mut self, flow: FlowIx, tags: &Tags) {
        let end = self.end(flow, tags);
        if end <= self.virtual_time {
            return self.leave_out(flow);
        }
        self.flows[flow.ix()].end = end;
        let (ticks, fraction) = end.parts();
        self.ahead.set(flow, ticks, fraction);
    }

    #[inline]
    fn pass(&mut self, now: Time) {
        let ticks = now.since(self.as_of.replace(now).unwrap_or(now)).ticks();
        if ticks > 0 && self.left > 0 {
            // At most 2⁶⁴ × 2⁶⁰; if the product with the fraction overflows, it is more than any
            // packet takes.
            let done = (u128::from(ticks) * u128::from(self.rate)).checked_mul(1 << Rate::FRACTION_BITS);
            self.work(done.map_or(self.left, |done| done.min(self.left)));
        }
    }

    #[inline]
    fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    #[inline]
    fn advance_to(&mut self, start: VirtualTime) {
        self.virtual_time = self.virtual_time.max(start);
        while let Some(first) = self.ahead.top()
            && self.flows[first.ix()].end <= self.virtual_time
        {
            self.leave_out(first);
        }
    }

    #[inline]
    fn served(&mut self, tags: &Tags, len: u32) {
        // The server has finished the previous packet, of which `left` is more than was left if another
        // scheduler began it.
        match core::mem::take(&mut self.begun_before) {
            true => self.left = 0,
            false => self.work(self.left),
        }
        self.advance_to(tags.start);
        self.left = u128::from(len) * Rate::WEIGHT_SCALE;
        if self.rate == 0 {
            self.work(self.left);
        }
    }

    /// The packet in service counts for as long as it takes from now on.
    fn resumed(&mut self, at: VirtualTime, in_service: Option<u32>) {
        self.advance_to(at);
        if self.rate > 0 {
            self.left = u128::from(in_service.unwrap_or(0)) * Rate::WEIGHT_SCALE;
            self.begun_before = true;
        }
    }

    /// It counts until it is no longer ahead.
    fn resume_ahead(&mut self, flow: FlowIx, tags: &Tags) {
        self.backlogged(flow, tags);
        self.emptied(flow, tags);
    }

    fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<Share>() + self.ahead.memory()
    }
}
