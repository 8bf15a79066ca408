//! The forwarding fabric: switches, the links behind their ports, and the hops of every flow's
//! route.

use crate::flights::Flights;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::context::Effect;
use tidegate_core::link::Line;
use tidegate_core::packet::{FlowIx, Leg, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Rate, Span, Time};
use tidegate_formats::Paths;

/// The index of a flow that is not open at a port.
pub(crate) const NOWHERE: FlowIx = FlowIx(u32::MAX);

/// Switches, links and routes.
pub(crate) struct Fabric {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) hops: Vec<Hop>,
    /// Hops onto which a multicast packet forks, keyed by the first of them.
    pub(crate) forks: BTreeMap<u32, Box<[u32]>>,
    /// Flows whose packets take one of several paths.
    pub(crate) spreads: BTreeMap<u32, Spread>,
    /// The node of the gate, whose ports have flows of their own.
    pub(crate) gate: Option<u32>,
    /// Flows closed at ports while packets of them waited, by hop: the leg and the flow.
    pub(crate) closing: BTreeMap<u32, (Leg, u32)>,
    /// Number of destinations behind each hop of a multicast flow.
    pub(crate) destinations: BTreeMap<u32, u32>,
    /// Packets in flight on links with only a propagation delay, by delay.
    pub(crate) flights: Vec<Flights>,
    /// Sets of stages, indexed by hops; the first set is empty.
    pub(crate) stage_sets: Vec<StageSet>,
    /// Indexes of the stages that observe packets and links everywhere.
    pub(crate) observers: Box<[u32]>,
    /// Reports of switches that the world has not handled yet.
    pub(crate) out: Vec<Effect>,
}

/// The paths of a flow, and the random stream of the choices among them.
pub(crate) struct Spread {
    pub(crate) paths: Arc<Paths>,
    pub(crate) rng: Rng,
}

/// A switch, with the links behind its ports.
#[repr(C, align(64))]
pub(crate) struct Node {
    pub(crate) switch: Switch,
    pub(crate) rng: Rng,
    /// The link behind each port.
    pub(crate) links: Box<[u32]>,
}

/// One direction of a link, with the port in front of it. Fields used by every packet-hop are on
/// its first cache line, up to the lane of the line.
#[repr(C, align(64))]
pub(crate) struct Link {
    pub(crate) node: u32,
    pub(crate) port: PortIx,
    pub(crate) path: Path,
    /// True if an idle port starts no packet before all packets of an instant have arrived.
    pub(crate) waits_for_ties: bool,
    /// Index of the shared flights for its propagation delay; `None` where the line itself keeps
    /// packets in flight.
    pub(crate) flights: Option<u32>,
    /// Ticks from last bit in to first bit out, since the warm-up.
    pub(crate) waited: u128,
    /// Waiting time of the packet in service.
    pub(crate) waiting: Span,
    pub(crate) line: Line<Packet>,
    /// True while an idle port is due to start a packet once all packets of an instant have arrived.
    pub(crate) start_is_due: bool,
    pub(crate) rate: Rate,
    /// Random stream for losses and reordering on the line.
    pub(crate) rng: Rng,
    /// The stage that makes the cells of its lane; meaningless without a lane.
    pub(crate) cell_stage: u32,
    /// The node at its end.
    pub(crate) to: u32,
    /// The link in the other direction.
    pub(crate) reverse: Option<u32>,
    /// The wake-up time requested by the port; [`Time::NEVER`] once it was woken.
    pub(crate) wake_at: Time,
    /// Counts at the end of the warm-up.
    pub(crate) before: Before,
}

/// Counts of a link at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    pub(crate) sent: Count,
    /// Packets that had started.
    pub(crate) started: u64,
    pub(crate) lost: u64,
    /// Bytes of its trace's opportunities that packets had used.
    pub(crate) used: u64,
}

/// Indexes of the stages of a hop, by the calls that they want, in the order of the calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StageSet {
    pub(crate) enter: Box<[u32]>,
    pub(crate) start: Box<[u32]>,
    pub(crate) released: Box<[u32]>,
    pub(crate) leave: Box<[u32]>,
    pub(crate) dropped: Box<[u32]>,
    /// Those that packets enter at the destination behind the hop, if one is.
    pub(crate) receive: Box<[u32]>,
}

impl StageSet {
    pub(crate) fn entered(&self) -> &[u32] {
        &self.enter
    }

    pub(crate) fn receiving(&self) -> &[u32] {
        &self.receive
    }

    pub(crate) fn left(&self) -> &[u32] {
        &self.leave
    }

    pub(crate) fn released(&self) -> &[u32] {
        &self.released
    }
}

/// One link of a flow's route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) link: u32,
    /// The node in front of the link.
    pub(crate) node: u32,
    pub(crate) leg: Leg,
    /// The stages that packets pass here: an index into the sets.
    pub(crate) stages: u16,
    pub(crate) after: After,
}

/// The way in which packets of a link start and depart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    /// The next packet starts as soon as the last bit of one is out.
    Fast,
    /// Work is done in between: stages see a packet leave, a multicast packet is copied, the link
    /// sends cells of its own.
    Stepwise,
    /// In addition, stages see a packet start, or a trace decides when it does: none starts as it
    /// arrives.
    SeenStarts,
}

