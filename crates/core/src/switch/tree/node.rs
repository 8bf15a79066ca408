//! A node: a scheduler, its members' queues, and the indexes over them.

use super::eviction_index::EvictionIndex;
use crate::context::Ctx;
use crate::contract::Refused;
use crate::packet::{FlowIx, Packet};
use crate::params::Limit;
use crate::queues::{Queued, Queues};
use crate::ranking::flow_heap::{FlowHeap, Rank};
use crate::ranking::lazy_table::LazyTable;
use crate::scheduler::{AnyScheduler, Removal, Scheduler, SchedulerKind, Select};
use crate::shaper::Ceiling;
use crate::stats::Count;
use crate::switch::plan::ClassPlan;
use crate::units::{Rate, Time};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The member at a node's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::switch) enum Member {
    /// A flow of the port.
    Flow(FlowIx),
    /// Another node.
    Node(u16),
}

/// Fields that every packet-hop touches come first. The root begins a cache line: what a packet
/// touches that is not queued is on the next one, from the end of the queues to the scheduler.
#[repr(C)]
pub(in crate::switch) struct Node {
    pub(in crate::switch) queues: Queues,
    /// Index of the members by push-out order. Kept only from the first push-out until the port is
    /// empty: most links never push out.
    pub(super) eviction: Option<Box<EvictionIndex>>,
    pub(in crate::switch) scheduler: AnyScheduler,
    pub(in crate::switch) members: Vec<Member>,
    pub(in crate::switch) ceiling: Option<Box<Ceiling>>,
    /// The rate of the server behind it, if known.
    pub(super) rate: Option<Rate>,
    /// The parent node, and this node's index there; `None` for the root.
    pub(in crate::switch) parent: Option<(usize, FlowIx)>,
    /// When the port releases it, if it is held; otherwise [`Time::NEVER`].
    pub(in crate::switch) release_at: Time,
    /// Bytes sent less bytes charged by the parent so far.
    pub(super) uncharged: i64,
    /// Length of the packet for which the latest token was made or resized.
    pub(super) announced: u32,
    /// Members with packets, in order of arrival of their first packet. Built on first use: few
    /// nodes ever have only packets that may not be sent yet.
    oldest: Option<Box<FlowHeap>>,
    /// Backlog of a class and its subclasses; not counted for the root.
    pub(super) subtree: Count,
    /// True if the node may hold its packets in one line: its scheduler serves them in the order in
    /// which they arrive, and the port has no use for the members' queues.
    may_line: bool,
    /// Backlog of each member that push-out spares, all of its subtree for a class; few members have
    /// such a limit.
    pub(super) spared: LazyTable<Option<Limit>>,
}

impl Node {
    /// Creates the root, in front of a link of this rate.
    pub(super) fn new(
        now: Time,
        scheduler: &SchedulerKind,
        ceiling: Option<Rate>,
        rate: Option<Rate>,
    ) -> Result<Node, Refused> {
        Ok(Node::with(now, scheduler.build()?, ceiling.map(Ceiling::new), rate))
    }

    /// Creates a class, which sends at `rate` at most.
    pub(super) fn of_class(now: Time, plan: &ClassPlan, rate: Option<Rate>) -> Result<Node, Refused> {
        let mut scheduler = plan.scheduler.build()?;
        scheduler.follow_service();
        let ceiling = plan.ceiling.map(|rate| Ceiling::new(rate).with_burst(plan.ceiling_burst));
        Ok(Node::with(now, scheduler, ceiling, rate))
    }

    fn with(now: Time, mut scheduler: AnyScheduler, ceiling: Option<Ceiling>, rate: Option<Rate>) -> Node {
        scheduler.set_rate(now, rate);
        Node {
            scheduler,
            queues: Queues::default(),
            members: Vec::new(),
            ceiling: ceiling.map(Box::new),
            rate,
            parent: None,
            release_at: Time::NEVER,
            uncharged: 0,
            announced: 0,
            oldest: None,
            subtree: Count::default(),
            may_line: false,
            spared: LazyTable::default(),
            eviction: None,
        }
    }

