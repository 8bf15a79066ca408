//! First in, first out: the stamp is the order of arrival at the node.
//!
//! A flow that was absent rejoins at the end of the queue with all its waiting packets; flows that
//! rejoin between the same two arrivals are served by the age of their packets.
//!
//! As long as every flow takes part, the queue is a line of flows, with one place per packet. When
//! a flow is held or absent, or a packet arrives that is older than the one before it (the token of
//! a class), the packets are ranked like those of any stamping scheduler, until the node is empty
//! and every flow takes part.

use super::in_order::InOrder;
use super::{Participation, Removal, Scheduler, Select, Stamped};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, FixedPort, Line, NoLine, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use crate::queues::{Queued, Queues};
use crate::ranking::ring::Ring;
use crate::stats::Count;
use crate::units::Time;
use alloc::boxed::Box;

parameters! {
    /// Parameters of FIFO: none.
    #[derive(Copy)]
    pub struct FifoParams {}
}

impl PolicyParams for FifoParams {
    type Policy = Fifo;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "fifo",
        title: "FIFO",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves packets in the order in which they arrived, whatever their flow.",
        source: "the usual baseline; Zhang 1991, section 5",
        params: FifoParams::PARAMS,
        reads: &[],
        stamps: Stamps::Arrivals,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Fifo, Refused> {
        Ok(Fifo::default())
    }

    fn example() -> FifoParams {
        FifoParams {}
    }

    /// All flows are in one line, whose service is the port's (Cruz, A calculus for network delay,
    /// part I, IEEE Transactions on Information Theory 37(1), 1991).
    fn line(&self, port: &FixedPort<'_>, _: usize) -> Result<Line, NoLine> {
        let (flows, service) = (port.chosen(|_| true), port.server.clone());
        Ok(Line { flows, service, is_whole_port: true, source: "FIFO (Cruz 1991)" })
    }
}

/// First in, first out. Fields that every packet touches come first.
#[derive(Default)]
#[repr(C)]
pub struct Fifo {
    ranking: bool,
    /// The flow of every queued packet, in the order of service; empty while `ranking`.
    line: Ring<FlowIx>,
    /// Created when first needed, and kept.
    ranked: Option<Box<Stamped<InOrder>>>,
}

impl Fifo {
    /// Ranks the packets, if they are not ranked yet.
    #[cold]
    #[inline(never)]
    fn rank(&mut self, queues: &Queues) -> &mut Stamped<InOrder> {
        let ranked = self.ranked.get_or_insert_with(|| {
            let mut ranked = Box::<Stamped<InOrder>>::default();
            (0..queues.flows()).for_each(|flow| ranked.open(FlowIx(flow)));
            ranked
        });
        core::iter::from_fn(|| self.line.pop()).for_each(|flow| ranked.refresh(flow, queues));
        self.ranking = true;
        ranked
    }

    /// Returns to the line, if the line gives the order of service again.
    fn update_ranking(&mut self, queues: &Queues) {
        self.ranking = !queues.all_take_part() || !queues.is_empty();
    }

    #[inline(never)]
    fn enqueue_ranked(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.rank(queues).enqueue(cx, packet, queues);
    }

    #[inline(never)]
    fn dequeued_ranked(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.rank(queues).dequeued(cx, packet, queues);
        self.update_ranking(queues);
    }
}

impl Scheduler for Fifo {
    fn set_flow(&mut self, _: Time, flow: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        if let Some(ranked) = &mut self.ranked {
            ranked.open(flow);
        }
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        if self.ranking || queues.arriving() < queues.latest() {
            return self.enqueue_ranked(cx, packet, queues);
        }
        packet.tag = queues.arriving();
        self.line.push(packet.flow);
    }

    #[inline]
    fn pass(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) -> bool {
        if self.ranking {
            return false;
        }
        packet.tag = queues.arriving();
        true
    }

    fn serves_in_order(&self) -> bool {
        true
    }

    fn join(&mut self, flow: FlowIx) {
        debug_assert!(!self.ranking);
        self.line.push(flow);
    }

    #[inline]
    fn select(&self, now: Time, queues: &Queues) -> Select {
        match (self.line.first(), &self.ranked) {
            (Some(flow), _) => Select::Flow(*flow),
            (None, Some(ranked)) if self.ranking => ranked.select(now, queues),
            _ => Select::Idle,
        }
    }

    #[inline]
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        if self.ranking {
            return self.dequeued_ranked(cx, packet, queues);
        }
        debug_assert_eq!(self.line.first(), Some(&packet.flow));
        self.line.skip();
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        if self.ranking {
            self.rank(queues).removed(cx, packet, queues, why);
            return self.update_ranking(queues);
        }
        match why {
            // Push-out takes the last packet of the whole line.
            Removal::PushedOut => self.line.remove_last(packet.flow),
            Removal::DroppedAtHead => self.line.skip(),
        }
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        match &self.ranked {
            Some(ranked) if self.ranking => ranked.rank_to_lose(flow, last, behind),
            _ => last.packet.tag,
        }
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        if self.ranking || !queues.takes_part(flow) {
            self.rank(queues).take_part(now, flow, before, queues);
            self.update_ranking(queues);
        }
    }

    fn memory(&self) -> usize {
        let ranked = self.ranked.as_ref().map_or(0, |ranked| ranked.memory());
        self.line.memory() + ranked
    }
}
