//! The switch's memory: one pool for all ports, completely shared (Zhang 1991, section 3.1), or one
//! for each.

use crate::context::Body;
use crate::packet::{BodyId, Packet};
use crate::params::Limit;
use crate::stats::Count;
use crate::switch::plan::{PushOut, Sharing, SwitchPlan};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;

/// Claims of flows on the pool for their port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Claim {
    /// Memory set aside for flows with a bucket
    /// ([`FlowPlan::set_aside`](super::plan::FlowPlan::set_aside)).
    pub(super) aside: Count,
    /// Reservations of the other flows, in bytes a second.
    pub(super) rate: u64,
}

impl Claim {
    pub(super) fn plus(mut self, other: Claim) -> Claim {
        self.aside.merge(other.aside);
        self.rate += other.rate;
        self
    }

    /// Returns this claim less one that is part of it.
    pub(super) fn less(self, part: Claim) -> Claim {
        let aside = Count {
            packets: self.aside.packets - part.aside.packets,
            bytes: self.aside.bytes - part.aside.bytes,
        };
        Claim { aside, rate: self.rate - part.rate }
    }
}

/// Stored packets, counted once however many ports hold them.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Pool {
    pub(super) used: Count,
    pub(super) limit: Option<Limit>,
    /// Scope of the limit: all ports together, or each port.
    pub(super) sharing: Sharing,
    /// The rule that chooses the packet to drop when the pool is exhausted.
    pub(super) push_out: PushOut,
    /// Number of ports that hold each multicast body.
    copies: Option<Box<Copies>>,
}

/// Number of ports that hold each multicast body. A switch without one keeps a pointer, so that a
/// node of the simulator takes two cache lines.
#[derive(Debug, Default)]
struct Copies {
    by_body: BTreeMap<BodyId, u32>,
}

impl Pool {
    pub(super) fn new(plan: &SwitchPlan) -> Pool {
        let mut pool = Pool::default();
        pool.follow(plan);
        pool
    }

    /// Takes over the limit and the rules of a plan. Returns true if they have changed.
    pub(super) fn follow(&mut self, plan: &SwitchPlan) -> bool {
        let before = (self.limit, self.sharing, self.push_out);
        (self.limit, self.sharing, self.push_out) = (plan.buffer, plan.sharing, plan.push_out);
        before != (self.limit, self.sharing, self.push_out)
    }

    /// Returns the size of `held` in the unit of the limit.
    pub(super) fn measure(&self, held: Count) -> u64 {
        match self.limit {
            Some(Limit::Bytes(_)) => held.bytes,
            _ => held.packets,
        }
    }

    /// Returns true if the limit is in bytes.
    pub(super) fn counts_bytes(&self) -> bool {
        matches!(self.limit, Some(Limit::Bytes(_)))
    }

    /// Returns true if all ports together hold more than the limit. If they do not, no single port
    /// does.
    #[inline]
    pub(super) fn exhausted(&self) -> bool {
        self.is_exceeded_by(self.used)
    }

    /// Returns true if `held` is more than the limit.
    #[inline]
    pub(super) fn is_exceeded_by(&self, held: Count) -> bool {
        self.limit.is_some_and(|limit| !limit.admits(held.packets, held.bytes))
    }

    /// Stores a body that came in for `legs` ports.
    #[inline]
    pub(super) fn store(&mut self, packet: &Packet, legs: usize) {
        self.used.add(packet.len);
        if legs > 1 {
            self.copies.get_or_insert_default().by_body.insert(packet.body, legs as u32);
        }
    }

    /// Releases the packet at one port.
    #[inline]
    pub(super) fn release(&mut self, packet: &Packet) -> Body {
        if packet.shared != 0 && self.others_hold(packet.body) {
            return Body::Kept;
        }
        self.used.take(packet.len);
        Body::Released
    }

    /// Counts one port less that holds this multicast body. Returns true if others still hold it.
    #[cold]
    fn others_hold(&mut self, body: BodyId) -> bool {
        let Some(Copies { by_body }) = self.copies.as_deref_mut() else { return false };
        let Some(copies) = by_body.get_mut(&body) else { return false };
        *copies -= 1;
        if *copies == 0 {
            by_body.remove(&body);
            return false;
        }
        true
    }
}
