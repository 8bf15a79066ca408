//! Which packet does push-out take? The index over a node's members that finds it in O(log n).

use super::Member;
use super::node::{Node, spares};
use crate::packet::FlowIx;
use crate::queues::Queues;
use crate::ranking::flow_heap::FlowHeap;
use crate::ranking::lazy_table::LazyTable;
use crate::scheduler::{AnyScheduler, Scheduler};
use crate::stats::Count;

/// The rank of members that lose only when all do.
const SPARED: u64 = u64::MAX;

/// No packet has more bytes.
const ONE_PACKET: u64 = u32::MAX as u64;

/// What has to be known of a class.
pub(super) struct Beneath {
    /// What of it may not be sent now.
    pub(super) blocked: Count,
    /// What is queued in it.
    pub(super) queued: Count,
    /// Whether all of that is spared.
    pub(super) spared: bool,
}

/// Members with packets, by the rank of their latest packet, the first to lose on top; and how much may not be
/// sent now.
#[derive(Default)]
pub(super) struct Losing {
    all: FlowHeap,
    /// Those with something that may not be sent now.
    blocked: FlowHeap,
    /// What of each member may not be sent now.
    of: LazyTable<Count>,
    /// What each class has queued beyond its token.
    behind: LazyTable<Count>,
    /// Members that lose only when all do: flows with no more queued than is left to them, and classes with nothing else.
    spared: LazyTable<bool>,
    /// What of all of them may not be sent now.
    total: Count,
    /// Whether queues are measured in bytes, as is the pool, and not in packets.
    in_bytes: bool,
}

impl Losing {
    /// The index of a node's members with what is queued; `beneath` is what has to be known of a class.
    pub(super) fn new(node: &Node, in_bytes: bool, beneath: impl Fn(usize) -> Beneath) -> Losing {
        let Node { queues, scheduler, members, spared, .. } = node;
        let mut losing = Losing { in_bytes, ..Losing::default() };
        losing.reach(queues.flows());
        for (slot, member) in members.iter().enumerate() {
            let slot = FlowIx(slot as u32);
            if queues.len(slot) > 0 {
                match member {
                    Member::Flow(_) => {
                        losing.renew_flow(queues, scheduler, slot, spares(queues, spared, slot));
                    }
                    Member::Node(class) => {
                        losing.renew_class(queues, scheduler, slot, beneath(usize::from(*class)));
                    }
                }
            }
        }
        losing
    }

    /// Gives every index below `members` a place.
    pub(super) fn reach(&mut self, members: u32) {
        self.all.reach(members);
        self.blocked.reach(members);
    }

    /// A flow's queue or how it takes part has changed, or whether it is spared.
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

    /// The same of a class.
    pub(super) fn renew_class(
        &mut self,
        queues: &Queues,
        scheduler: &AnyScheduler,
        slot: FlowIx,
        Beneath { blocked, queued, spared }: Beneath,
    ) {
        self.renew_blocked(slot, blocked);
        self.spared.set(slot, spared);
        let token = queues.bytes_of(slot);
        let (packets, bytes) = (queued.packets.saturating_sub(1), queued.bytes.saturating_sub(token));
        self.behind.set(slot, Count { packets, bytes });
        self.renew(queues, scheduler, slot);
    }

    fn renew_blocked(&mut self, slot: FlowIx, blocked: Count) {
        let before = self.of.get(slot);
        if before != blocked {
            self.total.packets = self.total.packets + blocked.packets - before.packets;
            self.total.bytes = self.total.bytes + blocked.bytes - before.bytes;
            self.of.set(slot, blocked);
            if blocked.packets == 0 {
                self.blocked.remove(slot);
            }
        }
    }

    /// The member's latest packet is another one, or ranks elsewhere.
    pub(super) fn renew(&mut self, queues: &Queues, scheduler: &AnyScheduler, slot: FlowIx) {
        let Some(last) = queues.last(slot) else {
            self.all.remove(slot);
            self.blocked.remove(slot);
            return;
        };
        let behind = self.behind.get(slot);
        let to_lose = match scheduler.loses_by_length() {
            false => scheduler.rank_to_lose(slot, last, behind),
            true => self.length(queues, slot, behind),
        };
        let rank = if self.spared.get(slot) { SPARED } else { (!to_lose).min(SPARED - 1) };
        let rank = (rank, !last.order);
        self.all.set(slot, rank);
        if self.of.get(slot).packets > 0 {
            self.blocked.set(slot, rank);
        }
    }

    /// A member's rank by length: the only packet of one ranks behind all others.
    fn length(&self, queues: &Queues, slot: FlowIx, behind: Count) -> u64 {
        let packets = u64::from(queues.len(slot)).saturating_add(behind.packets);
        match (self.in_bytes, packets) {
            (false, _) => packets,
            (true, ..2) => queues.bytes_of(slot).min(ONE_PACKET),
            (true, _) => queues.bytes_of(slot).saturating_add(behind.bytes).saturating_add(ONE_PACKET),
        }
    }

    /// The member whose latest packet is the first to lose; `blocked` asks for one with something that may not
    /// be sent now.
    pub(super) fn first(&self, blocked: bool) -> Option<FlowIx> {
        let heap = if blocked { &self.blocked } else { &self.all };
        heap.top().map(|(_, slot)| slot)
    }

    /// Whether all that is queued is spared.
    pub(super) fn is_spared(&self) -> bool {
        self.all.top().is_some_and(|((rank, _), _)| rank == SPARED)
    }

    /// What may not be sent now.
    pub(super) fn blocked(&self) -> Count {
        self.total
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.all.memory()
            + self.blocked.memory()
            + self.of.memory()
            + self.behind.memory()
            + self.spared.memory()
    }
}
