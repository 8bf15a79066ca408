//! The order of arrival as a stamping rule, for FIFO and for levels of priority.

use super::stamped::{StampRule, Stamped};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::queues::Queues;
use crate::units::Time;
use alloc::vec::Vec;

/// Stamps packets with their order of arrival.
#[derive(Default)]
pub(super) struct InOrder {
    /// The least key of each flow's packets, set when it rejoined.
    floors: Vec<u64>,
}

impl StampRule for InOrder {
    fn set_flow(&mut self, _: Time, flow: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        self.grow_to(flow);
        Ok(())
    }

    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        packet.tag = queues.arriving();
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        tag.max(self.floors[flow.ix()])
    }

    fn rejoin(&mut self, _: Time, flow: FlowIx, _: &Packet, queues: &Queues) {
        // Behind every queued packet, ahead of every later one.
        self.floors[flow.ix()] = queues.latest() + 1;
    }

    fn memory(&self) -> usize {
        self.floors.capacity() * size_of::<u64>()
    }
}

impl InOrder {
    pub(super) fn grow_to(&mut self, flow: FlowIx) {
        if self.floors.len() <= flow.ix() {
            self.floors.resize(flow.ix() + 1, 0);
        }
    }
}

impl Stamped<InOrder> {
    /// Opens a flow without a contract. Its queued packets do not take part until it is refreshed.
    pub(super) fn open(&mut self, flow: FlowIx) {
        self.rule.grow_to(flow);
        self.heads.grow_to(flow.0 + 1);
    }
}
