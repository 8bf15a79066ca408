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
use crate::curves::{Due, ServiceCurve, are_schedulable, left_by, seconds, whole};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, Fault, FixedPort, Line, NoLine, NodeContext, Parameters, PolicyParams, PolicyRecord, Role,
    Service, Stamps, parameters,
};
use crate::queues::Queues;
use crate::units::Time;
use alloc::vec;
use alloc::vec::Vec;

parameters! {
    /// Parameters of earliest deadline first: none.
    #[derive(Copy)]
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

    /// A flow's packets leave by their deadlines, if those of all flows can be kept as they reach the
    /// port. Flows without a deadline are in a line behind all others.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        port.or_arbitrary(index, line(port, index))
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        deadlines::check(node)
    }
}

fn line(port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
    let Some(deadline) = port.flows[index].contract.deadline else {
        let before = port.arrivals(|_, flow| flow.contract.deadline.is_some())?;
        return Ok(Line {
            flows: port.chosen(|flow| flow.contract.deadline.is_none()),
            service: left_by(&before, &port.server),
            is_whole_port: false,
            source: "behind all deadlines (Le Boudec and Thiran 2001, section 6.2)",
        });
    };
    let mut demands = Vec::new();
    for (other, flow) in port.flows.iter().enumerate() {
        if let Some(deadline) = flow.contract.deadline {
            let arrivals = flow.arrivals.clone().ok_or(NoLine::Unbounded(other))?;
            demands.push(Due { arrivals, within: seconds(deadline), largest: whole(flow.largest) });
        }
    }
    let other = port.largest(|flow| flow.contract.deadline.is_none());
    if !are_schedulable(&demands, &other, &port.server) {
        return Err(NoLine::Because("the deadlines cannot all be kept"));
    }
    Ok(Line {
        flows: vec![index],
        service: ServiceCurve::delay(seconds(deadline)),
        is_whole_port: false,
        source: "deadlines (Liebeherr, Wrege and Ferrari 1996, theorem 1)",
    })
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
