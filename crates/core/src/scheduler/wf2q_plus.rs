//! WF²Q+ (Bennett and Zhang 1997): of the packets whose service would have begun in the fluid system, the one that
//! would end first.
//!
//! Virtual time advances by the work that is done over the weights of all flows, and is never behind the smallest start
//! tag of a flow that has packets: `V ← max(V + len / sum of weights, smallest start tag)`. A packet is eligible once
//! its start tag is not after virtual time; of the eligible ones, the smallest finish tag is served. So no flow is more
//! than a packet ahead of its share, and none more than a packet behind.
//!
//! Virtual time counts work, as that of the hierarchical H-WF²Q+ does, and needs no rate. A flow is promised its part of
//! the server by weight, among all that are open.
//!
//! Choices beside those of fair queueing in general (`fair_queueing.rs`):
//! - The work of a packet is counted when its service begins: a packet that arrives meanwhile starts no earlier than
//!   when the server is free.
//! - Flows that are held or absent do not take part in the smallest start tag.

use super::fair_queueing::{FairQueueing, FairRule, Order, Tags};
use super::virtual_time::{UNRESERVED, VirtualTime};
use crate::contract::Refused;
use crate::packet::FlowIx;
use crate::params::{Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::units::Rate;

parameters! {
    /// What can be set of WF²Q+.
    #[derive(Eq)]
    pub struct Wf2qPlusParams {
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

impl PolicyParams for Wf2qPlusParams {
    type Made = FairQueueing<Wf2qPlus>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "wf2q-plus",
        title: "WF²Q+",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Shares the link in proportion to the flows' reservations, each never more than a packet ahead or behind: \
               of the packets that would have started in a fluid system, serves the one that would end first.",
        source: "Bennett and Zhang 1997, section IV",
        params: Wf2qPlusParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
    };

    fn make(&self) -> Result<FairQueueing<Wf2qPlus>, Refused> {
        Ok(FairQueueing::new(Wf2qPlus::default(), self.unreserved))
    }

    fn example() -> Wf2qPlusParams {
        Wf2qPlusParams { unreserved: UNRESERVED }
    }
}

/// The rule of WF²Q+.
#[derive(Default)]
pub struct Wf2qPlus {
    virtual_time: VirtualTime,
    /// The sum of the weights of all open flows.
    weights: u128,
    /// Work that virtual time has not advanced by: less than a unit of it.
    rest: u128,
}

impl FairRule for Wf2qPlus {
    const ORDER: Order = Order::EligibleFinish;

    fn set_weight(&mut self, _: FlowIx, before: Option<Rate>, weight: Rate) -> Result<(), Refused> {
        self.weights += u128::from(weight.weight());
        self.weights -= before.map_or(0, |before| u128::from(before.weight()));
        Ok(())
    }

    fn release(&mut self, _: FlowIx, weight: Rate) {
        self.weights -= u128::from(weight.weight());
    }

    #[inline]
    fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    fn reach(&mut self, start: VirtualTime) {
        self.virtual_time = self.virtual_time.max(start);
    }

    #[inline]
    fn served(&mut self, _: &Tags, len: u32) {
        let work = u128::from(len) * Rate::WEIGHT_SCALE + self.rest;
        self.virtual_time = self.virtual_time.later(work / self.weights);
        self.rest = work % self.weights;
    }
}
