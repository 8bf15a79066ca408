//! Is this packet dropped or marked?

pub mod drop_tail;

use crate::context::{Ctx, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{PolicyKind, PolicyParams, registry};
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

// The registry: one line a dropper.
registry! {
    /// A built-in dropper with its parameters.
    pub enum BuiltInDropper {
        DropTail(drop_tail::DropTailParams),
    }
}

/// How to make a dropper: what a plan holds.
pub type DropperKind = PolicyKind<BuiltInDropper, dyn Dropper + Send>;

impl DropperKind {
    /// A new dropper of this kind.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<AnyDropper, Refused> {
        let built_in = |dropper: &BuiltInDropper| match dropper {
            BuiltInDropper::DropTail(params) => params.make().map(AnyDropper::DropTail),
        };
        self.make_with(built_in, AnyDropper::Custom)
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
