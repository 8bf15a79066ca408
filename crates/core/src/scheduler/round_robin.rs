//! Packet round robin: every backlogged flow sends one packet in its turn.
//!
//! Choices where the paper is silent:
//! - A flow that becomes backlogged joins behind all others, and so does one that was held or
//!   absent.
//! - A packet that is dropped at the head of its queue takes no turn.
//! - Push-out takes the packet that would be sent in the latest round; among several, the latest
//!   arrival. So a flow that floods loses its own packets.

use super::turns::Turns;
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::queues::{Queued, Queues};
use crate::stats::Count;
use crate::units::Time;
use alloc::vec::Vec;

parameters! {
    /// Parameters of packet round robin: none.
    #[derive(Copy)]
    pub struct RoundRobinParams {}
}

impl PolicyParams for RoundRobinParams {
    type Policy = RoundRobin;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "round-robin",
        title: "Packet round robin",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves backlogged flows in turn, one packet each, whatever its size; flows share the link by \
               packets, and reservations make no difference.",
        source: "Nagle, RFC 970 (1985)",
        params: RoundRobinParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<RoundRobin, Refused> {
        Ok(RoundRobin::default())
    }

    fn example() -> RoundRobinParams {
        RoundRobinParams {}
    }
}

/// Packet round robin.
#[derive(Default)]
pub struct RoundRobin {
    turns: Turns,
    /// The round in which each flow sends its latest packet.
    latest: Vec<u64>,
}

impl Scheduler for RoundRobin {
    fn set_flow(&mut self, _: Time, flow: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        self.turns.grow_to(flow.0 + 1);
        if self.latest.len() <= flow.ix() {
            self.latest.resize(flow.ix() + 1, 0);
        }
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        if queues.len(flow) > 0 {
            let latest = &mut self.latest[flow.ix()];
            *latest = latest.saturating_add(1);
            return;
        }
        if queues.is_empty() {
            self.turns.restart();
        }
        self.latest[flow.ix()] = self.turns.next_round();
        if queues.takes_part(flow) {
            self.turns.join(flow);
        }
    }

    #[inline]
    fn pass(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) -> bool {
        if !queues.takes_part(packet.flow) {
            return false;
        }
        self.turns.restart();
        self.turns.pass(packet.flow);
        self.latest[packet.flow.ix()] = self.turns.next_round();
        true
    }

    #[inline]
    fn select(&self, _: Time, _: &Queues) -> Select {
        //= kung1997 3.5.3
        self.turns.first().map_or(Select::Idle, Select::Flow)
    }

    #[inline]
    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        debug_assert_eq!(self.turns.first(), Some(packet.flow));
        match queues.len(packet.flow) {
            //= zhang1991 5.1
            0 => self.turns.leave(packet.flow),
            _ => self.turns.end_turn(),
        }
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        let latest = &mut self.latest[packet.flow.ix()];
        *latest = latest.saturating_sub(1);
        if queues.len(packet.flow) == 0 {
            self.turns.leave(packet.flow);
        }
    }

    fn rank_to_lose(&self, flow: FlowIx, _: &Queued, behind: Count) -> u64 {
        self.latest[flow.ix()].saturating_add(behind.packets)
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        match queues.takes_part(flow) {
            false => self.turns.leave(flow),
            true if queues.len(flow) > 0 && !self.turns.contains(flow) => {
                self.turns.join(flow);
                let others = u64::from(queues.len(flow)) - 1;
                self.latest[flow.ix()] = self.turns.round(flow).saturating_add(others);
            }
            true => {}
        }
    }

    fn memory(&self) -> usize {
        self.turns.memory() + self.latest.capacity() * size_of::<u64>()
    }
}
