//! The fluid server of weighted fair queueing (generalized processor sharing). It serves all
//! backlogged flows at once, in proportion to their weights; virtual time is the progress of each.
//!
//! It is exact: work that is less than a unit of virtual time is carried over, and nothing is lost
//! by rounding.

use super::virtual_time::{TagHeap, VirtualTime};
use crate::packet::FlowIx;
use crate::units::Rate;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A flow in the fluid system.
#[derive(Clone, Copy, Default)]
pub(super) struct Fluid {
    /// The end of its backlog.
    end: VirtualTime,
    /// The finish tag of its latest packet: later than `end` only while the flow is away.
    pub(super) last: VirtualTime,
    /// The weight of its latest packet there; 0 when it is not backlogged.
    pub(super) weight: u64,
    /// Number of changes of its weight that are still to come.
    steps: u32,
    /// True while the flow is held or absent: its queued packets are not in the fluid system.
    away: bool,
    /// True for a class.
    class: bool,
    /// True while a class stays backlogged whatever its `end`: its token waits, and takes part.
    waits: bool,
}

/// A change of the weight during a backlog: its time, its flow and its amount.
type Step = Reverse<(VirtualTime, Option<FlowIx>, i128)>;

/// The fluid server.
#[derive(Default)]
pub(super) struct FluidServer {
    pub(super) virtual_time: VirtualTime,
    /// Work done by which virtual time has not advanced yet, in weight times virtual time: less
    /// than a unit of virtual time.
    rest: u128,
    pub(super) flows: Vec<Fluid>,
    /// Flows that are backlogged, except classes that wait, by the end of their backlogs.
    backlogged: TagHeap,
    /// Changes of the weights before the ends of backlogs.
    steps: BinaryHeap<Step>,
    /// The sum of the weights of the flows that are backlogged.
    weights: u128,
}

