//! Per-flow shapers in front of a port's dropper. Packets wait here until they conform, and reach
//! the dropper and the schedulers as if they arrived then.

use crate::packet::{FlowIx, Packet};
use crate::queues::{Queued, Queues};
use crate::ranking::flow_heap::FlowHeap;
use crate::shaper::{Excess, ShaperPlan, TokenBucket};
use crate::stats::Count;
use crate::units::Time;
use alloc::boxed::Box;
use alloc::vec::Vec;

struct Shaper {
    plan: ShaperPlan,
    bucket: TokenBucket,
}

impl Shaper {
    /// Time at which a waiting packet conforms: not before it has arrived.
    fn due(&self, packet: &Packet) -> Time {
        self.bucket.conforms_at(packet.len).max(packet.arrived)
    }
}

/// The shapers of a port, and the packets that wait in them; `None` before the first shaper.
#[derive(Default)]
pub(super) struct Shaping(Option<Box<Shapers>>);

#[derive(Default)]
struct Shapers {
    queues: Queues,
    /// Shapers by flow; as long as the highest index that ever had one.
    shapers: Vec<Option<Box<Shaper>>>,
    /// Waiting packets of all flows.
    held: Count,
    /// Flows with waiting packets, by the time at which the first one conforms.
    release: FlowHeap,
    /// Flows by number of waiting packets, the most on top. Built on first use, and kept until
    /// nothing waits.
    longest: Option<FlowHeap>,
}

/// Fate of a packet that reaches a shaper.
pub(super) enum Shaped {
    Conforms,
    /// It goes on, out of profile.
    Marked,
    Waits,
    /// It finds no room.
    Full,
}

impl Shaping {
    /// Gives a flow this shaper, changes it, or takes it away. Waiting packets keep waiting, or
    /// conform at once where there is no shaper any more.
    pub(super) fn set(&mut self, now: Time, flow: FlowIx, plan: Option<ShaperPlan>) {
        if plan.is_some() || self.0.is_some() {
            self.0.get_or_insert_default().set(now, flow, plan);
        }
    }

    /// Charges a flow's shaper, if it has one, with bytes that are sent beside it.
    pub(super) fn charge(&mut self, now: Time, flow: FlowIx, len: u32) {
        let Some(shapers) = &mut self.0 else { return };
        if let Some(shaper) = shapers.shaper_mut(flow) {
            shaper.bucket.take(now, len);
            shapers.schedule(flow);
        }
    }

    /// Passes the packet if it conforms now; queues it if it has to wait.
    pub(super) fn arrive(&mut self, now: Time, packet: &Packet, order: u64) -> Shaped {
        self.0.as_mut().map_or(Shaped::Conforms, |shapers| shapers.arrive(now, packet, order))
    }

    /// Takes the next packet that conforms by `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Packet> {
        self.0.as_mut()?.pop(now)
    }

    /// Takes the flow's latest waiting packet.
    pub(super) fn evict(&mut self, flow: FlowIx) -> Option<Packet> {
        self.0.as_mut()?.evict(flow)
    }

    /// Returns the flow with the most waiting packets; ties go to the latest arrival.
    pub(super) fn longest(&mut self) -> Option<FlowIx> {
        self.0.as_mut()?.longest()
    }

    /// Returns true if no packet waits.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|shapers| shapers.queues.is_empty())
    }

    /// Waiting packets of all flows.
    pub(super) fn held(&self) -> Count {
        self.0.as_ref().map_or(Count::default(), |shapers| shapers.held)
    }

    /// Returns when `pop` has the next packet.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.as_ref()?.release.top().map(|((at, _), _)| Time::from_ticks(at))
    }

    pub(super) fn backlog(&self, flow: FlowIx) -> Count {
        let packets = u64::from(self.waiting(flow));
        let bytes = |shapers: &Shapers| if packets > 0 { shapers.queues.bytes_of(flow) } else { 0 };
        Count { packets, bytes: self.0.as_deref().map_or(0, bytes) }
    }

    pub(super) fn waiting(&self, flow: FlowIx) -> u32 {
        self.0.as_ref().map_or(0, |shapers| shapers.waiting(flow))
    }

    /// Returns the packet of a flow that is released first.
    pub(super) fn first(&self, flow: FlowIx) -> Option<&Packet> {
        let shapers = self.0.as_ref().filter(|shapers| shapers.waiting(flow) > 0)?;
        shapers.queues.first(flow).map(|first| &first.packet)
    }

    /// Lists the waiting packets, flow by flow, each in its order.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.0.iter().flat_map(|shapers| {
            let flows = (0..shapers.queues.flows()).map(FlowIx);
            flows.flat_map(|flow| shapers.queues.of(flow).map(|waiting| &waiting.packet))
        })
    }

    /// Returns when the flow's bucket equals a newcomer's.
    pub(super) fn forgettable_at(&self, flow: FlowIx) -> Time {
        let shaper = self.0.as_ref().and_then(|shapers| shapers.shaper(flow));
        shaper.map_or(Time::from_ticks(0), |shaper| shaper.bucket.full_at())
    }

    pub(super) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |shapers| shapers.memory())
    }
}

