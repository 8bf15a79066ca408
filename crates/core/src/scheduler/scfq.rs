//! Self-clocked fair queueing (Golestani 1994): virtual time is the finish tag of the packet in
//! service.
//!
//! A packet's finish tag is `max(its flow's previous finish tag, virtual time) + len / weight`;
//! packets are served in the order of their finish tags. No fluid system is simulated and no rate
//! is needed; the cost is that a packet may wait for one packet of every other flow.
//!
//! Choices in addition to those of fair queueing in general (`fair_queueing.rs`):
//! - The paper sets virtual time and all tags to zero when a busy period ends. Here they keep their
//!   values, which is equivalent: no flow without packets is ahead of virtual time.
//! - The last packet sent counts as in service until another one starts.

use super::fair_queueing::FairQueueing;
use super::fair_rule::{FairRule, Order, Tags};
use super::virtual_time::{UNRESERVED, VirtualTime};
use super::weights::share;
use crate::contract::Refused;
use crate::params::{
    Carry, FixedPort, Line, NoLine, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use crate::units::Rate;

parameters! {
    /// Parameters of self-clocked fair queueing.
    #[derive(Copy, Eq)]
    pub struct ScfqParams {
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

impl PolicyParams for ScfqParams {
    type Policy = FairQueueing<Scfq>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "scfq",
        title: "Self-clocked fair queueing",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Shares the link in proportion to the flows' reservations: serves the packet with the smallest finish \
               tag, and takes virtual time from the finish tag of the packet in service.",
        source: "Golestani 1994",
        params: ScfqParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<FairQueueing<Scfq>, Refused> {
        Ok(FairQueueing::new(Scfq::default(), self.unreserved))
    }

    fn example() -> ScfqParams {
        ScfqParams { unreserved: UNRESERVED }
    }

    fn returns_as_newcomers(&self) -> bool {
        true
    }

    /// A packet leaves by the time at which a server of the flow's share would have finished it, and
    /// the time of a largest packet of every other flow (Golestani 1994; Goyal, Lam and Vin 1997).
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        let rule = port.has_whole_link().map(|()| {
            let (share, late) = (share(port, index, self.unreserved), port.largest_of_others(index));
            port.own_line(index, share, &late, "SCFQ (Golestani 1994)")
        });
        port.or_arbitrary(index, rule)
    }
}

/// The rule of self-clocked fair queueing.
#[derive(Default)]
pub struct Scfq {
    virtual_time: VirtualTime,
}

impl FairRule for Scfq {
    const ORDER: Order = Order::Finish;

    #[inline]
    fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    #[inline]
    fn served(&mut self, tags: &Tags, _: u32) {
        self.virtual_time = self.virtual_time.max(tags.finish);
    }

    fn resumed(&mut self, at: VirtualTime, _: Option<u32>) {
        self.virtual_time = self.virtual_time.max(at);
    }
}
