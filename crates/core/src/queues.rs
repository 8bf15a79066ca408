//! The per-flow queues of one scheduler node, and the participation of each flow: written by the
//! switch, read by the schedulers.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::packet::{BodyId, FlowIx, Packet};
//! use tidegate_core::queues::Queues;
//!
//! let mut queues = Queues::default();
//! queues.grow_to(2);
//! for (order, flow) in [(0, 1), (1, 0), (2, 1)] {
//!     queues.announce(order);
//!     let mut packet = Packet::new(BodyId(flow), 1500);
//!     packet.flow = FlowIx(flow);
//!     queues.push(&packet);
//! }
//! assert_eq!((queues.packets_of(FlowIx(1)), queues.bytes_of(FlowIx(0))), (2, 1500));
//! assert_eq!(queues.pop_first(FlowIx(1)).unwrap().order, 0);
//! ```

mod line;
mod resize;

use crate::packet::{FlowIx, Packet};
use crate::ranking::ring::Ring;
use crate::stats::{Count, wrapping_count};
use alloc::vec::Vec;
use core::hint::black_box;

const NONE: u32 = u32::MAX;
/// Greatest number of flows that one call reads ahead.
const AHEAD: usize = 32;

/// Participation of a flow in scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Participation {
    /// The flow may be selected.
    #[default]
    Active,
    /// The flow may not be selected: a ceiling. Its stamps stay, so it may catch up with the reservation
    /// of the meantime; under fair queueing it returns as an absent flow does.
    Held,
    /// The flow may not be selected, and rejoins as a newcomer: a flow without credit. An absence
    /// never gives it an advantage and never cancels a debt.
    Absent,
}

/// A queued packet, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Queued {
    /// The packet; its `flow` is the index at this node.
    pub packet: Packet,
    /// Position in the order of arrival at the port: unique, increasing.
    pub order: u64,
    next: u32,
    prev: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct FlowQueue {
    first: u32,
    last: u32,
    packets: u32,
    participation: Participation,
    capped: bool,
    bytes: u64,
}

const EMPTY: FlowQueue = FlowQueue {
    first: NONE,
    last: NONE,
    packets: 0,
    participation: Participation::Active,
    capped: false,
    bytes: 0,
};

/// First-in, first-out queues, one per flow, over one slab: no allocation per packet.
///
/// Where packets are served in the order in which they arrived, one line holds them all instead: a
/// packet touches nothing of its flow, and a flow's packets are looked up in the line.
///
/// The last fields are all that a packet touches in a line. A node continues their cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Queues {
    flows: Vec<FlowQueue>,
    slab: Vec<Queued>,
    free: u32,
    held: u32,
    absent: u32,
    line: Ring<Queued>,
    packets: u32,
    /// True while the line holds all packets.
    in_line: bool,
    arriving: u64,
    latest: u64,
}

impl Default for Queues {
    fn default() -> Queues {
        Queues {
            flows: Vec::new(),
            slab: Vec::new(),
            free: NONE,
            arriving: 0,
            latest: 0,
            held: 0,
            absent: 0,
            line: Ring::default(),
            packets: 0,
            in_line: false,
        }
    }
}

impl Queues {
    /// Number of flows that have a queue here.
    pub fn flows(&self) -> u32 {
        self.flows.len() as u32
    }

