//! First in, first out: the stamp is the order of arrival at the node.
//!
//! A flow that was absent rejoins at the end of the queue with all that it has waiting; flows
//! that rejoin between the same two arrivals are served by the age of their packets.

use super::StampRule;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyRecord, Role};
use crate::queues::Queues;
use crate::units::Time;

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "fifo",
    title: "FIFO",
    role: Role::Scheduler,
    help: "Serves packets in the order in which they arrived, whatever their flow.",
    source: "the usual baseline; Zhang 1991, section 5",
    params: &[],
    reads: &[],
};

/// The rule of FIFO.
#[derive(Default)]
pub struct Fifo {
    /// The least key of each flow's packets: where it rejoined.
    floors: Vec<u64>,
}

impl StampRule for Fifo {
    fn set_flow(&mut self, _: Time, flow: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        if self.floors.len() <= flow.ix() {
            self.floors.resize(flow.ix() + 1, 0);
        }
        Ok(())
    }

    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn stamp(&mut self, _: Time, packet: &mut Packet, queues: &Queues) {
        packet.tag = queues.arriving();
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        tag.max(self.floors[flow.ix()])
    }

    fn rejoin(&mut self, _: Time, flow: FlowIx, _: &Packet, queues: &Queues) {
        // Behind every packet that is here, ahead of every packet to come.
        self.floors[flow.ix()] = queues.latest() + 1;
    }

    fn memory(&self) -> usize {
        self.floors.capacity() * size_of::<u64>()
    }
}
