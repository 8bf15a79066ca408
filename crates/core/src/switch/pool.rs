//! The switch's memory: one pool for all ports, completely shared (Zhang 1991, section 3.1).

use crate::context::Body;
use crate::packet::{BodyId, Packet};
use crate::params::Limit;
use crate::stats::Count;
use crate::switch::plan::PushOut;
use std::collections::BTreeMap;

/// What is stored, counted once however many ports hold it.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) limit: Option<Limit>,
    /// Which packet is dropped when it is exhausted.
    pub(super) push_out: PushOut,
    pub(super) used: Count,
    /// How many ports hold each multicast body.
    copies: BTreeMap<BodyId, u32>,
}

impl Pool {
    pub(super) fn new(limit: Option<Limit>, push_out: PushOut) -> Pool {
        Pool { limit, push_out, ..Pool::default() }
    }

    /// What of the pool so much takes, in the unit of its limit.
    pub(super) fn measure(&self, held: Count) -> u64 {
        match self.limit {
            Some(Limit::Bytes(_)) => held.bytes,
            _ => held.packets,
        }
    }

    #[inline]
    pub(super) fn exhausted(&self) -> bool {
        self.limit.is_some_and(|limit| !limit.admits(self.used.packets, self.used.bytes))
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
