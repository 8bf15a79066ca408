//! Jitter-EDD (Verma, Zhang and Ferrari 1991): earliest deadline first behind regulators that give
//! every packet of a flow the same delay, its full bound d, at every hop but the last.
//!
//! ```text
//! eligible ← arrival + carry                   on arrival
//! deadline ← eligible + d
//! carry ← deadline − last bit out              when service begins
//! ```
//!
//! The eligible packet with the earliest deadline is served. A packet that left one hop early is
//! held at the next hop for as long as it was early, so the link may be idle while packets wait.
//!
//! Choices where the paper is silent:
//! - The last bit leaves after the packet's transmission time at the rate of the server behind the
//!   node; where the rate is unknown, it counts as sent when service begins.
//! - A packet that leaves late carries nothing: the next hop does not advance it at the expense of
//!   others.
//! - A flow without a deadline is not regulated. Such flows are served after those with one, first
//!   in, first out, and the values that their packets carry are passed on.
//! - Equal deadlines are served in the order of arrival. Stamps of a flow never decrease.
//! - A **held** flow keeps its stamps; a flow that was **absent** is stamped as if its first packet
//!   had become eligible when it rejoins. Without a deadline, it keeps its place.
//! - In a class, the value carried is computed from the deadline in the class.

use super::deadlines::{self, Deadlines};
use super::{Hold, Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use crate::queues::{Queued, Queues};
use crate::ranking::flow_heap::FlowHeap;
use crate::stats::Count;
use crate::units::{Rate, Span, Time};

parameters! {
    /// Parameters of Jitter-EDD: none.
    #[derive(Copy)]
    pub struct JitterEddParams {}
}

impl PolicyParams for JitterEddParams {
    type Policy = JitterEdd;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "jitter-edd",
        title: "Jitter-EDD",
        role: Role::Scheduler { service: Service::Regulated },
        help: "Holds each packet for the time by which it left the previous hop before its deadline, then \
               serves the earliest deadline first; flows without a deadline are not held, and share the \
               remaining capacity.",
        source: "Verma, Zhang and Ferrari 1991",
        params: JitterEddParams::PARAMS,
        reads: &["deadline", "reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Unordered,
        divides: true,
        reads_queues: false,
        needs: None,
        carries: Carry::Ahead,
    };

    fn make(&self) -> Result<JitterEdd, Refused> {
        Ok(JitterEdd::default())
    }

    fn example() -> JitterEddParams {
        JitterEddParams {}
    }

    fn waits_for_ties(&self) -> bool {
        true
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        deadlines::check(node)
    }
}

/// Regulators, followed by earliest deadline first.
#[derive(Default)]
pub struct JitterEdd {
    /// The rate of the server behind the node.
    rate: Option<Rate>,
    deadlines: Deadlines,
    /// Flows that may be selected, by the deadline of their first packet.
    eligible: FlowHeap,
    /// Flows that take part, by the time at which their first packet becomes eligible.
    regulated: FlowHeap,
}

impl JitterEdd {
    /// Returns the time at which a packet of the flow becomes eligible.
    fn eligible_at(&self, flow: FlowIx, packet: &Packet) -> Time {
        //= pincheira1994 5
        match u64::try_from(packet.carry) {
            Ok(ahead) if self.deadlines.has_one(flow) => packet.arrived + Span::from_ticks(ahead),
            _ => packet.arrived,
        }
    }

    /// Inserts a flow that takes part, with this first packet; the flow must be in no heap.
    fn insert(&mut self, now: Time, flow: FlowIx, head: &Packet, order: u64) {
        let at = self.eligible_at(flow, head);
        if at <= now {
            self.eligible.insert(flow, (self.deadlines.key(flow, head.tag), order));
        } else {
            self.regulated.insert(flow, (at.ticks(), order));
        }
    }

    /// Updates the flow's place.
    fn refresh(&mut self, now: Time, flow: FlowIx, queues: &Queues) {
        self.eligible.remove(flow);
        self.regulated.remove(flow);
        if let Some(head) = queues.first(flow).filter(|_| queues.takes_part(flow)) {
            self.insert(now, flow, &head.packet, head.order);
        }
    }
}

impl Scheduler for JitterEdd {
    fn set_rate(&mut self, _: Time, rate: Option<Rate>) {
        self.rate = rate;
    }

    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.deadlines.set(flow, contract);
        self.eligible.grow_to(flow.0 + 1);
        self.regulated.grow_to(flow.0 + 1);
        self.refresh(now, flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        packet.tag = self.deadlines.tag(flow, self.eligible_at(flow, packet), queues);
        if queues.len(flow) == 0 && queues.takes_part(flow) {
            self.insert(cx.now, flow, packet, queues.arriving());
        }
    }

    #[inline]
    fn advance(&mut self, now: Time, queues: &Queues) {
        while let Some(((at, _), flow)) = self.regulated.top()
            && at <= now.ticks()
        {
            self.regulated.remove(flow);
            if let Some(head) = queues.first(flow) {
                self.eligible.insert(flow, (self.deadlines.key(flow, head.packet.tag), head.order));
            }
        }
    }

    fn holds(&self, now: Time, flow: FlowIx, queues: &Queues) -> Option<(Hold, Time)> {
        let at = self.eligible_at(flow, &queues.first(flow)?.packet);
        (at > now).then_some((Hold::Regulator, at))
    }

    #[inline]
    fn select(&self, _: Time, _: &Queues) -> Select {
        match (self.eligible.top(), self.regulated.top()) {
            (Some((_, flow)), _) => Select::Flow(flow),
            (None, Some(((at, _), _))) => Select::NotBefore(Time::from_ticks(at)),
            (None, None) => Select::Idle,
        }
    }

    #[inline]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        if self.deadlines.has_one(packet.flow) {
            let deadline = Time::from_ticks(self.deadlines.key(packet.flow, packet.tag));
            let sending = self.rate.map_or(Span::ZERO, |rate| rate.time_for(packet.len));
            let ahead = deadline.since(cx.now + sending);
            packet.carry = i64::try_from(ahead.ticks()).unwrap_or(i64::MAX);
        }
        self.eligible.remove(packet.flow);
        if let Some(head) = queues.first(packet.flow) {
            self.insert(cx.now, packet.flow, &head.packet, head.order);
        }
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        self.refresh(cx.now, packet.flow, queues);
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, _: Count) -> u64 {
        self.deadlines.key(flow, last.packet.tag)
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        if before == Participation::Absent && queues.participation(flow) != Participation::Absent {
            self.deadlines.rejoin(now, flow);
        }
        self.refresh(now, flow, queues);
    }

    fn memory(&self) -> usize {
        self.deadlines.memory() + self.eligible.memory() + self.regulated.memory()
    }
}
