//! Weighted fair queueing, or packet-by-packet generalized processor sharing (Demers, Keshav and Shenker 1989; Parekh
//! and Gallager 1993): packets are served in the order in which a fluid server would finish them.
//!
//! The fluid server serves all backlogged flows at once, in proportion to their weights. Virtual time
//! advances at the rate of the server over the sum of the weights of the flows that are backlogged **there**.
//! A packet's finish tag is `max(its flow's previous finish tag, virtual time at its arrival) + len /
//! weight`, and no packet leaves later than it would leave the fluid server by more than the transmission
//! time of the longest packet.
//!
//! The fluid system is exact: work that is less than a unit of virtual time is carried over, and nothing is
//! lost by rounding. An arrival takes O(log n), as does each departure from the fluid server.
//!
//! Choices where the papers are silent, in addition to those of fair queueing in general
//! (`fair_queueing.rs`):
//! - A packet gets its finish tag when it arrives, and keeps it. A change of the weight applies to packets
//!   that arrive later; the fluid server serves each packet at the weight that its flow had on its arrival.
//! - The unserved part of a packet that is pushed out leaves the fluid server, unless the flow's weight has
//!   changed in the meantime. A packet that is dropped at the head stays in the fluid server: clocks keep the
//!   advance.
//! - The fluid server never pauses. It serves the fluid left by a held or closed flow, and continues while
//!   packets are held back for another reason.
//! - A flow that is absent leaves the fluid server, and rejoins it with its queued packets, or with its lead.
//! - A change of the server's rate applies from then on. When the rate is no longer known, the last known
//!   rate stays.
//! - The token of a class is a packet of the token's length.

use super::ASK_AGAIN;
use super::fair_queueing::FairQueueing;
use super::fair_rule::{FairRule, Order, Tags};
use super::virtual_time::{TagHeap, UNRESERVED, VirtualTime};
use crate::contract::Refused;
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, Fault, KeepsRates, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps,
    parameters,
};
use crate::units::{Rate, Span, Time};
use core::cmp::Reverse;
use std::collections::BinaryHeap;

