//! The index over a node's members that finds the packet for push-out in O(log n).

use crate::packet::FlowIx;
use crate::queues::Queues;
use crate::ranking::flow_heap::FlowHeap;
use crate::ranking::lazy_table::LazyTable;
use crate::scheduler::{AnyScheduler, Scheduler};
use crate::stats::Count;

/// Bit in the second part of the rank of members that are evicted only when all members are spared:
/// they come after a member that has nothing to lose. Orders of arrival are below it.
const SPARED: u64 = 1 << 63;

/// Upper bound of a packet's length in bytes.
const ONE_PACKET: u64 = u32::MAX as u64;

/// State of a class that its parent's index needs.
pub(super) struct SubtreeBacklog {
    /// Backlog that may not be sent now.
    pub(super) blocked: Count,
    /// Total backlog.
    pub(super) queued: Count,
    /// True if the whole backlog is spared.
    pub(super) spared: bool,
}

/// Members with packets, ranked by their latest packet with the first to be evicted on top, and the
/// blocked backlog: packets that may not be sent now.
#[derive(Default)]
pub(super) struct EvictionIndex {
    all: FlowHeap,
    /// Members with blocked backlog.
    blocked: FlowHeap,
    /// Blocked backlog of each member.
    blocked_of: LazyTable<Count>,
    /// Backlog of each class beyond its token.
    beyond_token: LazyTable<Count>,
    /// Members that are evicted only when all are spared: flows and classes whose backlog is within
    /// their spared limit, and classes that contain only such members.
    spared: LazyTable<bool>,
    /// Blocked backlog of all members.
    total: Count,
    /// True if queues are measured in bytes, as the pool is; false for packets.
    in_bytes: bool,
}

impl EvictionIndex {
    /// An index for `members` members, without packets. `in_bytes` is true if queues are measured
    /// in bytes.
    pub(super) fn new(members: u32, in_bytes: bool) -> EvictionIndex {
        let mut index = EvictionIndex { in_bytes, ..EvictionIndex::default() };
        index.grow_to(members);
        index
    }

    /// Makes room for every index below `members`.
    pub(super) fn grow_to(&mut self, members: u32) {
        self.all.grow_to(members);
        self.blocked.grow_to(members);
    }

    /// Updates a flow whose queue, participation or spared state has changed.
    pub(super) fn renew_flow(
        &mut self,
        queues: &Queues,
        scheduler: &AnyScheduler,
        slot: FlowIx,
        spared: bool,
    ) {
        self.renew_blocked(slot, queues.blocked(slot));
        self.spared.set(slot, spared);
        self.renew(queues, scheduler, slot);
    }

    /// Like [`renew_flow`](Self::renew_flow), for a class.
    pub(super) fn renew_class(
        &mut self,
        queues: &Queues,
        scheduler: &AnyScheduler,
        slot: FlowIx,
        SubtreeBacklog { blocked, queued, spared }: SubtreeBacklog,
    ) {
        self.renew_blocked(slot, blocked);
        self.spared.set(slot, spared);
        let token = queues.bytes_of(slot);
        let (packets, bytes) = (queued.packets.saturating_sub(1), queued.bytes.saturating_sub(token));
        self.beyond_token.set(slot, Count { packets, bytes });
        self.renew(queues, scheduler, slot);
    }

    fn renew_blocked(&mut self, slot: FlowIx, blocked: Count) {
        let before = self.blocked_of.get(slot);
        if before != blocked {
            self.total.packets = self.total.packets + blocked.packets - before.packets;
            self.total.bytes = self.total.bytes + blocked.bytes - before.bytes;
            self.blocked_of.set(slot, blocked);
            if blocked.packets == 0 {
                self.blocked.remove(slot);
            }
        }
    }

    /// Updates the rank of a member whose latest packet, or its rank, has changed.
    pub(super) fn renew(&mut self, queues: &Queues, scheduler: &AnyScheduler, slot: FlowIx) {
        let Some(last) = queues.last(slot) else {
            self.all.remove(slot);
            self.blocked.remove(slot);
            return;
        };
        let behind = self.beyond_token.get(slot);
        let to_lose = match scheduler.loses_by_length() {
            false => scheduler.rank_to_lose(slot, last, behind),
            true => self.length(queues, slot, behind),
        };
        let rank = match self.spared.get(slot) {
            true => (u64::MAX, !last.order | SPARED),
            false => (!to_lose, !last.order & !SPARED),
        };
        self.all.set(slot, rank);
        if self.blocked_of.get(slot).packets > 0 {
            self.blocked.set(slot, rank);
        }
    }

    /// Rank of a member by length. In bytes, a member with a single packet ranks behind all others.
    fn length(&self, queues: &Queues, slot: FlowIx, behind: Count) -> u64 {
        let packets = u64::from(queues.len(slot)).saturating_add(behind.packets);
        match (self.in_bytes, packets) {
            (false, _) => packets,
            (true, ..2) => queues.bytes_of(slot).min(ONE_PACKET),
            (true, _) => queues.bytes_of(slot).saturating_add(behind.bytes).saturating_add(ONE_PACKET),
        }
    }

    /// Returns the member whose latest packet is evicted first; `blocked` restricts it to
    /// members with blocked backlog.
    pub(super) fn first(&self, blocked: bool) -> Option<FlowIx> {
        let heap = if blocked { &self.blocked } else { &self.all };
        heap.top().map(|(_, slot)| slot)
    }

    /// Returns true if the whole backlog is spared.
    pub(super) fn is_spared(&self) -> bool {
        self.all.top().is_some_and(|((_, order), _)| order & SPARED != 0)
    }

    /// Returns the blocked backlog.
    pub(super) fn blocked(&self) -> Count {
        self.total
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.all.memory()
            + self.blocked.memory()
            + self.blocked_of.memory()
            + self.beyond_token.memory()
            + self.spared.memory()
    }
}
