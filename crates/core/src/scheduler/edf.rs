//! Earliest deadline first (Liu and Layland 1973; of packets: Ferrari and Verma 1990): each packet
//! is stamped with its arrival plus its flow's local delay bound d, and packets are served in the
//! order of their stamps.
//!
//! A packet's last bit should have left by its deadline. Where flows state their traffic, a check
//! ensures that all deadlines can be kept ([`bounds::deadlines`](crate::bounds::deadlines)); a flow
//! that sends more than it states may delay all others.
//!
//! Choices where the papers are silent:
//! - Equal deadlines are served in the order of arrival.
//! - Flows without a deadline are served after those with one, first in, first out.
//! - Stamps of a flow never decrease: when its bound becomes shorter, its queued packets go first.
//! - A **held** flow keeps its stamps; a flow that was **absent** is stamped as if its first packet
//!   had arrived when it rejoins. Without a deadline, it keeps its place.

use super::deadlines::{self, Deadlines};
use super::{StampRule, Stamped};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use crate::queues::Queues;
use crate::units::Time;

parameters! {
    /// Parameters of earliest deadline first: none.
    pub struct EdfParams {}
}

impl PolicyParams for EdfParams {
    type Policy = Stamped<Edf>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "edf",
        title: "Earliest deadline first",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Stamps each packet with its arrival and its flow's deadline, and serves packets in the order of their stamps; \
               flows without a deadline share the remaining capacity, first in first out.",
        source: "Liu and Layland 1973; Liebeherr, Wrege and Ferrari 1996",
        params: EdfParams::PARAMS,
        reads: &["deadline", "reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Times,
        divides: true,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Stamped<Edf>, Refused> {
        Ok(Stamped::default())
    }

    fn example() -> EdfParams {
        EdfParams {}
    }

    fn waits_for_ties(&self) -> bool {
        true
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        deadlines::check(node)
    }
}

/// The rule of earliest deadline first.
#[derive(Default)]
pub struct Edf {
    deadlines: Deadlines,
}

impl StampRule for Edf {
    fn set_flow(&mut self, _: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.deadlines.set(flow, contract);
        Ok(())
    }

    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        packet.tag = self.deadlines.tag(packet.flow, packet.arrived, queues);
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        self.deadlines.key(flow, tag)
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, _: &Packet, _: &Queues) {
        self.deadlines.rejoin(now, flow);
    }

    fn memory(&self) -> usize {
        self.deadlines.memory()
    }
}