    /// Sets the rate of the server behind the node.
    pub(super) fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if rate != self.rate {
            self.rate = rate;
            self.scheduler.set_rate(now, rate);
        }
    }

    /// Makes room for every index below `members`.
    pub(super) fn grow_to(&mut self, members: u32) {
        self.queues.grow_to(members);
        if let Some(oldest) = &mut self.oldest {
            oldest.grow_to(members);
        }
        if let Some(eviction) = &mut self.eviction {
            eviction.grow_to(members);
        }
    }

    /// Selects the next packet to send now, under the node's ceiling.
    #[inline]
    pub(super) fn select(&mut self, now: Time) -> Select {
        match &self.ceiling {
            // Without packets nothing has to be awaited.
            Some(ceiling) if ceiling.clear_at() > now && self.queues.is_empty() => Select::Idle,
            Some(ceiling) if ceiling.clear_at() > now => Select::NotBefore(ceiling.clear_at()),
            _ => self.select_without_ceiling(now),
        }
    }

    #[inline]
    pub(super) fn select_without_ceiling(&mut self, now: Time) -> Select {
        self.scheduler.advance(now, &self.queues);
        self.selected(now)
    }

    /// Returns the packet that is sent next, of those that the scheduler has advanced to.
    #[inline]
    pub(in crate::switch) fn selected(&self, now: Time) -> Select {
        if self.queues.is_line() {
            return self.queues.first_in_line().map_or(Select::Idle, Select::Flow);
        }
        self.scheduler.select(now, &self.queues)
    }

    /// Sets whether the port has no use for the members' queues.
    pub(in crate::switch) fn allow_line(&mut self, allowed: bool) {
        self.may_line = allowed && self.scheduler.serves_in_order();
        if self.may_line { self.form_line() } else { self.split_line() }
    }

    /// Forms one line of all packets, if there are none and no member's queue is of use.
    #[cold]
    #[inline(never)]
    fn form_line(&mut self) {
        let indexed = self.eviction.is_some() || self.oldest.is_some();
        if self.queues.is_empty() && self.queues.all_take_part() && !indexed {
            self.queues.form_line();
        }
    }

    /// Gives every member its queue again, if one line holds all packets.
    pub(in crate::switch) fn split_line(&mut self) {
        if self.queues.is_line() {
            let Node { queues, scheduler, .. } = self;
            queues.split_line(|queued| scheduler.join(queued.packet.flow));
        }
    }

    /// Stamps a packet whose order was announced, and queues it.
    #[inline(always)]
    pub(super) fn push(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet) {
        if self.queues.is_line() {
            return self.queues.push_in_line(packet);
        }
        self.scheduler.enqueue(cx, packet, &self.queues);
        self.queues.push(packet);
        if self.eviction.is_some() {
            self.renew_tail(packet.flow);
        }
    }

    /// Stamps a packet that an empty node serves at once. Returns false, with nothing changed, if
    /// the packet has to be queued.
    #[inline(always)]
    pub(super) fn pass(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, order: u64) -> bool {
        if self.queues.is_line() {
            self.queues.announce(order);
            packet.tag = order;
            return true;
        }
        if self.eviction.is_some() {
            return false;
        }
        self.queues.announce(order);
        self.scheduler.pass(cx, packet, &self.queues)
    }

    /// Takes the member's first packet, whose service begins.
    pub(super) fn pop_first(&mut self, cx: &mut Ctx<'_>, slot: FlowIx) -> Option<Packet> {
        self.split_line();
        let mut packet = self.queues.pop_first(slot)?.packet;
        self.scheduler.dequeued(cx, &mut packet, &self.queues);
        self.scheduler.read_ahead(&self.queues);
        self.renew_first(slot);
        self.popped_first(slot);
        Some(packet)
    }

    /// Selects a packet and pops it into `packet`. Returns false if there was none to send.
    #[inline(always)]
    pub(super) fn serve(
        &mut self,
        cx: &mut Ctx<'_>,
        packet: &mut Packet,
        ahead: impl FnOnce(&[FlowIx]),
    ) -> bool {
        if self.queues.is_line() {
            return self.queues.pop_in_line(packet);
        }
        let served = self.scheduler.serve(cx, &mut self.queues, packet, ahead);
        if served {
            self.popped_first(packet.flow);
            if self.may_line && self.queues.is_empty() {
                self.form_line();
            }
        }
        served
    }

    /// Updates the member after a pop from the front. Its latest packet changes only if that was
    /// the last one, but its queue is shorter: it may now be spared, and less of it is blocked.
    #[inline(always)]
    fn popped_first(&mut self, slot: FlowIx) {
        let depends_on_length = || {
            self.scheduler.loses_by_length() || self.spared.get(slot).is_some() || self.queues.is_capped(slot)
        };
        if self.eviction.is_some() && (self.queues.len(slot) == 0 || depends_on_length()) {
            self.renew_tail(slot);
        }
    }

    /// Removes a member's packet that will not be sent: its latest or its first, depending on
    /// `why`.
    #[inline(always)]
    pub(super) fn remove(&mut self, cx: &mut Ctx<'_>, slot: FlowIx, why: Removal) -> Option<Packet> {
        self.split_line();
        let removed = match why {
            Removal::PushedOut => self.queues.pop_last(slot),
            Removal::DroppedAtHead => self.queues.pop_first(slot),
        };
        let packet = removed?.packet;
        self.scheduler.removed(cx, &packet, &self.queues, why);
        self.renew_first(slot);
        if self.eviction.is_some() {
            self.renew_tail(slot);
        }
        Some(packet)
    }

    /// Updates a member whose first packet may have changed.
    #[inline]
    pub(super) fn renew_first(&mut self, slot: FlowIx) {
        if let Some(oldest) = &mut self.oldest {
            match self.queues.first(slot) {
                Some(first) => oldest.set(slot, (first.order, 0)),
                None => oldest.remove(slot),
            }
        }
    }

    /// Returns the first packet, over all members, that arrived earliest.
    pub(super) fn oldest(&mut self) -> Option<&Queued> {
        self.split_line();
        let queues = &self.queues;
        let oldest = self
            .oldest
            .get_or_insert_with(|| index(queues, |slot| Some((queues.first(slot)?.order, 0))).into());
        queues.first(oldest.top()?.1)
    }

    /// Updates the member after its queue, its participation or the rank of its latest packet has
    /// changed. The tree reports a class's blocked backlog.
    #[inline(never)]
    pub(in crate::switch) fn renew_tail(&mut self, slot: FlowIx) {
        let Some(eviction) = &mut self.eviction else { return };
        match self.members[slot.ix()] {
            Member::Flow(_) => {
                let spared = spares(&self.queues, &self.spared, slot);
                eviction.renew_flow(&self.queues, &self.scheduler, slot, spared);
            }
            Member::Node(_) => eviction.renew(&self.queues, &self.scheduler, slot),
        }
        if self.queues.is_empty() && self.parent.is_none() {
            self.eviction = None;
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.queues.memory()
            + self.scheduler.memory()
            + self.members.capacity() * size_of::<Member>()
            + self.oldest.as_ref().map_or(0, |oldest| oldest.memory())
            + self.eviction.as_ref().map_or(0, |eviction| eviction.memory())
            + self.spared.memory()
            + size_of::<Node>()
    }
}

/// Returns true if a member's backlog is within its spared limit.
pub(super) fn spares(queues: &Queues, spared: &LazyTable<Option<Limit>>, slot: FlowIx) -> bool {
    let within = |limit: Limit| limit.admits(queues.len(slot).into(), queues.bytes_of(slot));
    spared.get(slot).is_some_and(within)
}

/// Builds an index of the members that have a rank.
fn index(queues: &Queues, rank: impl Fn(FlowIx) -> Option<Rank>) -> FlowHeap {
    let mut index = FlowHeap::default();
    index.grow_to(queues.flows());
    for slot in (0..queues.flows()).map(FlowIx) {
        if let Some(rank) = rank(slot) {
            index.set(slot, rank);
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn a_packet_that_is_not_queued_touches_one_cache_line() {
        // From the order of arrival, with which the queues end, to the ring of the default scheduler.
        assert_eq!([size_of::<Queues>(), offset_of!(Node, eviction)], [112, 112]);
        assert_eq!([offset_of!(Node, scheduler), size_of::<AnyScheduler>()], [120, 48]);
    }
}
