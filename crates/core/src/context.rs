//! What a policy is given, and what it hands back.

use crate::packet::{BodyId, FlowIx, Packet, PortIx};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// What the driver hands to every call: the time, a random stream, and a list for what follows.
pub struct Ctx<'a> {
    /// The current time; never earlier than in the call before.
    pub now: Time,
    /// The switch's own random stream.
    pub rng: &'a mut Rng,
    /// What the driver has to act on after the call.
    pub out: &'a mut Vec<Effect>,
}

/// Something that the driver has to act on. The list is the driver's, and reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A packet is gone. `body` says whether its bytes are still held for another port.
    Dropped {
        /// Where.
        port: PortIx,
        /// The packet, with its flow's index at that port.
        packet: Packet,
        /// Why.
        reason: Reason,
        /// Whether the driver may forget the bytes.
        body: Body,
    },
    /// A packet was marked (ECN, EFCI) instead of dropped.
    Marked {
        /// Where.
        port: PortIx,
        /// Whose.
        flow: FlowIx,
    },
    /// A flow runs too far ahead of what it reserved: its source is to be told.
    Warned {
        /// Where.
        port: PortIx,
        /// Whose.
        flow: FlowIx,
        /// The packet at which it was noticed.
        body: BodyId,
        /// By how much the flow's VirtualClock was ahead of real time.
        lead: Span,
    },
    /// Call [`Switch::timer`](crate::switch::Switch::timer) for this port at this time. A later
    /// request for an earlier time replaces it; early and repeated calls do no harm.
    Wake {
        /// Which.
        port: PortIx,
        /// When.
        at: Time,
    },
}

/// Whether the switch still holds a body after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Another port still holds it (multicast).
    Kept,
    /// No port holds it: it is the driver's again.
    Released,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The port's dropper refused it.
    Dropper,
    /// A meter refused it.
    Meter,
    /// The shared pool was exhausted, and this packet was the one to go.
    PushedOut,
    /// Its flow's shaper queue was full.
    Shaper,
    /// Its flow is not open at this port.
    NoFlow,
}

impl Reason {
    /// Every reason, in the order of the counters.
    pub const ALL: [Reason; 5] =
        [Reason::Dropper, Reason::Meter, Reason::PushedOut, Reason::Shaper, Reason::NoFlow];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Dropper => "dropper",
            Reason::Meter => "meter",
            Reason::PushedOut => "pushed-out",
            Reason::Shaper => "shaper",
            Reason::NoFlow => "no-flow",
        }
    }
}

/// What a dropper or a meter says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it in as it is.
    Accept,
    /// Let it in with congestion marked.
    Mark,
    /// Drop it.
    Drop,
}
