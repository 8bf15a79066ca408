//! The forwarding fabric: switches, the links behind their ports, and the hops of every flow's route.

use crate::control::Control;
use crate::flights::Flights;
use std::collections::BTreeMap;
use tidegate_core::context::Effect;
use tidegate_core::link::Line;
use tidegate_core::packet::{FlowIx, Leg, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Rate, Span, Time};

/// The index of a flow that is not open at a port.
pub(crate) const NOWHERE: FlowIx = FlowIx(u32::MAX);

/// Switches, links and routes.
pub(crate) struct Fabric {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) hops: Vec<Hop>,
    /// The hops onto which a multicast packet forks, by the first of them.
    pub(crate) forks: BTreeMap<u32, Box<[u32]>>,
    /// Where flows were closed at ports while packets of them waited, by hop: the leg and the flow.
    pub(crate) closing: BTreeMap<u32, (Leg, u32)>,
    /// How many destinations are behind each hop of a multicast flow.
    pub(crate) destinations: BTreeMap<u32, u32>,
    /// Packets in flight on links with only a propagation delay, by delay.
    pub(crate) flights: Vec<Flights>,
    /// Sets of relays, indexed by hops; the first set is empty.
    pub(crate) relay_sets: Vec<Box<[u32]>>,
    /// Reports of switches that the world has still to handle.
    pub(crate) out: Vec<Effect>,
}

/// A switch with what stands around it.
pub(crate) struct Node {
    pub(crate) switch: Switch,
    pub(crate) rng: Rng,
    /// The link behind each port.
    pub(crate) links: Vec<u32>,
    /// The relays at it.
    pub(crate) relays: Vec<u32>,
}

/// One direction of a link, with the port in front of it. What every packet-hop touches is on its first cache line.
#[repr(C, align(64))]
pub(crate) struct Link {
    pub(crate) node: u32,
    pub(crate) port: PortIx,
    /// Whether something is done between the end of a packet and the start of the next: a relay or a
    /// source hears of it, a copy of a multicast packet is made, a trace is asked.
    pub(crate) stepwise: bool,
    /// Whether a packet that starts is noted, or starts when a trace lets it.
    pub(crate) starts_are_seen: bool,
    /// Whether an idle port starts no packet before all of an instant have arrived.
    pub(crate) waits_for_ties: bool,
    /// Whether it is to start one then.
    pub(crate) start_is_due: bool,
    /// The index of the flights on links of its propagation delay; `None` where the line keeps what is in flight itself.
    pub(crate) flights: Option<u32>,
    pub(crate) line: Line<Packet>,
    /// How long the packet in service had to wait.
    pub(crate) waiting: Span,
    /// Credit cells and credit_check cells on it; `None` where there are none.
    pub(crate) control: Option<Box<Control>>,
    /// Ticks from last bit in to first bit out, since the warm-up.
    pub(crate) waited: u128,
    pub(crate) rate: Rate,
    /// Random stream for losses and reordering on the line.
    pub(crate) rng: Rng,
    /// The node at its end.
    pub(crate) to: u32,
    /// The link in the other direction.
    pub(crate) reverse: Option<u32>,
    /// When the port asked to be woken; [`Time::NEVER`] once it was.
    pub(crate) wake_at: Time,
    /// What had been done when the warm-up ended.
    pub(crate) before: Before,
}

/// What a link had done at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    pub(crate) sent: Count,
    /// Packets that had started.
    pub(crate) started: u64,
    pub(crate) lost: u64,
    /// Bytes of its trace's opportunities that packets had used.
    pub(crate) used: u64,
}

/// One link of a flow's route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) link: u32,
    /// The node in front of the link.
    pub(crate) node: u32,
    pub(crate) leg: Leg,
    /// The relays that packets pass here: an index into the sets.
    pub(crate) relays: u16,
    /// Whether its packets are counted for the credit of a link: of its own, or of the one over which they come.
    pub(crate) credit: bool,
    /// Whether something sees packets before they enter the port: a relay, credit, or what follows them.
    pub(crate) attended: bool,
    /// Whether something other than relays does: a watch, a log, the exact W of flows, a fork of a multicast route.
    pub(crate) followed: bool,
    pub(crate) after: After,
}

/// What becomes of a packet that has left a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It enters the next hop's port at once.
    Next,
    /// It is received at once, and only counters see it.
    Sink,
    /// It continues after a flight, or forks, or its reception is reported.
    Travel {
        /// Whether the link is the last one on the way to a destination.
        last: bool,
    },
}

impl Link {
    /// Whether a packet that finds the port idle may start at once: nothing sees that, and no cell of the link's own is
    /// being sent or due.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        !self.starts_are_seen
            && !self.waits_for_ties
            && self.control.as_ref().is_none_or(|control| control.is_idle())
    }

    /// A packet starts; returns when it departs.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time, packet: &Packet) -> Time {
        self.waiting = now.since(packet.arrived);
        self.waited = self.waited.wrapping_add(u128::from(self.waiting.ticks()));
        self.line.begin(now, packet.len)
    }

    /// A packet of `len` bytes that has not waited starts; returns when it departs.
    #[inline(always)]
    pub(crate) fn begin_at_once(&mut self, now: Time, len: u32) -> Time {
        self.waiting = Span::ZERO;
        self.line.begin(now, len)
    }

    /// What it has sent, and how many packets have started.
    pub(crate) fn done(&self, switch: &Switch) -> (Count, u64) {
        let sent = switch.sent(self.port);
        (sent, sent.packets + u64::from(!switch.is_idle(self.port)))
    }
}

impl Fabric {
    /// The port in front of a link.
    pub(crate) fn port_of(&self, link: u32) -> (&Switch, PortIx) {
        let link = &self.links[link as usize];
        (&self.nodes[link.node as usize].switch, link.port)
    }

    /// Whether packets of a flow wait at a hop.
    pub(crate) fn waits_at(&self, hop: u32) -> bool {
        let hop = &self.hops[hop as usize];
        let counters = self.nodes[hop.node as usize].switch.counters(hop.leg);
        counters.arrived.packets > counters.sent.packets + counters.dropped.packets
    }

    /// What waits of a flow in its shaper at a hop.
    pub(crate) fn shaped_at(&self, hop: u32) -> Count {
        let hop = &self.hops[hop as usize];
        self.nodes[hop.node as usize].switch.shaped(hop.leg)
    }

    /// The hops onto which a packet forks that enters at `hop`; nothing for a hop without siblings.
    pub(crate) fn fork(&self, hop: u32) -> &[u32] {
        self.forks.get(&hop).map_or(&[], |hops| hops)
    }

    /// How many destinations are behind a hop: 1 for a flow with one destination.
    pub(crate) fn destinations_behind(&self, hop: u32) -> u32 {
        self.destinations.get(&hop).copied().unwrap_or(1)
    }

    /// How many destinations wait for a packet that has come over the hop `from`, or from its source to the hop `to`.
    pub(crate) fn destinations_of(&self, from: Option<u32>, to: Option<u32>) -> u32 {
        match (from, to) {
            (Some(from), _) => self.destinations_behind(from),
            (None, Some(to)) => match self.fork(to) {
                [] => self.destinations_behind(to),
                onto => onto.iter().map(|hop| self.destinations_behind(*hop)).sum(),
            },
            (None, None) => 1,
        }
    }

    /// The hop over which a packet that is at the fork of `hop` leaves by `link`.
    pub(crate) fn hop_over(&self, hop: u32, link: u32) -> u32 {
        let over = self.fork(hop).iter().find(|other| self.hops[**other as usize].link == link);
        over.copied().unwrap_or(hop)
    }
}
