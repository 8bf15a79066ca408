//! Start-time fair queueing (Goyal, Vin and Cheng 1996): virtual time is the start tag of the
//! packet in service. It is not Linux's `sfq`, stochastic fairness queueing, which hashes flows
//! into queues and serves them in turn.
//!
//! A packet's start tag is `max(its flow's previous finish tag, virtual time)`, its finish tag
//! `len / weight` later; packets are served in the order of their start tags. Its fairness needs no
//! constant rate, so it suits links whose rate varies and classes within classes.
//!
//! Choices in addition to those of fair queueing in general (`fair_queueing.rs`):
//! - The last packet sent counts as in service until another one starts or the busy period is over.

use super::fair_queueing::FairQueueing;
use super::fair_rule::{FairRule, Order, Tags};
use super::virtual_time::{UNRESERVED, VirtualTime};
use super::weights::share;
use crate::contract::Refused;
use crate::curves::{Exact, whole};
use crate::params::{
    Carry, FixedPort, Line, NoLine, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use crate::units::Rate;
use num_traits::Zero;

parameters! {
    /// Parameters of start-time fair queueing.
    #[derive(Copy, Eq)]
    pub struct SfqParams {
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

impl PolicyParams for SfqParams {
    type Policy = FairQueueing<Sfq>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "sfq",
        title: "Start-time fair queueing",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Shares the link in proportion to the flows' reservations, also while its rate varies: serves the packet \
               with the smallest start tag. Not Linux's sfq, which is stochastic fairness queueing.",
        source: "Goyal, Vin and Cheng 1996, section 2",
        params: SfqParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<FairQueueing<Sfq>, Refused> {
        Ok(FairQueueing::new(Sfq::default(), self.unreserved))
    }

    fn example() -> SfqParams {
        SfqParams { unreserved: UNRESERVED }
    }

    fn returns_as_newcomers(&self) -> bool {
        true
    }

    /// A packet leaves by the time at which a server of the rate r would have begun it, its own time
    /// on the link, and that of a largest packet of every other flow (Goyal, Vin and Cheng 1996). A
    /// server of the rate r takes `len / r`, which is no less than `len / C`, for the smallest packet,
    /// too: the difference comes off.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        let rule = port.has_whole_link().map(|()| {
            let share = share(port, index, self.unreserved);
            let own = whole(port.flows[index].smallest);
            let late = port.largest_of_others(index) + &own - own * &port.rate / &share;
            let late = late.max(Exact::zero());
            port.own_line(index, share, &late, "SFQ (Goyal, Vin and Cheng 1996)")
        });
        port.or_arbitrary(index, rule)
    }
}

/// The rule of start-time fair queueing.
#[derive(Default)]
pub struct Sfq {
    virtual_time: VirtualTime,
}

impl FairRule for Sfq {
    const ORDER: Order = Order::Start;

    #[inline]
    fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    fn advance_to(&mut self, start: VirtualTime) {
        self.virtual_time = self.virtual_time.max(start);
    }

    #[inline]
    fn served(&mut self, tags: &Tags, _: u32) {
        self.virtual_time = self.virtual_time.max(tags.start);
    }
}
