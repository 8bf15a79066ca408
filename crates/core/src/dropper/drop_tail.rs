//! Drop-tail: the arriving packet is dropped when the queue would exceed its limit.

use super::{Backlog, Dropper};
use crate::context::{Ctx, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{Choice, Kind, Limit, Param, PolicyRecord, Role, Value};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "drop-tail",
    title: "Drop-tail",
    role: Role::Dropper,
    help: "Drops the arriving packet when the port's queue would exceed its limit.",
    source: "RFC 7567, section 2",
    params: &[Param {
        name: "limit",
        kind: Kind::Limit,
        default: None,
        required: true,
        help: "Longest queue of the port, the packet in service included",
    }],
    reads: &[],
};

/// Drop-tail with this limit on the port's queue, the packet in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropTail(pub Limit);

impl DropTail {
    /// Drop-tail with the parameters of its record.
    ///
    /// # Errors
    /// When `limit` is missing.
    pub fn new(choice: &Choice) -> Result<DropTail, Refused> {
        match choice.value("limit") {
            Some(Value::Limit(limit)) => Ok(DropTail(*limit)),
            _ => Err(Refused("drop-tail needs a limit".into())),
        }
    }
}

impl Dropper for DropTail {
    #[inline]
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, port: Backlog, _: Backlog) -> Verdict {
        if self.0.admits(port.packets + 1, port.bytes + u64::from(packet.len)) {
            Verdict::Accept
        } else {
            Verdict::Drop
        }
    }
}
