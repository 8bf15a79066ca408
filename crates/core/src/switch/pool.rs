//! The switch's memory: one pool for all ports, completely shared (Zhang 1991, section 3.1), or one for each.

use crate::context::Body;
use crate::packet::{BodyId, Packet};
use crate::params::Limit;
use crate::stats::Count;
use crate::switch::plan::{PushOut, Sharing, SwitchPlan};
use std::collections::BTreeMap;

/// What flows claim of the pool for their port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Claim {
    /// What is set aside for flows with a bucket ([`FlowPlan::set_aside`](super::plan::FlowPlan::set_aside)).
    pub(super) aside: Count,
    /// What the others reserve, in bytes a second.
    pub(super) rate: u64,
}

impl Claim {
    pub(super) fn plus(mut self, other: Claim) -> Claim {
        self.aside.merge(other.aside);
        self.rate += other.rate;
        self
    }

    /// This claim without one that is part of it.
    pub(super) fn less(self, part: Claim) -> Claim {
        let aside = Count {
            packets: self.aside.packets - part.aside.packets,
            bytes: self.aside.bytes - part.aside.bytes,
        };
        Claim { aside, rate: self.rate - part.rate }
    }
}

/// What is stored, counted once however many ports hold it.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) limit: Option<Limit>,
    /// Whether the limit is that of all ports, or of each.
    pub(super) sharing: Sharing,
    /// Which packet is dropped when it is exhausted.
    pub(super) push_out: PushOut,
    pub(super) used: Count,
    /// How many ports hold each multicast body.
    copies: BTreeMap<BodyId, u32>,
}

impl Pool {
    pub(super) fn new(plan: &SwitchPlan) -> Pool {
        let mut pool = Pool::default();
        pool.follow(plan);
        pool
    }

    /// Takes the limit and the rules of a plan; whether they are other ones.
    pub(super) fn follow(&mut self, plan: &SwitchPlan) -> bool {
        let before = (self.limit, self.sharing, self.push_out);
        (self.limit, self.sharing, self.push_out) = (plan.buffer, plan.sharing, plan.push_out);
        before != (self.limit, self.sharing, self.push_out)
    }

    /// What of the pool so much takes, in the unit of its limit.
    pub(super) fn measure(&self, held: Count) -> u64 {
        match self.limit {
            Some(Limit::Bytes(_)) => held.bytes,
            _ => held.packets,
        }
    }

    /// Whether the limit is in bytes, and not in packets.
    pub(super) fn counts_bytes(&self) -> bool {
        matches!(self.limit, Some(Limit::Bytes(_)))
    }

    /// Whether all ports together hold more than the limit. A pool of which no port does is not exhausted either.
    #[inline]
    pub(super) fn exhausted(&self) -> bool {
        self.is_exceeded_by(self.used)
    }

    /// Whether so much is more than the limit.
    #[inline]
    pub(super) fn is_exceeded_by(&self, held: Count) -> bool {
        self.limit.is_some_and(|limit| !limit.admits(held.packets, held.bytes))
    }

    /// A body came in for `legs` ports.
    #[inline]
    pub(super) fn store(&mut self, packet: &Packet, legs: usize) {
        self.used.add(packet.len);
        if legs > 1 {
            self.copies.insert(packet.body, legs as u32);
        }
    }

    /// A port is done with the packet.
    #[inline]
    pub(super) fn release(&mut self, packet: &Packet) -> Body {
        if packet.shared != 0 && self.others_hold(packet.body) {
            return Body::Kept;
        }
        self.used.take(packet.len);
        Body::Released
    }

    /// One port less holds this multicast body; whether there are others.
    #[cold]
    fn others_hold(&mut self, body: BodyId) -> bool {
        let Some(copies) = self.copies.get_mut(&body) else { return false };
        *copies -= 1;
        if *copies == 0 {
            self.copies.remove(&body);
            return false;
        }
        true
    }
}