impl FluidServer {
    /// Makes the fluid server do this work, in weight times virtual time.
    pub(super) fn work(&mut self, work: u128) {
        let mut work = work.saturating_add(self.rest);
        while let Some(next) = self.next_change() {
            match next.since(self.virtual_time).checked_mul(self.weights) {
                Some(needed) if needed <= work => {
                    work -= needed;
                    self.virtual_time = self.virtual_time.max(next);
                    self.change();
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

    /// Returns true if the server has work.
    #[inline]
    pub(super) fn is_backlogged(&self) -> bool {
        self.weights > 0
    }

    /// Returns the start of the flow's next packet, or of its token if it is a class; `queued` is
    /// true if another packet of the flow waits.
    #[inline]
    pub(super) fn start(&mut self, flow: FlowIx, token: bool, queued: bool) -> VirtualTime {
        let fluid = &mut self.flows[flow.ix()];
        fluid.class = token;
        let follows = (fluid.waits && fluid.weight > 0) || (fluid.away && queued);
        match follows {
            true => fluid.last,
            false => fluid.last.max(self.virtual_time),
        }
    }

    /// Returns the time of the next change of the sum of the weights; `None` when only an arrival
    /// can change it.
    fn next_change(&self) -> Option<VirtualTime> {
        let end = self.backlogged.top().map(|flow| self.flows[flow.ix()].end);
        let step = self.steps.peek().map(|Reverse((at, ..))| *at);
        [end, step].into_iter().flatten().min()
    }

    /// Applies the changes that virtual time has reached.
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

    /// Extends the flow's backlog in the fluid system to `end`, at this weight, unless it is away.
    pub(super) fn extend(&mut self, flow: FlowIx, end: VirtualTime, weight: u64) {
        let fluid = &mut self.flows[flow.ix()];
        fluid.last = end;
        if fluid.away {
            return;
        }
        let before = core::mem::replace(&mut fluid.end, end);
        if fluid.weight == 0 {
            self.weights += u128::from(weight);
        } else if fluid.weight != weight {
            let by = i128::from(weight) - i128::from(fluid.weight);
            self.steps.push(Reverse((before, Some(flow), by)));
            fluid.steps += 1;
        }
        fluid.weight = weight;
        if !fluid.waits {
            let (ticks, fraction) = end.parts();
            self.backlogged.set(flow, ticks, fraction);
        }
    }

    /// Takes the unserved part of the flow's latest packet, of `len` bytes, out of the fluid
    /// server. When the flow's weight has changed in the meantime, it stays. That of the packets
    /// before it, which ends at `before` if there are some, stays always.
    pub(super) fn shorten(&mut self, flow: FlowIx, len: u32, weight: Rate, before: Option<VirtualTime>) {
        let fluid = &mut self.flows[flow.ix()];
        if fluid.away {
            fluid.last = fluid.last.before(len.into(), weight);
            fluid.last = before.map_or(fluid.last, |before| fluid.last.max(before));
            return;
        }
        let changes = fluid.steps > 0 || fluid.weight != weight.weight();
        if changes || fluid.end <= self.virtual_time {
            return;
        }
        let end = fluid.end.before(len.into(), weight).max(self.virtual_time);
        fluid.last = end;
        self.end_at(flow, end);
    }

    /// Ends the flow's backlog in the fluid system sooner.
    fn end_at(&mut self, flow: FlowIx, end: VirtualTime) {
        let fluid = &mut self.flows[flow.ix()];
        fluid.end = end;
        if fluid.waits {
            return;
        }
        if end > self.virtual_time {
            let (ticks, fraction) = end.parts();
            self.backlogged.set(flow, ticks, fraction);
        } else {
            self.weights -= u128::from(core::mem::take(&mut fluid.weight));
            self.backlogged.remove(flow);
        }
    }

    /// Takes the queued packets of the flow, of `bytes` in all, out of the fluid system until the
    /// flow [rejoins](Self::rejoin). Service that it has received in advance stays.
    pub(super) fn leave(&mut self, flow: FlowIx, bytes: u64, weight: Rate) {
        self.waits(flow, false);
        let fluid = &mut self.flows[flow.ix()];
        fluid.away = true;
        let first = fluid.last.before(bytes, weight);
        if fluid.weight > 0 && first < fluid.end {
            let own = self.take_steps(flow, first);
            let queued: i128 = own.iter().map(|Reverse((.., by))| by).sum();
            let fluid = &mut self.flows[flow.ix()];
            fluid.weight = u128::from(fluid.weight).saturating_add_signed(-queued) as u64;
            self.end_at(flow, first);
        }
    }

    /// Ends the flow's absence. The tags of its queued packets, if any, are later by `late`.
    pub(super) fn rejoin(&mut self, flow: FlowIx, late: Option<u128>, weight: Rate) {
        let fluid = &mut self.flows[flow.ix()];
        fluid.away = false;
        if let Some(late) = late {
            let end = fluid.last.later(late);
            self.extend(flow, end, weight.weight());
        }
    }

    /// Takes the changes of the flow's weight at virtual time `from` or later.
    fn take_steps(&mut self, flow: FlowIx, from: VirtualTime) -> Vec<Step> {
        if self.flows[flow.ix()].steps == 0 {
            return Vec::new();
        }
        let is_taken = |Reverse((at, whose, _)): &Step| *whose == Some(flow) && *at >= from;
        let (own, others): (Vec<Step>, Vec<Step>) = self.steps.drain().partition(is_taken);
        self.steps = others.into();
        self.flows[flow.ix()].steps -= own.len() as u32;
        own
    }

    /// Takes the flow out of the fluid system. Returns the future changes of its weight, and its
    /// current weight.
    fn withdraw(&mut self, flow: FlowIx) -> (Vec<Step>, u64) {
        let own = self.take_steps(flow, VirtualTime::default());
        self.backlogged.remove(flow);
        let to_come: i128 = own.iter().map(|Reverse((.., by))| by).sum();
        let latest = core::mem::take(&mut self.flows[flow.ix()].weight);
        let weight = u128::from(latest).saturating_add_signed(-to_come);
        self.weights -= weight;
        (own, weight as u64)
    }

    /// Records whether the flow has a packet that waits and takes part; a class stays backlogged
    /// while it has.
    #[inline]
    pub(super) fn waits(&mut self, flow: FlowIx, waits: bool) {
        let fluid = &self.flows[flow.ix()];
        if !fluid.class || fluid.away || fluid.waits == waits {
            return;
        }
        self.wait(flow, waits);
    }

    fn wait(&mut self, flow: FlowIx, waits: bool) {
        self.change();
        let fluid = &mut self.flows[flow.ix()];
        fluid.waits = waits;
        if fluid.weight == 0 {
            return;
        }
        if waits {
            self.backlogged.remove(flow);
        } else if fluid.end > self.virtual_time {
            let (ticks, fraction) = fluid.end.parts();
            self.backlogged.set(flow, ticks, fraction);
        } else {
            // Its token has no successor: the others are served in its place.
            let weight = u128::from(core::mem::take(&mut fluid.weight));
            let undue = self.virtual_time.since(fluid.end).saturating_mul(weight);
            self.weights -= weight;
            self.work(undue);
        }
    }

    /// Makes room for every flow index up to this one.
    pub(super) fn grow_to(&mut self, flow: FlowIx) {
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, Fluid::default());
            self.backlogged.grow_to(flow.0 + 1);
        }
    }

    /// Disowns the fluid of a flow that is gone: it stays, and belongs to no flow.
    pub(super) fn disown(&mut self, flow: FlowIx) {
        let Fluid { end, weight, .. } = self.flows[flow.ix()];
        if weight > 0 {
            let (own, now) = self.withdraw(flow);
            self.weights += u128::from(now);
            self.steps.extend(own.into_iter().map(|Reverse((at, _, by))| Reverse((at, None, by))));
            self.steps.push(Reverse((end, None, -i128::from(weight))));
        }
    }

    /// Serves the remaining fluid.
    pub(super) fn finish(&mut self) {
        while let Some(next) = self.next_change() {
            self.advance_to(next);
        }
    }

    /// Serves the fluid until virtual time is `start`.
    pub(super) fn advance_to(&mut self, start: VirtualTime) {
        while let Some(next) = self.next_change().filter(|next| *next <= start) {
            self.virtual_time = self.virtual_time.max(next);
            self.change();
        }
        self.virtual_time = self.virtual_time.max(start);
    }

    /// Returns the work after which virtual time is at least `end`, while no packet arrives.
    pub(super) fn work_until(&self, end: VirtualTime) -> u128 {
        let grows = |Reverse((.., by)): &Step| by.max(&0).unsigned_abs();
        let weights = self.weights + self.steps.iter().map(grows).sum::<u128>();
        end.since(self.virtual_time).saturating_mul(weights)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<Fluid>()
            + self.backlogged.memory()
            + self.steps.capacity() * size_of::<Step>()
    }
}