impl Shapers {
    fn set(&mut self, now: Time, flow: FlowIx, plan: Option<ShaperPlan>) {
        match (self.shaper_mut(flow), plan) {
            (Some(shaper), Some(plan)) => {
                shaper.bucket.change(now, plan.rate, plan.burst);
                shaper.bucket = shaper.bucket.with_peak(plan.peak);
                shaper.plan = plan;
            }
            (None, Some(plan)) => {
                self.queues.grow_to(flow.0 + 1);
                self.release.grow_to(flow.0 + 1);
                if let Some(longest) = &mut self.longest {
                    longest.grow_to(flow.0 + 1);
                }
                let bucket = TokenBucket::new(plan.rate, plan.burst).with_peak(plan.peak);
                if self.shapers.len() <= flow.ix() {
                    self.shapers.resize_with(flow.ix() + 1, || None);
                }
                self.shapers[flow.ix()] = Some(Box::new(Shaper { plan, bucket }));
            }
            (Some(_), None) => self.shapers[flow.ix()] = None,
            (None, None) => {}
        }
        if self.queues.flows() > flow.0 {
            self.schedule(flow);
        }
    }

    fn arrive(&mut self, now: Time, packet: &Packet, order: u64) -> Shaped {
        let flow = packet.flow;
        let waiting = self.waiting(flow);
        if let Some(shaper) = self.shaper_mut(flow) {
            if waiting == 0
                && shaper.bucket.conforms_at(packet.len) <= now
                && shaper.plan.leaves_at(now) == now
            {
                shaper.bucket.take(now, packet.len);
                return Shaped::Conforms;
            }
            match shaper.plan.excess {
                Excess::Wait => {}
                // Packets that have waited since the plan changed go first.
                Excess::Drop if waiting == 0 => return Shaped::Full,
                Excess::Mark if waiting == 0 => return Shaped::Marked,
                Excess::Drop | Excess::Mark => {}
            }
            let limit = shaper.plan.queue;
            let (packets, bytes) = (u64::from(waiting), self.queues.bytes_of(flow));
            if let Some(limit) = limit
                && !limit.admits(packets + 1, bytes + u64::from(packet.len))
            {
                return Shaped::Full;
            }
        } else if waiting == 0 {
            return Shaped::Conforms;
        }
        // Without a shaper too: behind the packets that have waited since it was taken away.
        self.queues.announce(order);
        self.queues.push(packet);
        self.held.add(packet.len);
        if waiting == 0 {
            self.schedule(flow);
        }
        self.renew_length(flow);
        Shaped::Waits
    }

    fn pop(&mut self, now: Time) -> Option<Packet> {
        let ((at, _), flow) = self.release.top()?;
        if Time::from_ticks(at) > now {
            return None;
        }
        let packet = self.queues.pop_first(flow)?.packet;
        if let Some(shaper) = self.shaper_mut(flow) {
            // A calendar delays departures, and not the clock that gives their times.
            let taken = if shaper.plan.calendar.is_some() { shaper.due(&packet) } else { now };
            shaper.bucket.take(taken, packet.len);
        }
        self.held.take(packet.len);
        self.schedule(flow);
        self.renew_length(flow);
        Some(packet)
    }

    fn evict(&mut self, flow: FlowIx) -> Option<Packet> {
        if self.waiting(flow) == 0 {
            return None;
        }
        let packet = self.queues.pop_last(flow)?.packet;
        self.held.take(packet.len);
        self.schedule(flow);
        self.renew_length(flow);
        Some(packet)
    }

    fn longest(&mut self) -> Option<FlowIx> {
        if self.longest.is_none() {
            let mut longest = FlowHeap::default();
            longest.grow_to(self.queues.flows());
            self.longest = Some(longest);
            (0..self.queues.flows()).map(FlowIx).for_each(|flow| self.renew_length(flow));
        }
        self.longest.as_ref()?.top().map(|(_, flow)| flow)
    }

    /// Updates a flow whose number of waiting packets has changed.
    #[inline]
    fn renew_length(&mut self, flow: FlowIx) {
        if self.longest.is_some() {
            self.renew_longest(flow);
        }
    }

    #[inline(never)]
    fn renew_longest(&mut self, flow: FlowIx) {
        let Some(longest) = &mut self.longest else { return };
        match self.queues.last(flow) {
            Some(last) => longest.set(flow, (!u64::from(self.queues.len(flow)), !last.order)),
            None => longest.remove(flow),
        }
        if self.queues.is_empty() {
            self.longest = None;
        }
    }

    fn waiting(&self, flow: FlowIx) -> u32 {
        if self.queues.flows() > flow.0 { self.queues.len(flow) } else { 0 }
    }

    #[inline]
    fn shaper(&self, flow: FlowIx) -> Option<&Shaper> {
        self.shapers.get(flow.ix())?.as_deref()
    }

    #[inline]
    fn shaper_mut(&mut self, flow: FlowIx) -> Option<&mut Shaper> {
        self.shapers.get_mut(flow.ix())?.as_deref_mut()
    }

    fn schedule(&mut self, flow: FlowIx) {
        let Some(Queued { packet, order, .. }) = self.queues.first(flow) else {
            self.release.remove(flow);
            return;
        };
        let order = *order;
        let leaves = |shaper: &Shaper| match shaper.plan.calendar {
            None => shaper.bucket.conforms_at(packet.len),
            Some(_) => shaper.plan.leaves_at(shaper.due(packet)),
        };
        let at = self.shaper(flow).map_or(Time::from_ticks(0), leaves);
        self.release.set(flow, (at.ticks(), order));
    }

    fn memory(&self) -> usize {
        size_of::<Shapers>()
            + self.shapers.capacity() * size_of::<Option<Box<Shaper>>>()
            + self.shapers.iter().flatten().count() * size_of::<Shaper>()
            + self.queues.memory()
            + self.release.memory()
            + self.longest.as_ref().map_or(0, FlowHeap::memory)
    }
}
