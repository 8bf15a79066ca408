//! Strict priority: the most urgent backlogged level first, FIFO within a level.

use super::in_order::InOrder;
use super::{StampRule, Stamped};
use crate::contract::{Contract, Refused};
use crate::curves::{ArrivalCurve, Exact, left_by};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, FixedPort, Guarantee, Line, Member, NoLine, Parameters, PolicyParams, PolicyRecord, Role, Service,
    Stamps, parameters,
};
use crate::queues::Queues;
use crate::units::Time;
use alloc::format;
use alloc::vec::Vec;
use num_traits::Zero;

parameters! {
    /// Parameters of strict priority: none.
    #[derive(Copy)]
    pub struct StrictPriorityParams {}
}

impl PolicyParams for StrictPriorityParams {
    type Policy = Stamped<StrictPriority>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "strict-priority",
        title: "Strict priority",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves the most urgent backlogged level first, and FIFO within a level; a busy level starves those below it.",
        source: "RFC 2475, section 2.3.3 (class-based priority)",
        params: StrictPriorityParams::PARAMS,
        reads: &["priority"],
        stamps: Stamps::Arrivals,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Stamped<StrictPriority>, Refused> {
        Ok(Stamped::default())
    }

    fn example() -> StrictPriorityParams {
        StrictPriorityParams {}
    }

    fn waits_for_ties(&self) -> bool {
        true
    }

    /// The flows of a level are in one line, which is served behind the traffic of more urgent flows
    /// and a packet in service of a less urgent one (Le Boudec and Thiran 2001, section 6.2).
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        let level = port.flows[index].contract.priority;
        let urgent = port.arrivals(|_, flow| flow.contract.priority < level)?;
        let blocking = port.largest(|flow| flow.contract.priority > level);
        let before = urgent.and(&ArrivalCurve::bucket(blocking, Exact::zero()));
        Ok(Line {
            flows: port.chosen(|flow| flow.contract.priority == level),
            service: left_by(&before, &port.server),
            is_whole_port: false,
            source: "strict priority (Le Boudec and Thiran 2001, section 6.2)",
        })
    }

    /// Guarantees the rate that the more and equally urgent members leave, behind a packet in
    /// service of a less urgent one, or what came of them during an own one that has just left.
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee> {
        let (mut burst, mut rate, mut longest) = (0.0, 0.0, 0u32);
        for (_, member) in members.iter().enumerate().filter(|(nth, _)| *nth != index) {
            if member.contract.priority <= members[index].contract.priority {
                let traffic = member.traffic?;
                (burst, rate) = (burst + traffic.burst, rate + traffic.rate);
            } else {
                longest = longest.max(member.largest);
            }
        }
        // With members of its level it is in line: they may have come while older packets of its own were
        // served.
        let level = |member: &Member| member.contract.priority;
        let alone = members.iter().filter(|member| level(member) == level(&members[index])).count() == 1;
        let at_any_time = server.at_any_time && alone;
        let left = server.rate - rate;
        let own = f64::from(members[index].largest) * (1.0 - left / server.link);
        let late = server.rate * server.latency + burst + f64::from(longest).max(own);
        (left > 0.0).then(|| Guarantee { rate: left, latency: late / left, at_any_time, ..server })
    }
}

/// The least urgent level; 0 is the most urgent.
const MIN_URGENT: u8 = 7;
/// Orders of arrival stay below 2⁶⁰; the level is in the bits above them.
const LEVEL_SHIFT: u32 = 60;

/// The rule of strict priority.
#[derive(Default)]
pub struct StrictPriority {
    within: InOrder,
    levels: Vec<u8>,
}

impl StampRule for StrictPriority {
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        if contract.priority > MIN_URGENT {
            return Err(Refused(format!("priority level {} is above {MIN_URGENT}", contract.priority)));
        }
        self.within.set_flow(now, flow, contract, queues)?;
        if self.levels.len() <= flow.ix() {
            self.levels.resize(flow.ix() + 1, 0);
        }
        self.levels[flow.ix()] = contract.priority;
        Ok(())
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.within.forgettable_at(flow)
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        self.within.stamp(packet, queues);
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        u64::from(self.levels[flow.ix()]) << LEVEL_SHIFT | self.within.key(flow, tag)
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, queues: &Queues) {
        self.within.rejoin(now, flow, head, queues);
    }

    fn memory(&self) -> usize {
        self.within.memory() + self.levels.capacity()
    }
}
