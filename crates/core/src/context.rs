//! The inputs of a policy, and its effects.

use crate::packet::{BodyId, FlowIx, Mark, Packet, PortIx};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// The arguments of the driver to every call: the time, a random stream, and a list for the effects.
pub struct Ctx<'a> {
    /// The current time; never earlier than in the call before, at any node.
    pub now: Time,
    /// The switch's own random stream.
    pub rng: &'a mut Rng,
    /// The effects that the driver has to act on after the call.
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
    /// A packet was marked (ECN, EFCI) instead of being dropped, and passed on.
    Marked {
        /// Where.
        port: PortIx,
        /// The packet, with its flow's index at that port.
        packet: Packet,
        /// Why.
        reason: Reason,
    },
    /// A packet conforms, and its flow's shaper lets it go: it reaches the meters, the droppers and the queue. Only
    /// after [`Switch::report_conforming`](crate::switch::Switch::report_conforming).
    Conforms {
        /// Where.
        port: PortIx,
        /// The packet, with its flow's index at that port.
        packet: Packet,
    },
    /// The source of a flow, or an operator, is to be notified.
    Notice {
        /// Where.
        port: PortIx,
        /// Whose.
        flow: FlowIx,
        /// The packet at which it was noticed; of another flow it may be for [`Notice::BackedOff`].
        body: BodyId,
        /// What.
        notice: Notice,
    },
    /// Call [`Switch::timer`](crate::switch::Switch::timer) for this port at this time. A later
    /// request for an earlier time replaces it; early and repeated calls do no harm.
    Wake {
        /// Which.
        port: PortIx,
        /// When; never in the past.
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

/// A notice to a source or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The flow's VirtualClock is so far ahead of real time: it sends more than it reserved.
    Ahead(Span),
    /// The flow continues to lose packets: its source does not respond to congestion.
    NonResponsive,
    /// The flow that was said to be non-responsive has backed off.
    BackedOff,
}

/// Why a packet was dropped, or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue would have been longer than its dropper allows.
    QueueLimit,
    /// The dropper chose it at random before its queue was full (RFC 7567, section 2.1).
    EarlyDrop,
    /// The average queue was at or above the threshold where every packet is chosen.
    ForcedDrop,
    /// It had been queued too long when its turn came (RFC 8289).
    SojournTime,
    /// It was out of its profile at a meter.
    Meter,
    /// The shared pool was exhausted, and this packet was the one to go.
    PushedOut,
    /// Its flow's shaper queue was full.
    Shaper,
    /// Its flow is not open at this port.
    NoFlow,
    /// Its flow is non-responsive, and it was outside the flow's profile.
    NonResponsive,
}

impl Reason {
    /// Every reason, in the order of the counters.
    pub const ALL: [Reason; 9] = [
        Reason::QueueLimit,
        Reason::EarlyDrop,
        Reason::ForcedDrop,
        Reason::SojournTime,
        Reason::Meter,
        Reason::PushedOut,
        Reason::Shaper,
        Reason::NoFlow,
        Reason::NonResponsive,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::QueueLimit => "queue-limit",
            Reason::EarlyDrop => "early-drop",
            Reason::ForcedDrop => "forced-drop",
            Reason::SojournTime => "sojourn-time",
            Reason::Meter => "meter",
            Reason::PushedOut => "pushed-out",
            Reason::Shaper => "shaper",
            Reason::NoFlow => "no-flow",
            Reason::NonResponsive => "non-responsive",
        }
    }
}

/// The decision of a dropper or a meter about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it pass as it is.
    Accept,
    /// There is congestion: mark the packet when it is ECN-capable, and drop it otherwise
    /// (RFC 3168, section 5).
    Congested(Reason),
    /// Drop it.
    Drop(Reason),
}

impl Verdict {
    /// Carries the verdict out for a packet with this mark: whether it is to be marked, and why.
    ///
    /// # Errors
    /// Why the packet is to be dropped.
    pub(crate) fn on(self, mark: Mark) -> Result<Option<Reason>, Reason> {
        match self {
            Verdict::Accept => Ok(None),
            Verdict::Congested(reason) if mark.is_ecn_capable() => Ok(Some(reason)),
            Verdict::Congested(reason) | Verdict::Drop(reason) => Err(reason),
        }
    }
}
