//! The inputs of a policy, and its effects.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::context::{Ctx, Effect};
//! use tidegate_core::params::Limit;
//! use tidegate_core::switch::{Switch, plan::*};
//! use tidegate_core::{contract::Refused, packet::*, rng::Rng, scheduler::SchedulerKind, units::Time};
//!
//! let ports = vec![PortPlan::new(SchedulerKind::named("fifo").unwrap())];
//! let plan = SwitchPlan { ports, buffer: Some(Limit::Packets(1)), ..Default::default() };
//! let mut switch = Switch::new(Time::ORIGIN, &plan)?;
//! let leg = switch.open(Time::ORIGIN, PortIx(0), &FlowPlan::default())?;
//! let mut effects = Vec::new();
//! let mut cx = Ctx { now: Time::ORIGIN, rng: &mut Rng::named(1, "switch"), out: &mut effects };
//! for body in [1, 2] {
//!     let _ = switch.arrive(&mut cx, &[leg], Packet::new(BodyId(body), 1500));
//! }
//! // Its memory has room for one of them.
//! assert!(matches!(effects[..], [Effect::Dropped { .. }]));
//! # Ok::<(), Refused>(())
//! ```

use crate::packet::{BodyId, FlowIx, Mark, Packet, PortIx};
use crate::rng::Rng;
use crate::units::{Span, Time};
use alloc::vec::Vec;

/// The driver's arguments to every call: the time, a random stream, and a list for the effects.
pub struct Ctx<'a> {
    /// The current time; never earlier than in the previous call, at any node.
    pub now: Time,
    /// The switch's own random stream.
    pub rng: &'a mut Rng,
    /// The effects that the driver has to act on after the call.
    pub out: &'a mut Vec<Effect>,
}

/// An effect that the driver has to act on. The driver owns the list and reuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A packet has left the switch without being sent. `body` tells whether its bytes are still
    /// held for another port.
    Dropped {
        /// The output port.
        port: PortIx,
        /// The packet, with its flow's index at that port.
        packet: Packet,
        /// The reason for the drop.
        reason: Reason,
        /// The state of the bytes: the driver may forget them once they are released.
        body: Body,
    },
    /// A packet was marked (ECN, EFCI) instead of being dropped, and passed on.
    Marked {
        /// The output port.
        port: PortIx,
        /// The packet, with its flow's index at that port.
        packet: Packet,
        /// The reason for the mark.
        reason: Reason,
    },
    /// A packet conforms, and its flow's shaper releases it to the meters, the droppers and the
    /// queue. Reported only after
    /// [`Switch::report_released`](crate::switch::Switch::report_released).
    Released {
        /// The output port.
        port: PortIx,
        /// The packet, with its flow's index at that port.
        packet: Packet,
    },
    /// The source of a flow, or an operator, is to be notified.
    Finding {
        /// The output port.
        port: PortIx,
        /// The flow that the finding is about.
        flow: FlowIx,
        /// The packet that caused the finding; for [`Finding::BackedOff`] it may belong to another
        /// flow.
        body: BodyId,
        /// The finding.
        finding: Finding,
    },
    /// Call [`Switch::timer`](crate::switch::Switch::timer) for this port at this time. A later
    /// request for an earlier time replaces it; early and repeated calls do no harm.
    Wake {
        /// The output port.
        port: PortIx,
        /// The time of the call; never in the past.
        at: Time,
    },
}

/// State of a body after a call: held by the switch, or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Another port still holds it (multicast).
    Kept,
    /// No port holds it any more: the driver owns it again.
    Released,
}

/// A finding of a policy about a flow, for its source or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The flow's VirtualClock is ahead of real time by this span: the flow sends more than it
    /// reserved.
    Ahead(Span),
    /// The flow continues to lose packets: its source does not respond to congestion.
    NonResponsive,
    /// The flow previously reported as non-responsive has backed off.
    BackedOff,
}

/// The reason for which a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue would have been longer than its dropper allows.
    QueueLimit,
    /// The dropper chose the packet at random before its queue was full (RFC 7567, section 2.1).
    EarlyDrop,
    /// The average queue was at or above the threshold at which every packet is chosen.
    ForcedDrop,
    /// The packet had been queued too long when its turn came (RFC 8289).
    SojournTime,
    /// The packet was out of profile at a meter.
    Meter,
    /// The shared pool was exhausted, and this packet was pushed out.
    PushedOut,
    /// The shaper queue of its flow was full.
    Shaper,
    /// Its flow is not open at this port.
    NoFlow,
    /// Its flow is non-responsive, and the packet was outside the flow's profile.
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

    /// The name of the reason in tables.
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
    /// Let the packet pass unchanged.
    Accept,
    /// There is congestion: mark the packet when it is ECN-capable, and drop it otherwise
    /// (RFC 3168, section 5).
    Congested(Reason),
    /// Drop it.
    Drop(Reason),
}

impl Verdict {
    /// Applies the verdict to a packet with this mark; returns the reason for marking it, if it is
    /// to be marked.
    ///
    /// # Errors
    /// The reason for the drop, if the packet is to be dropped.
    pub(crate) fn on(self, mark: Mark) -> Result<Option<Reason>, Reason> {
        match self {
            Verdict::Accept => Ok(None),
            Verdict::Congested(reason) if mark.is_ecn_capable() => Ok(Some(reason)),
            Verdict::Congested(reason) | Verdict::Drop(reason) => Err(reason),
        }
    }
}