    /// Number of packets queued, over all flows.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.packets.into()
    }

    /// Bytes queued, over all flows; iterates over the flows.
    pub fn bytes(&self) -> u64 {
        let line = self.line.iter().map(|queued| u64::from(queued.packet.len));
        self.flows.iter().map(|queue| queue.bytes).chain(line).sum()
    }

    /// Number of packets in the flow's own queue: schedulers are not asked while there is one line.
    #[inline]
    pub fn len(&self, flow: FlowIx) -> u32 {
        debug_assert!(!self.in_line);
        self.flows[flow.ix()].packets
    }

    /// Number of packets queued for one flow.
    pub fn packets_of(&self, flow: FlowIx) -> u32 {
        if self.in_line { self.in_line_of(flow).count() as u32 } else { self.len(flow) }
    }

    /// Returns true if no packet is queued for any flow.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Bytes queued for one flow.
    pub fn bytes_of(&self, flow: FlowIx) -> u64 {
        let bytes = |queued: &Queued| u64::from(queued.packet.len);
        if self.in_line { self.in_line_of(flow).map(bytes).sum() } else { self.flows[flow.ix()].bytes }
    }

    /// Participation of the flow.
    #[inline]
    pub fn participation(&self, flow: FlowIx) -> Participation {
        self.flows[flow.ix()].participation
    }

    /// Returns true if the flow may be selected when it has packets.
    #[inline]
    pub fn takes_part(&self, flow: FlowIx) -> bool {
        self.participation(flow) == Participation::Active
    }

    /// Returns true if every flow may be selected when it has packets.
    #[inline]
    pub fn all_take_part(&self) -> bool {
        self.held == 0 && self.absent == 0
    }

    /// Returns true if some flow is held.
    pub fn any_held(&self) -> bool {
        self.held > 0
    }

    /// Packets and bytes of the flow that may not be sent now, even if no other flow competes: all
    /// of its queue when the flow does not take part; all but its first packet when it has a
    /// ceiling.
    pub(crate) fn blocked(&self, flow: FlowIx) -> Count {
        let queue = &self.flows[flow.ix()];
        let mut blocked = Count { packets: self.packets_of(flow).into(), bytes: self.bytes_of(flow) };
        if queue.participation == Participation::Active {
            match self.of(flow).next() {
                Some(first) if queue.capped => blocked.take(first.packet.len),
                _ => return Count::default(),
            }
        }
        blocked
    }

    /// Sets whether the flow has a ceiling.
    pub(crate) fn set_capped(&mut self, flow: FlowIx, capped: bool) {
        self.flows[flow.ix()].capped = capped;
    }

    /// Returns true if the flow has a ceiling.
    pub(crate) fn is_capped(&self, flow: FlowIx) -> bool {
        self.flows[flow.ix()].capped
    }

    /// Sets the flow's participation, and returns the previous one.
    pub(crate) fn set_participation(&mut self, flow: FlowIx, how: Participation) -> Participation {
        let before = core::mem::replace(&mut self.flows[flow.ix()].participation, how);
        let is = |which| u32::from(how == which);
        let was = |which| u32::from(before == which);
        self.held = self.held + is(Participation::Held) - was(Participation::Held);
        self.absent = self.absent + is(Participation::Absent) - was(Participation::Absent);
        before
    }

    /// The first packet of the flow's own queue: the one that it sends next.
    #[inline]
    pub fn first(&self, flow: FlowIx) -> Option<&Queued> {
        debug_assert!(!self.in_line);
        self.slab.get(self.flows[flow.ix()].first as usize)
    }

    /// The latest packet of the flow's own queue: the one that push-out takes.
    #[inline]
    pub fn last(&self, flow: FlowIx) -> Option<&Queued> {
        debug_assert!(!self.in_line);
        self.slab.get(self.flows[flow.ix()].last as usize)
    }

    /// Prefetches the data needed when these flows send: their queues, and the first two packets of
    /// each. The reads are independent of each other, so that all of them together take little
    /// longer than one cache miss.
    pub(crate) fn read_ahead(&self, flows: &[FlowIx]) {
        let mut places = [NONE; AHEAD];
        let places = &mut places[..flows.len().min(AHEAD)];
        for (at, flow) in places.iter_mut().zip(flows) {
            *at = self.flows.get(flow.ix()).map_or(NONE, |queue| queue.first);
        }
        for at in places.iter_mut() {
            *at = self.slab.get(*at as usize).map_or(NONE, |queued| queued.next);
        }
        for at in places.iter_mut() {
            *at = self.slab.get(*at as usize).map_or(NONE, |queued| queued.next);
        }
        black_box(places);
    }

    /// The flow's packets, first to last.
    pub fn of(&self, flow: FlowIx) -> impl Iterator<Item = &Queued> {
        let mut at = self.flows[flow.ix()].first;
        let own = core::iter::from_fn(move || {
            let queued = self.slab.get(at as usize)?;
            at = queued.next;
            Some(queued)
        });
        own.chain(self.in_line_of(flow))
    }

    /// Position in the order of arrival of the packet about to be pushed; schedulers break ties by
    /// it.
    #[inline]
    pub fn arriving(&self) -> u64 {
        self.arriving
    }

    /// The greatest order announced here so far.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// Announces the order of the next packet to be pushed: later than all before it.
    #[inline]
    pub fn announce(&mut self, order: u64) {
        debug_assert!(order >= self.latest);
        (self.arriving, self.latest) = (order, order);
    }

    /// Announces the order of the next packet to be pushed, which may be earlier than those before
    /// it.
    pub(crate) fn announce_late(&mut self, order: u64) {
        self.arriving = order;
        self.latest = self.latest.max(order);
    }

    /// Reserves memory for this number of further flows.
    pub(crate) fn reserve(&mut self, flows: usize) {
        self.flows.reserve_exact(flows);
    }

    /// Gives every index below `flows` a queue.
    pub fn grow_to(&mut self, flows: u32) {
        if self.flows.len() < flows as usize {
            self.flows.resize(flows as usize, EMPTY);
        }
    }

    /// Adds a packet to the end of its flow's queue, in the order that was announced.
    #[inline]
    pub fn push(&mut self, packet: &Packet) {
        debug_assert!(!self.in_line);
        let queue = &mut self.flows[packet.flow.ix()];
        let queued = Queued { packet: *packet, order: self.arriving, next: NONE, prev: queue.last };
        let mut at = self.free;
        match self.slab.get_mut(at as usize) {
            Some(place) => {
                self.free = place.next;
                *place = queued;
            }
            None => {
                at = self.slab.len() as u32;
                self.slab.push(queued);
            }
        }
        match self.slab.get_mut(queue.last as usize) {
            Some(last) => last.next = at,
            None => queue.first = at,
        }
        queue.last = at;
        // The counters cover only packets in the lists, so they cannot wrap, here and below.
        queue.packets = queue.packets.wrapping_add(1);
        wrapping_count(&mut queue.bytes, u64::from(packet.len));
        self.packets = self.packets.wrapping_add(1);
    }

    /// Removes the flow's first packet. It can be read in its place until the next push.
    #[inline(always)]
    pub fn pop_first(&mut self, flow: FlowIx) -> Option<&Queued> {
        debug_assert!(!self.in_line);
        let queue = &mut self.flows[flow.ix()];
        // As a slice, whose length no write below can change.
        let slab = self.slab.as_mut_slice();
        let at = queue.first;
        queue.first = slab.get(at as usize)?.next;
        match slab.get_mut(queue.first as usize) {
            Some(next) => next.prev = NONE,
            None => queue.last = NONE,
        }
        let place = &mut slab[at as usize];
        place.next = core::mem::replace(&mut self.free, at);
        let bytes = u64::from(place.packet.len);
        queue.packets = queue.packets.wrapping_sub(1);
        queue.bytes = queue.bytes.wrapping_sub(bytes);
        self.packets = self.packets.wrapping_sub(1);
        Some(place)
    }

    /// Removes the flow's latest packet. It can be read in its place until the next push.
    pub(crate) fn pop_last(&mut self, flow: FlowIx) -> Option<&Queued> {
        debug_assert!(!self.in_line);
        let queue = &mut self.flows[flow.ix()];
        let at = queue.last;
        let prev = self.slab.get(at as usize)?.prev;
        queue.last = prev;
        match self.slab.get_mut(prev as usize) {
            Some(prev) => prev.next = NONE,
            None => queue.first = NONE,
        }
        Some(self.release(at, flow))
    }

    /// Frees the place of a packet that is no longer in any list.
    #[inline]
    fn release(&mut self, at: u32, flow: FlowIx) -> &Queued {
        let place = &mut self.slab[at as usize];
        place.next = core::mem::replace(&mut self.free, at);
        let bytes = u64::from(place.packet.len);
        let queue = &mut self.flows[flow.ix()];
        queue.packets = queue.packets.wrapping_sub(1);
        queue.bytes = queue.bytes.wrapping_sub(bytes);
        self.packets = self.packets.wrapping_sub(1);
        place
    }

    /// Bytes of memory held, for the memory report.
    pub fn memory(&self) -> usize {
        let flows = self.flows.capacity() * size_of::<FlowQueue>();
        flows + self.slab.capacity() * size_of::<Queued>() + self.line.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::BodyId;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_like_a_deque_per_flow(steps in prop::collection::vec((0u32..4, 0u8..4, 1u32..2000), 1..400)) {
            let mut queues = Queues::default();
            queues.grow_to(4);
            let mut model: Vec<VecDeque<(u32, u64)>> = vec![VecDeque::new(); 4];
            for (order, (flow, what, len)) in steps.into_iter().enumerate() {
                let (flow, order) = (FlowIx(flow), order as u64);
                let deque = &mut model[flow.ix()];
                match what {
                    0 | 1 => {
                        let mut packet = Packet::new(BodyId(0), len);
                        packet.flow = flow;
                        queues.announce(order);
                        queues.push(&packet);
                        deque.push_back((len, order));
                    }
                    2 => prop_assert_eq!(queues.pop_first(flow).map(|q| (q.packet.len, q.order)), deque.pop_front()),
                    _ => prop_assert_eq!(queues.pop_last(flow).map(|q| (q.packet.len, q.order)), deque.pop_back()),
                }
                for (ix, deque) in model.iter().enumerate() {
                    let flow = FlowIx(ix as u32);
                    let seen: Vec<_> = queues.of(flow).map(|q| (q.packet.len, q.order)).collect();
                    prop_assert_eq!(&seen, &deque.iter().copied().collect::<Vec<_>>());
                    prop_assert_eq!(queues.last(flow).map(|q| q.order), deque.back().map(|&(_, o)| o));
                    prop_assert_eq!(queues.bytes_of(flow), deque.iter().map(|&(l, _)| u64::from(l)).sum::<u64>());
                }
                prop_assert_eq!(queues.packets(), model.iter().map(|d| d.len() as u64).sum::<u64>());
            }
        }
    }
}