/// Fate of a packet that has left a link. It travels as the packet's note, so that the hop is not
/// looked up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum After {
    /// It enters the next hop's port at once.
    Next,
    /// It is received at once, and only counters see it.
    Sink,
    /// Unless it is lost, it enters the next hop, or forks, after a flight.
    Flight,
    /// Unless it is lost, it is received after a flight, and only counters see it.
    FlightToSink,
    /// Unless it is lost, it is received after a flight or at once, and its reception is reported.
    FlightToHost,
}

impl After {
    /// Returns true if this is the fate that a packet's note tells.
    #[inline(always)]
    pub(crate) fn is_of(self, packet: &Packet) -> bool {
        packet.note == self as u8
    }
}

impl Link {
    /// Returns true if a packet that finds the port idle may start at once: nothing records its
    /// start, and no cell of the link's lane is being sent or waits.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        let is_free_of_cells = match self.path {
            // It has no lane.
            Path::Fast => true,
            Path::Stepwise => self.line.has_idle_lane(),
            Path::SeenStarts => false,
        };
        is_free_of_cells && !self.waits_for_ties
    }

    /// Starts a packet; returns when it departs.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time, packet: &Packet) -> Time {
        self.waiting = now.since(packet.arrived);
        self.waited = self.waited.wrapping_add(u128::from(self.waiting.ticks()));
        self.line.begin(now, packet.len)
    }

    /// Starts a packet of `len` bytes that has not waited; returns when it departs.
    #[inline(always)]
    pub(crate) fn begin_at_once(&mut self, now: Time, len: u32) -> Time {
        self.waiting = Span::ZERO;
        self.line.begin(now, len)
    }

    /// Returns the packets and bytes sent, and the number of packets started.
    pub(crate) fn done(&self, switch: &Switch) -> (Count, u64) {
        let sent = switch.sent(self.port);
        (sent, sent.packets + u64::from(!switch.is_idle(self.port)))
    }
}

impl Fabric {
    /// Returns the port in front of a link.
    pub(crate) fn port_of(&self, link: u32) -> (&Switch, PortIx) {
        let link = &self.links[link as usize];
        (&self.nodes[link.node as usize].switch, link.port)
    }

    /// Returns true if packets of a flow wait at a hop.
    pub(crate) fn waits_at(&self, hop: u32) -> bool {
        let hop = &self.hops[hop as usize];
        let counters = self.nodes[hop.node as usize].switch.counters(hop.leg);
        counters.arrived.packets > counters.sent.packets + counters.dropped.packets
    }

    /// Returns the packets of a flow that wait in its shaper at a hop.
    pub(crate) fn shaped_at(&self, hop: u32) -> Count {
        let hop = &self.hops[hop as usize];
        self.nodes[hop.node as usize].switch.shaped(hop.leg)
    }

    /// Returns the first hop of a path of the flow with this index, chosen at random; the hops of
    /// all its paths begin with `first_hop`.
    #[inline(never)]
    pub(crate) fn first_hop_at_random(&mut self, ix: u32, first_hop: u32) -> u32 {
        let Some(Spread { paths, rng }) = self.spreads.get_mut(&ix) else { return first_hop };
        let mut left = rng.unit();
        let chosen = paths.shares.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        // Rounding may have left a little.
        let chosen = chosen.unwrap_or(paths.shares.len() - 1);
        first_hop + (chosen * paths.length) as u32
    }

    /// Returns the hops onto which a packet that enters at `hop` forks; nothing for a hop without
    /// siblings.
    pub(crate) fn fork(&self, hop: u32) -> &[u32] {
        self.forks.get(&hop).map_or(&[], |hops| hops)
    }

    /// Returns the hops whose ports a packet enters at a hop: those of its fork, or itself.
    pub(crate) fn copies_at(&self, hop: u32) -> Vec<u32> {
        match self.fork(hop) {
            [] => vec![hop],
            hops => hops.to_vec(),
        }
    }

    /// Returns the number of destinations behind a hop: 1 for a flow with one destination.
    pub(crate) fn destinations_behind(&self, hop: u32) -> u32 {
        self.destinations.get(&hop).copied().unwrap_or(1)
    }

    /// Returns the number of destinations that wait for a packet that has come over the hop `from`,
    /// or from its source to the hop `to`.
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

    /// Returns the hop over which a packet that is at the fork of `hop` leaves by `link`.
    pub(crate) fn hop_over(&self, hop: u32, link: u32) -> u32 {
        let over = self.fork(hop).iter().find(|other| self.hops[**other as usize].link == link);
        over.copied().unwrap_or(hop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn a_packet_touches_one_cache_line_of_a_node_and_one_of_a_link() {
        // Behind the line's first 24 bytes is its lane.
        assert_eq!(offset_of!(Link, line) + 24, 64);
        assert_eq!([size_of::<Link>(), size_of::<Node>(), size_of::<Hop>()], [192, 128, 20]);
    }
}
