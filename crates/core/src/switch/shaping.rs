//! The per-flow shapers in front of a port's dropper: packets wait here until they conform,
//! and reach the dropper and the schedulers as if they arrived then.

use crate::packet::{FlowIx, Packet};
use crate::queues::{Queued, Queues};
use crate::ranking::flow_heap::FlowHeap;
use crate::shaper::{Excess, ShaperPlan, TokenBucket};
use crate::stats::Count;
use crate::units::Time;

struct Shaper {
    plan: ShaperPlan,
    bucket: TokenBucket,
}

/// What every packet-hop touches, whether packets wait, comes first.
#[derive(Default)]
#[repr(C)]
pub(super) struct Shaping {
    pub(super) queues: Queues,
    /// By flow; as long as the last one that ever had a shaper.
    shapers: Vec<Option<Box<Shaper>>>,
    /// What waits, over all flows.
    pub(super) held: Count,
    /// Flows with packets waiting, by when the first one conforms.
    release: FlowHeap,
    /// Whether each packet that is let go is reported to the driver.
    pub(super) reports: bool,
    /// The same by how many wait, the most on top. Kept only from when that is asked for until nothing waits.
    longest: Option<FlowHeap>,
}

/// What becomes of a packet that reaches a shaper.
pub(super) enum Shaped {
    Conforms,
    /// It goes on, out of profile.
    Marked,
    Waits,
    /// There is no place for it.
    Full,
}

impl Shaping {
    /// Gives a flow this shaper, changes it, or takes it away. What waits keeps waiting, or
    /// conforms at once where there is no shaper any more.
    pub(super) fn set(&mut self, now: Time, flow: FlowIx, plan: Option<ShaperPlan>) {
        match (self.shaper_mut(flow), plan) {
            (Some(shaper), Some(plan)) => {
                shaper.bucket.change(now, plan.rate, plan.burst);
                shaper.bucket = shaper.bucket.with_peak(plan.peak);
                shaper.plan = plan;
            }
            (None, Some(plan)) => {
                self.queues.reach(flow.0 + 1);
                self.release.reach(flow.0 + 1);
                if let Some(longest) = &mut self.longest {
                    longest.reach(flow.0 + 1);
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

    /// Whether the packet may pass now; if it has to wait it is queued.
    pub(super) fn arrive(&mut self, now: Time, packet: Packet, order: u64) -> Shaped {
        let flow = packet.flow;
        let waiting = self.waiting(flow);
        if let Some(shaper) = self.shaper_mut(flow) {
            if waiting == 0 && shaper.bucket.conforms_at(packet.len) <= now {
                shaper.bucket.take(now, packet.len);
                return Shaped::Conforms;
            }
            match shaper.plan.excess {
                Excess::Wait => {}
                // What waits since the plan was another one goes first.
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
        // Also without a shaper: behind what has waited since it was taken away.
        self.queues.announce(order);
        self.queues.push(&packet);
        self.held.add(packet.len);
        if waiting == 0 {
            self.schedule(flow);
        }
        self.renew_length(flow);
        Shaped::Waits
    }

    /// The next packet that conforms by `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Packet> {
        let ((at, _), flow) = self.release.top()?;
        if Time::from_ticks(at) > now {
            return None;
        }
        let packet = self.queues.pop_first(flow)?.packet;
        if let Some(shaper) = self.shaper_mut(flow) {
            shaper.bucket.take(now, packet.len);
        }
        self.held.take(packet.len);
        self.schedule(flow);
        self.renew_length(flow);
        Some(packet)
    }

    /// Takes the flow's latest waiting packet.
    pub(super) fn evict(&mut self, flow: FlowIx) -> Option<Packet> {
        if self.waiting(flow) == 0 {
            return None;
        }
        let packet = self.queues.pop_last(flow)?.packet;
        self.held.take(packet.len);
        self.schedule(flow);
        self.renew_length(flow);
        Some(packet)
    }

    /// The flow with the most packets waiting; of several the one with the latest arrival.
    pub(super) fn longest(&mut self) -> Option<FlowIx> {
        if self.longest.is_none() {
            let mut longest = FlowHeap::default();
            longest.reach(self.queues.flows());
            self.longest = Some(longest);
            (0..self.queues.flows()).map(FlowIx).for_each(|flow| self.renew_length(flow));
        }
        self.longest.as_ref()?.top().map(|(_, flow)| flow)
    }

    /// More or fewer packets of the flow wait.
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

    /// Whether `pop` has something now.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.release.top().is_some_and(|((at, _), _)| Time::from_ticks(at) <= now)
    }

    /// When `pop` has something next.
    pub(super) fn next(&self) -> Option<Time> {
        self.release.top().map(|((at, _), _)| Time::from_ticks(at))
    }

    pub(super) fn backlog(&self, flow: FlowIx) -> Count {
        let packets = u64::from(self.waiting(flow));
        Count { packets, bytes: if packets > 0 { self.queues.bytes_of(flow) } else { 0 } }
    }

    pub(super) fn waiting(&self, flow: FlowIx) -> u32 {
        if self.queues.flows() > flow.0 { self.queues.len(flow) } else { 0 }
    }

    /// The packet of a flow that is let go first.
    pub(super) fn first(&self, flow: FlowIx) -> Option<&Packet> {
        if self.waiting(flow) == 0 {
            return None;
        }
        self.queues.first(flow).map(|first| &first.packet)
    }

    /// What waits, flow by flow, each in its order.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let flows = (0..self.queues.flows()).map(FlowIx);
        flows.flat_map(|flow| self.queues.of(flow).map(|waiting| &waiting.packet))
    }

    /// From when on the flow's bucket is as a newcomer's.
    pub(super) fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.shaper(flow).map_or(Time::from_ticks(0), |shaper| shaper.bucket.full_at())
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
        let (len, order) = (packet.len, *order);
        let conforms = |shaper: &Shaper| shaper.bucket.conforms_at(len);
        let at = self.shaper(flow).map_or(Time::from_ticks(0), conforms);
        self.release.set(flow, (at.ticks(), order));
    }

    pub(super) fn memory(&self) -> usize {
        self.shapers.capacity() * size_of::<Option<Box<Shaper>>>()
            + self.shapers.iter().flatten().count() * size_of::<Shaper>()
            + self.queues.memory()
            + self.release.memory()
            + self.longest.as_ref().map_or(0, FlowHeap::memory)
    }
}
