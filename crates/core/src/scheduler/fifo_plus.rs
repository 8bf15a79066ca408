//! FIFO+ (Clark, Shenker and Zhang 1992, section 6; Pincheira 1994, section 2.3.3): first in, first
//! out by the time at which a packet would have arrived, had it waited at every earlier hop as long
//! as packets do there on average.
//!
//! ```text
//! stamp ← arrival − carry                      on arrival
//! carry ← carry + waited − mean                when service begins
//! ```
//!
//! `waited` is the time from a packet's last bit in to its first bit out, and `mean` is the mean of
//! these times over all packets served at this port so far, this one included: whole ticks, rounded
//! down. `carry` goes with the packet to the next hop, and saturates.
//!
//! Choices where the papers are silent:
//! - The mean is over all packets of all flows since the port was set up, as "average observed
//!   delay" says. It never forgets: the longer the port has been in use, the more slowly the mean
//!   follows a change of the load.
//! - Stamps of a flow never decrease: a packet that would be stamped before an earlier packet of
//!   its flow gets the stamp of that packet. Where the mean does not change, and packets are of one
//!   size, this never happens.
//! - Equal stamps are served in the order of arrival.
//! - A packet that was dropped or pushed out does not count in the mean.
//! - A **held** flow keeps its stamps; one that was **absent** is stamped as if its first packet
//!   had arrived when it rejoins.
//! - In a class, the carry is the deviation from the mean of the class.

use super::floors::Floors;
use super::mean_wait::MeanWait;
use super::{StampRule, Stamped};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::queues::Queues;
use crate::units::Time;

parameters! {
    /// Parameters of FIFO+: none.
    #[derive(Copy)]
    pub struct FifoPlusParams {}
}

impl PolicyParams for FifoPlusParams {
    type Policy = Stamped<FifoPlus>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "fifo-plus",
        title: "FIFO+",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves packets in the order in which they would have arrived if each had waited for the mean \
               time at every earlier hop.",
        source: "Clark, Shenker and Zhang 1992, section 6",
        params: FifoPlusParams::PARAMS,
        reads: &[],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Deviation,
    };

    fn make(&self) -> Result<Stamped<FifoPlus>, Refused> {
        Ok(Stamped::default())
    }

    fn example() -> FifoPlusParams {
        FifoPlusParams {}
    }
}

/// The rule of FIFO+.
#[derive(Default)]
pub struct FifoPlus {
    floors: Floors,
    mean_wait: MeanWait,
}

/// Expected arrival of a packet with this carry that arrived at `at`.
fn expected(at: Time, carry: i64) -> u64 {
    match u64::try_from(carry) {
        Ok(late) => at.ticks().saturating_sub(late),
        Err(_) => at.ticks().saturating_add(carry.unsigned_abs()),
    }
}

impl StampRule for FifoPlus {
    fn set_flow(&mut self, _: Time, _: FlowIx, _: &Contract, _: &Queues) -> Result<(), Refused> {
        Ok(())
    }

    fn forgettable_at(&self, _: FlowIx) -> Time {
        Time::from_ticks(0)
    }

    #[inline]
    fn stamp(&mut self, packet: &mut Packet, queues: &Queues) {
        //= pincheira1994 2.3.3
        packet.tag = self.floors.tag(packet.flow, expected(packet.arrived, packet.carry), queues);
    }

    #[inline]
    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        self.floors.key(flow, tag)
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, _: &Queues) {
        self.floors.rejoin(flow, expected(now, head.carry));
    }

    #[inline]
    fn dequeued(&mut self, now: Time, packet: &mut Packet, _: &Queues) {
        //= pincheira1994 2.3.3
        self.mean_wait.carry_deviation(now, packet);
    }

    fn memory(&self) -> usize {
        self.floors.memory()
    }
}
