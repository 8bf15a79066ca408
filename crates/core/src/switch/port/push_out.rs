//! The packet that a port gives up when the pool is exhausted.

use super::Port;
use crate::context::{Ctx, Reason};
use crate::dropper::Left;
use crate::packet::FlowIx;
use crate::switch::pool::Pool;

/// Minimum ratio of the rest to the blocked backlog (α = 1/3); below it the blocked backlog gives
/// way.
const REST_OF_BLOCKED: u64 = 3;

impl Port {
    /// Number of packets in queues that push-out could take.
    pub(in crate::switch) fn evictable(&self) -> u64 {
        self.backlog.packets - u64::from(self.busy)
    }

    /// Drops a blocked packet if the blocked backlog exceeds a third of the rest; otherwise the
    /// packet that would be sent last. Returns false if there was none.
    pub(in crate::switch) fn evict_one(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        self.tree.measure_in_bytes(pool.counts_bytes());
        let (queued, shaped) = (pool.measure(self.backlog), pool.measure(self.shaping.held()));
        let blocked = pool.measure(self.tree.blocked());
        // The blocked backlog is part of the queue.
        let rest = queued - blocked;
        let too_much = (blocked + shaped).saturating_mul(REST_OF_BLOCKED) > rest;
        if self.evictable() == 0 || (too_much && shaped > blocked) {
            return self.push_out_longest_shaped(cx, pool);
        }
        self.push_out(cx, pool, too_much)
    }

    /// Drops the packet that the schedulers would send last, of all packets or of the blocked ones.
    pub(in crate::switch) fn push_out(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, blocked: bool) -> bool {
        self.tree.measure_in_bytes(pool.counts_bytes());
        let Some((member, packet)) = self.tree.push_out(cx, blocked) else { return false };
        self.leave_unsent(cx, pool, member.node, &packet, Reason::PushedOut, Left::PushedOut);
        true
    }

    /// Drops the flow's latest packet in its shaper.
    pub(in crate::switch) fn push_out_shaped(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        flow: FlowIx,
    ) -> bool {
        let Some(packet) = self.shaping.evict(flow) else { return false };
        self.drop(cx, pool, &packet, Reason::PushedOut);
        self.retire_if_drained(cx.now, flow);
        true
    }

    /// Like [`push_out_shaped`](Self::push_out_shaped), for the flow with the most packets in its
    /// shaper.
    pub(in crate::switch) fn push_out_longest_shaped(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        self.shaping.longest().is_some_and(|flow| self.push_out_shaped(cx, pool, flow))
    }
}
