//! Drop-tail: the arriving packet is dropped when the queue would exceed its limit.

use super::{Dropper, Occupancy};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::Refused;
use crate::packet::{Colour, Packet};
use crate::params::{Carry, Fault, Limit, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};

parameters! {
    /// Parameters of drop-tail.
    #[derive(Copy, Eq)]
    pub struct DropTailParams {
        /// Longest queue of the port, the packet in service included
        limit: Limit,
        /// Longest queue that a packet marked as out of profile may join; without it, `limit`
        marked: Option<Limit>,
    }
}

impl PolicyParams for DropTailParams {
    type Policy = DropTail;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "drop-tail",
        title: "Drop-tail",
        role: Role::Dropper,
        help: "Drops the arriving packet when the port's queue would exceed its limit; packets marked as \
               out of profile may have a lower limit.",
        source: "RFC 7567, section 2",
        params: DropTailParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<DropTail, Refused> {
        Ok(DropTail { limit: self.limit, marked: self.marked.unwrap_or(self.limit) })
    }

    fn example() -> DropTailParams {
        DropTailParams { limit: Limit::Packets(30), marked: Some(Limit::Packets(20)) }
    }

    fn check(&self) -> Result<(), Fault> {
        let above = match (self.limit, self.marked) {
            (Limit::Packets(limit), Some(Limit::Packets(marked)))
            | (Limit::Bytes(limit), Some(Limit::Bytes(marked))) => marked > limit,
            // Packets and bytes do not compare.
            _ => false,
        };
        if above {
            return Err(Fault::at("marked", "`marked` is above `limit`"));
        }
        Ok(())
    }
}

/// Drop-tail: limits on the guarded queue, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropTail {
    limit: Limit,
    /// Limit for red packets.
    marked: Limit,
}

impl Dropper for DropTail {
    fn looks_at_head(&self) -> bool {
        false
    }

    #[inline]
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let limit = if packet.mark.colour() == Colour::Red { self.marked } else { self.limit };
        if at.has_room(limit, packet.len) { Verdict::Accept } else { Verdict::Drop(Reason::QueueLimit) }
    }
}
