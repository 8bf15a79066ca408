//! Is this packet dropped or marked?

pub mod drop_tail;

use crate::context::{Ctx, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{Choice, PolicyRecord};
use crate::stats::tally_packet;
use drop_tail::DropTail;

/// A queue's length, or a pool's: the packets in service included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Backlog {
    #[inline]
    pub(crate) fn add(&mut self, len: u32) {
        tally_packet(&mut self.packets, &mut self.bytes, len);
    }

    #[inline]
    pub(crate) fn take(&mut self, len: u32) {
        // The first line fails when what is taken was never added.
        self.packets -= 1;
        self.bytes = self.bytes.wrapping_sub(u64::from(len));
    }
}

/// Decides whether a packet enters a port's queue, and whether it leaves it.
pub trait Dropper {
    /// A packet has passed its meter and its shaper. `port` is the port's queue and `pool` the
    /// switch's memory, both without the packet.
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, port: Backlog, pool: Backlog) -> Verdict;

    /// The packet has been selected to be sent (CoDel drops here). `port` and `pool` are
    /// without it.
    fn depart(&mut self, cx: &mut Ctx<'_>, packet: &Packet, port: Backlog, pool: Backlog) -> Verdict {
        let _ = (cx, packet, port, pool);
        Verdict::Accept
    }
}

/// Every built-in dropper's record.
pub const RECORDS: &[PolicyRecord] = &[drop_tail::RECORD];

/// How to make a dropper: what a plan holds.
#[derive(Clone, Debug)]
pub enum DropperKind {
    /// One of [`RECORDS`], with its parameters.
    BuiltIn(Choice),
    /// A dropper written outside this crate.
    Custom(fn() -> Box<dyn Dropper + Send>),
}

impl PartialEq for DropperKind {
    fn eq(&self, other: &DropperKind) -> bool {
        match (self, other) {
            (DropperKind::BuiltIn(a), DropperKind::BuiltIn(b)) => a == b,
            (DropperKind::Custom(a), DropperKind::Custom(b)) => core::ptr::fn_addr_eq(*a, *b),
            _ => false,
        }
    }
}

impl DropperKind {
    /// A new dropper of this kind.
    ///
    /// # Errors
    /// When the record is not a dropper's, or a parameter that it needs is missing.
    pub fn build(&self) -> Result<AnyDropper, Refused> {
        match self {
            DropperKind::BuiltIn(choice) if choice.record.name == drop_tail::RECORD.name => {
                DropTail::new(choice).map(AnyDropper::DropTail)
            }
            DropperKind::BuiltIn(choice) => {
                Err(Refused(format!("`{}` is not a dropper", choice.record.name)))
            }
            DropperKind::Custom(make) => Ok(AnyDropper::Custom(make())),
        }
    }
}

/// Every dropper: the built-in ones without a pointer, `Custom` for the others.
pub enum AnyDropper {
    /// [`drop_tail`].
    DropTail(DropTail),
    /// A dropper written outside this crate.
    Custom(Box<dyn Dropper + Send>),
}

impl Dropper for AnyDropper {
    #[inline]
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, port: Backlog, pool: Backlog) -> Verdict {
        match self {
            AnyDropper::DropTail(dropper) => dropper.arrive(cx, packet, port, pool),
            AnyDropper::Custom(dropper) => dropper.arrive(cx, packet, port, pool),
        }
    }

    #[inline]
    fn depart(&mut self, cx: &mut Ctx<'_>, packet: &Packet, port: Backlog, pool: Backlog) -> Verdict {
        match self {
            AnyDropper::DropTail(dropper) => dropper.depart(cx, packet, port, pool),
            AnyDropper::Custom(dropper) => dropper.depart(cx, packet, port, pool),
        }
    }
}