parameters! {
    /// Parameters of weighted fair queueing.
    #[derive(Eq)]
    pub struct WfqParams {
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

impl PolicyParams for WfqParams {
    type Made = FairQueueing<Wfq>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "wfq",
        title: "Weighted fair queueing",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Shares the link in proportion to the flows' reservations: serves packets in the order in \
               which a fluid server that serves all flows at once (generalized processor sharing) would \
               finish them.",
        source: "Parekh and Gallager 1993, section III; Demers, Keshav and Shenker 1989",
        params: WfqParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<FairQueueing<Wfq>, Refused> {
        Ok(FairQueueing::new(Wfq::default(), self.unreserved))
    }

    /// Parekh and Gallager 1993, theorem 1.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        Some(KeepsRates { in_classes: false, longest_packet: None })
    }

    fn example() -> WfqParams {
        WfqParams { unreserved: UNRESERVED }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        match node.steady {
            true => Ok(()),
            false => Err(Fault::at("unreserved", NO_RATE)),
        }
    }
}

/// The error where the rate of the fluid server is unknown.
const NO_RATE: &str = "wfq needs a rate that is known at all times, and there is none";

/// A flow in the fluid system.
#[derive(Clone, Copy, Default)]
struct Fluid {
    /// The end of its latest backlog.
    end: VirtualTime,
    /// The weight of its latest packet; 0 when it is not backlogged.
    weight: u64,
    /// Number of changes of its weight that are still to come.
    steps: u32,
    absent: bool,
}

/// A change of the weight during a backlog: its time, its flow and its amount.
type Step = Reverse<(VirtualTime, Option<FlowIx>, i128)>;

/// The rule of weighted fair queueing: the fluid system.
#[derive(Default)]
pub struct Wfq {
    virtual_time: VirtualTime,
    /// Work done by which virtual time has not advanced yet, in weight times virtual time: less than a unit
    /// of virtual time.
    rest: u128,
    /// The server's rate as a weight; 0 when it was never known.
    rate: u64,
    as_of: Option<Time>,
    flows: Vec<Fluid>,
    /// Flows that are backlogged, by the end of their backlogs.
    backlogged: TagHeap,
    /// Changes of the weights before the ends of backlogs.
    steps: BinaryHeap<Step>,
    /// The sum of the weights of the flows that are backlogged.
    weights: u128,
}

impl Wfq {
    /// A time, in ticks, in which no server does more work than fits in 128 bits.
    const SHORT: u64 = 1 << 40;

    /// The longest such time at the server's rate.
    fn longest(&self) -> u64 {
        let most = u128::MAX >> (Rate::FRACTION_BITS + 1);
        u64::try_from(most / u128::from(self.rate.max(1))).unwrap_or(u64::MAX)
    }

    /// Lets the fluid server work for this number of ticks.
    fn work(&mut self, ticks: u64) {
        let mut work = ((u128::from(ticks) << Rate::FRACTION_BITS) * u128::from(self.rate)) + self.rest;
        while let Some(next) = self.next_change() {
            match next.since(self.virtual_time).checked_mul(self.weights) {
                Some(needed) if needed <= work => {
                    work -= needed;
                    self.virtual_time = self.virtual_time.max(next);
                    self.change();
                }
                _ => {
                    self.virtual_time = self.virtual_time.later(work / self.weights);
                    self.rest = work % self.weights;
                    return;
                }
            }
        }
        self.rest = 0;
    }

    /// The next change of the sum of the weights; `None` when no flow is backlogged.
    fn next_change(&self) -> Option<VirtualTime> {
        let end = self.backlogged.top().map(|flow| self.flows[flow.ix()].end);
        let step = self.steps.peek().map(|Reverse((at, ..))| *at);
        [end, step].into_iter().flatten().min()
    }

    /// Makes the changes that virtual time has reached.
    fn change(&mut self) {
        while let Some(&Reverse((at, whose, by))) = self.steps.peek()
            && at <= self.virtual_time
        {
            self.weights = self.weights.saturating_add_signed(by);
            if let Some(flow) = whose {
                self.flows[flow.ix()].steps -= 1;
            }
            self.steps.pop();
        }
        while let Some(flow) = self.backlogged.top()
            && let fluid = &mut self.flows[flow.ix()]
            && fluid.end <= self.virtual_time
        {
            self.weights -= u128::from(core::mem::take(&mut fluid.weight));
            self.backlogged.remove(flow);
        }
    }

    /// Extends the flow's backlog in the fluid system to `end`, at this weight.
    fn extend(&mut self, flow: FlowIx, end: VirtualTime, weight: u64) {
        let fluid = &mut self.flows[flow.ix()];
        let before = core::mem::replace(&mut fluid.end, end);
        if fluid.absent {
            return;
        }
        if fluid.weight == 0 {
            self.weights += u128::from(weight);
        } else if fluid.weight != weight {
            let by = i128::from(weight) - i128::from(fluid.weight);
            self.steps.push(Reverse((before, Some(flow), by)));
            fluid.steps += 1;
        }
        fluid.weight = weight;
        let (ticks, fraction) = end.parts();
        self.backlogged.set(flow, ticks, fraction);
    }

    /// Takes the unserved part of the flow's latest packet, of `len` bytes, out of the fluid server. When the
    /// flow's weight has changed in the meantime, it stays.
    fn shorten(&mut self, flow: FlowIx, len: u32, weight: Rate) {
        let fluid = &mut self.flows[flow.ix()];
        let changes = fluid.steps > 0 || fluid.weight != weight.weight();
        if changes || fluid.end <= self.virtual_time {
            return;
        }
        fluid.end = fluid.end.before(len, weight).max(self.virtual_time);
        if fluid.end > self.virtual_time {
            let (ticks, fraction) = fluid.end.parts();
            self.backlogged.set(flow, ticks, fraction);
        } else {
            self.weights -= u128::from(core::mem::take(&mut fluid.weight));
            self.backlogged.remove(flow);
        }
    }

    /// Takes the flow out of the fluid system. Returns the changes of its weight that are still to come, and
    /// its weight now.
    fn withdraw(&mut self, flow: FlowIx) -> (Vec<Step>, u64) {
        let mut own = Vec::new();
        if core::mem::take(&mut self.flows[flow.ix()].steps) > 0 {
            let of_flow = |step: &Step| step.0.1 == Some(flow);
            let others: Vec<Step>;
            (own, others) = self.steps.drain().partition(of_flow);
            self.steps = others.into();
        }
        self.backlogged.remove(flow);
        let to_come: i128 = own.iter().map(|Reverse((.., by))| by).sum();
        let latest = core::mem::take(&mut self.flows[flow.ix()].weight);
        let weight = u128::from(latest).saturating_add_signed(-to_come);
        self.weights -= weight;
        (own, weight as u64)
    }
}

impl FairRule for Wfq {
    const ORDER: Order = Order::Finish;

    fn set_rate(&mut self, _: Time, rate: Option<Rate>) {
        self.rate = rate.map_or(self.rate, Rate::weight);
    }

    fn set_weight(&mut self, flow: FlowIx, before: Option<Rate>, _: Rate) -> Result<(), Refused> {
        if self.rate == 0 {
            return Err(Refused(NO_RATE.into()));
        }
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, Fluid::default());
            self.backlogged.reach(flow.0 + 1);
        }
        if before.is_none() {
            self.flows[flow.ix()] = Fluid::default();
        }
        Ok(())
    }

    /// The flow's fluid stays in the fluid system after the flow has gone.
    fn release(&mut self, flow: FlowIx, _: Rate) {
        let Fluid { end, weight, .. } = self.flows[flow.ix()];
        if weight > 0 {
            let (own, now) = self.withdraw(flow);
            self.weights += u128::from(now);
            self.steps.extend(own.into_iter().map(|Reverse((at, _, by))| Reverse((at, None, by))));
            self.steps.push(Reverse((end, None, -i128::from(weight))));
        }
    }

    #[inline]
    fn pass(&mut self, now: Time) {
        let mut ticks = now.since(self.as_of.replace(now).unwrap_or(now)).ticks();
        while ticks > 0 && self.weights > 0 {
            let step = if ticks <= Wfq::SHORT { ticks } else { ticks.min(self.longest()) };
            self.work(step);
            ticks -= step;
        }
    }

    #[inline]
    fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    /// The tag of a packet is its finish time in the fluid server less that of the packet before it, in
    /// ticks.
    fn stamp(&mut self, packet: &mut Packet, tags: &mut Tags, queued: bool) {
        let start = self.flows[packet.flow.ix()].end.max(self.virtual_time);
        let end = start.after(packet.len, tags.weight);
        self.extend(packet.flow, end, tags.weight.weight());
        let before = if queued { tags.last.ticks() } else { end.ticks() };
        packet.tag = u64::try_from(end.ticks() - before).unwrap_or(u64::MAX);
        tags.last = VirtualTime::from_ticks(before + u128::from(packet.tag));
        if !queued {
            (tags.start, tags.finish) = (start, tags.last);
        }
    }

    fn served(&mut self, _: &Tags, _: u32) {}

    fn follow(&self, tags: &mut Tags, next: &Packet) {
        tags.finish = VirtualTime::from_ticks(tags.finish.ticks() + u128::from(next.tag));
        tags.start = tags.finish.before(next.len, tags.weight);
    }

    fn drop_first(&self, tags: &mut Tags, _: &Packet, next: Option<&Packet>) {
        if let Some(next) = next {
            self.follow(tags, next);
        }
    }

    fn drop_last(&mut self, tags: &mut Tags, gone: &Packet, _: bool) {
        tags.last = VirtualTime::from_ticks(tags.last.ticks() - u128::from(gone.tag));
        self.shorten(gone.flow, gone.len, tags.weight);
    }

    fn weigh(&self, _: &mut Tags, _: impl Iterator<Item = u32>) {}

    fn leave(&mut self, flow: FlowIx) {
        if self.flows[flow.ix()].weight > 0 {
            self.withdraw(flow);
        }
        self.flows[flow.ix()].absent = true;
    }

    fn rejoin(&mut self, flow: FlowIx, tags: &Tags, late: Option<u128>) {
        let fluid = &mut self.flows[flow.ix()];
        fluid.absent = false;
        let end = late.map_or(fluid.end, |late| fluid.end.later(late).max(tags.last));
        // Its lead is served, or virtual time would never get there.
        if end > self.virtual_time {
            self.extend(flow, end, tags.weight.weight());
        }
    }

    fn end(&self, flow: FlowIx, _: &Tags) -> VirtualTime {
        self.flows[flow.ix()].end
    }

    /// The time at which the fluid server is done with the flow, if no packet arrives; an upper bound while
    /// weights change.
    fn caught_up_at(&self, now: Time, flow: FlowIx, end: VirtualTime, _: Option<Time>) -> Time {
        let Some(as_of) = self.as_of.filter(|_| self.flows[flow.ix()].weight > 0) else {
            return now + ASK_AGAIN;
        };
        let grows = |Reverse((.., by)): &Step| by.max(&0).unsigned_abs();
        let weights = self.weights + self.steps.iter().map(grows).sum::<u128>();
        let work = end.since(self.virtual_time).saturating_mul(weights);
        let ticks = work.div_ceil(u128::from(self.rate.max(1)) << Rate::FRACTION_BITS);
        as_of + Span::from_ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<Fluid>()
            + self.backlogged.memory()
            + self.steps.capacity() * size_of::<Step>()
    }
}
