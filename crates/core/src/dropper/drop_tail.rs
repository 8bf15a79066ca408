//! Drop-tail: the arriving packet is dropped when the queue would exceed its limit.

use super::{Dropper, Occupancy};
use crate::context::{Ctx, Reason, Verdict};
use crate::contract::Refused;
use crate::packet::{Colour, Packet};
use crate::params::{Choice, Kind, Limit, Param, PolicyRecord, Role, Value};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "drop-tail",
    title: "Drop-tail",
    role: Role::Dropper,
    help: "Drops the arriving packet when the port's queue would exceed its limit; packets that were marked as out \
           of profile may have a lower limit.",
    source: "RFC 7567, section 2",
    params: &[
        Param {
            name: "limit",
            kind: Kind::Limit,
            default: None,
            required: true,
            help: "Longest queue of the port, the packet in service included",
        },
        Param {
            name: "marked",
            kind: Kind::Limit,
            default: None,
            required: false,
            help: "Longest queue that a packet marked as out of profile may join; without it, `limit`",
        },
    ],
    reads: &[],
};

/// Drop-tail: limits on the guarded queue, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropTail {
    limit: Limit,
    /// What holds for packets that are red.
    marked: Limit,
}

impl DropTail {
    /// Drop-tail with the parameters of its record.
    ///
    /// # Errors
    /// When `limit` is missing.
    pub fn new(choice: &Choice) -> Result<DropTail, Refused> {
        let limit = |name| match choice.value(name) {
            Some(Value::Limit(limit)) => Some(*limit),
            _ => None,
        };
        let all = limit("limit").ok_or_else(|| Refused("drop-tail needs a limit".into()))?;
        Ok(DropTail { limit: all, marked: limit("marked").unwrap_or(all) })
    }
}

impl Dropper for DropTail {
    #[inline]
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let limit = if packet.mark.colour() == Colour::Red { self.marked } else { self.limit };
        if limit.admits(at.queue.packets + 1, at.queue.bytes + u64::from(packet.len)) {
            Verdict::Accept
        } else {
            Verdict::Drop(Reason::QueueLimit)
        }
    }
}
