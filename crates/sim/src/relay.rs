//! Relays: processing at a node that sees the packets passing it, in both directions.
//!
//! A relay may read and write what a packet carries, keep the packet for itself, send packets of its own along
//! a flow's way from its node on, open and close flows at the node's ports, and hold them back. Explicit-rate
//! control, credits, the edge of a gate and the Flow Network's signalling are relays. A packet-hop that passes
//! none pays one test for them.

use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::host::{Outbox, Sending};
use crate::measures::Measures;
use crate::packets::Packets;
use core::fmt;
use tidegate_core::endpoint::{Notice, Payload};
use tidegate_core::packet::{Leg, Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::shaper::ShaperPlan;
use tidegate_core::stats::Count;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Rate, Time};

/// A relay at a node.
pub trait Relay: Send {
    /// The last bit of a packet is in at the node, before it enters the next port or reaches its receiver.
    fn enter(
        &mut self,
        cx: &mut RelayCx<'_>,
        at: Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        let _ = (cx, at, packet, payload);
        Passage::Forward
    }

    /// The last bit of a packet of `flow` has left the node's port of `hop`, whose next packet has not started.
    fn leave(
        &mut self,
        cx: &mut RelayCx<'_>,
        flow: u32,
        hop: u32,
        packet: &mut Packet,
        payload: &mut Payload,
    ) {
        let _ = (cx, flow, hop, packet, payload);
    }

    /// Whether [`leave`](Relay::leave) has something to do when packets of `flow` leave the node by `link`. Asked when the network
    /// is built: on a link on which no relay has, the next packet starts as soon as the last bit of one is out.
    fn sees_leaving(&self, flow: u32, link: u32) -> bool {
        let _ = (flow, link);
        true
    }

    /// The shaper in front of the node's port of `hop` lets a packet of `flow` go, which reaches the port's queue. Only
    /// where [`RelayCx::watch_shapers`] asked for it.
    fn let_go(&mut self, cx: &mut RelayCx<'_>, flow: u32, hop: u32, packet: &Packet, payload: &mut Payload) {
        let _ = (cx, flow, hop, packet, payload);
    }

    /// A packet of `flow` that [`enter`](Relay::enter) let pass was dropped at the node's port of `hop`, or taken by
    /// another relay before it. Of a multicast packet: the last copy.
    fn dropped(&mut self, cx: &mut RelayCx<'_>, flow: u32, hop: u32, packet: &Packet) {
        let _ = (cx, flow, hop, packet);
    }

    /// The run begins, or the time has come that [`RelayCx::wake_at`] asked for.
    fn wake(&mut self, cx: &mut RelayCx<'_>) {
        let _ = cx;
    }

    /// The source of a flow has nothing more to send, ever.
    fn source_ended(&mut self, cx: &mut RelayCx<'_>, flow: u32) {
        let _ = (cx, flow);
    }

    /// The warm-up is over: what was counted so far does not count.
    fn count_anew(&mut self, cx: &mut RelayCx<'_>) {
        let _ = cx;
    }

    /// Shows what can be recorded over time, by name.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }
}

/// Position of a packet when a relay sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index of its flow.
    pub flow: u32,
    /// The hop over which it came; `None` when it enters the network here.
    pub from: Option<u32>,
    /// The hop over which it goes on; `None` when it is at its destination.
    pub to: Option<u32>,
}

/// Fate of a packet that has entered a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on.
    Forward,
    /// The relay has taken it.
    Absorb,
    /// The relay has no place for it: it is dropped at the end of the link over which it came.
    Drop,
}

/// Makes relays: what a plan holds of one that is written outside this crate.
pub trait RelayFactory: fmt::Debug + Send + Sync {
    /// The relay at node `node`, with its own random stream.
    fn make(&self, node: u32, rng: Rng) -> Box<dyn Relay>;
}

/// What a relay is given: the network around it, and where it hands out what it does.
pub struct RelayCx<'a> {
    pub(crate) now: Time,
    pub(crate) fabric: &'a mut Fabric,
    pub(crate) flows: &'a [Flow],
    pub(crate) packets: &'a mut Packets,
    pub(crate) measures: &'a mut Measures,
    pub(crate) outbox: &'a mut Outbox,
    /// When it is to be woken, if it said so.
    pub(crate) wake_at: Option<Time>,
}

impl RelayCx<'_> {
    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Asks to be woken at `at`, not earlier than now, in place of what was asked for before;
    /// [`Time::NEVER`] for not at all.
    pub fn wake_at(&mut self, at: Time) {
        self.wake_at = Some(at);
    }

    /// The hop of a flow whose port is at `node`; `None` where it does not pass or ends.
    pub fn hop_at(&self, flow: u32, node: u32) -> Option<u32> {
        self.hops_of(flow).find(|hop| self.fabric.hops[*hop as usize].node == node)
    }

    /// The hops of a flow, in the order of its route.
    pub fn hops_of(&self, flow: u32) -> std::ops::Range<u32> {
        let Flow { first_hop, hops, .. } = &self.flows[flow as usize];
        *first_hop..first_hop + hops
    }

    /// The flow in the other direction of a flow's connection.
    pub fn peer(&self, flow: u32) -> Option<u32> {
        self.flows[flow as usize].peer
    }

    /// Index of the link of a hop.
    pub fn link_of(&self, hop: u32) -> u32 {
        self.fabric.hops[hop as usize].link
    }

    /// The link in the other direction.
    pub fn reverse_of(&self, link: u32) -> Option<u32> {
        self.fabric.links[link as usize].reverse
    }

    /// The rate of a link.
    pub fn rate_of(&self, link: u32) -> Rate {
        self.fabric.links[link as usize].rate
    }

    /// The queue of the port in front of a link, the packet in service included.
    pub fn queue_of(&self, link: u32) -> Count {
        let (switch, leg) = self.fabric.port_of(link);
        switch.backlog(leg)
    }

    /// What waits of a flow in its shaper at a hop.
    pub fn shaped_at(&self, hop: u32) -> Count {
        self.fabric.shaped_at(hop)
    }

    /// Sends a packet of `len` bytes along the way of `flow`, from the port of `hop` on, which is one of its hops.
    pub fn send(&mut self, flow: u32, hop: u32, len: u32, mark: Mark, payload: Payload) {
        self.outbox.send(Sending { flow, hop: Some(hop), len, mark, payload, first_sent: None });
    }

    /// A link has cells of its own to send, which start as soon as it is idle.
    pub(crate) fn cells_due(&mut self, link: u32) {
        let Some(control) = &mut self.fabric.links[link as usize].control else { return };
        control.due = true;
        if !control.is_sending() {
            let (switch, port) = self.fabric.port_of(link);
            if switch.is_idle(port) {
                self.outbox.start(link);
            }
        }
    }

    /// The hop of the packet in service in front of a link; `None` when the port is idle.
    pub(crate) fn in_service(&self, link: u32) -> Option<u32> {
        let (switch, port) = self.fabric.port_of(link);
        let packet = switch.in_service(port)?;
        Some(self.fabric.hop_over(self.packets.body(packet.body).hop, link))
    }

    /// Payload of a packet.
    pub(crate) fn payload(&self, packet: &Packet) -> Payload {
        self.packets.payload(packet.body)
    }

    /// Whether packets of a flow wait at a hop.
    pub(crate) fn waits_at(&self, hop: u32) -> bool {
        self.fabric.waits_at(hop)
    }

    /// Says whether a flow takes part in the scheduling at a hop: credit, back pressure.
    pub fn take_part(&mut self, hop: u32, how: Participation) {
        let now = self.now;
        self.forget_closed(hop);
        let closed = self.fabric.closing.get(&hop).map(|(leg, _)| *leg);
        let (switch, leg) = self.at_mut(hop);
        let ready = switch.take_part(now, closed.unwrap_or(leg), how);
        if self.measures.watch.is_some() {
            let link = self.fabric.hops[hop as usize].link;
            self.measures.watch_link(now, link, self.fabric, self.packets);
        }
        // Nothing can start for the reason that a flow takes no part any more.
        if how == Participation::Active && ready.should_start() {
            self.outbox.ask(self.fabric.hops[hop as usize].link);
        }
    }

    /// Forgets where a flow was closed at a hop once its last packet is gone: its index may be another flow's.
    fn forget_closed(&mut self, hop: u32) {
        let Some((leg, flow)) = self.fabric.closing.get(&hop) else { return };
        let switch = &self.fabric.nodes[self.fabric.hops[hop as usize].node as usize].switch;
        let packet = switch.packet_of(*leg);
        if packet.is_none_or(|packet| self.packets.body(packet.body).flow != *flow) {
            self.fabric.closing.remove(&hop);
        }
    }

    /// Changes the shaper of a flow at a hop: its pace from now on; `None` takes it away. Does nothing where the
    /// flow is not open.
    pub fn set_pace(&mut self, hop: u32, shaper: Option<ShaperPlan>) {
        let now = self.now;
        let (switch, leg) = self.at_mut(hop);
        if let Some(plan) = switch.plan_of(leg) {
            // A plan whose contract stays is not refused.
            _ = switch.change(now, leg, &FlowPlan { shaper, ..plan });
            self.outbox.ask(self.fabric.hops[hop as usize].link);
        }
    }

    /// Asks for a call for everything that the shapers of a node let go ([`Relay::let_go`]).
    pub fn watch_shapers(&mut self, node: u32) {
        self.fabric.nodes[node as usize].switch.report_conforming(true);
    }

    /// Tells the source of a flow something, at once.
    pub fn notify(&mut self, flow: u32, notice: Notice) {
        self.outbox.notify(flow, notice);
    }

    fn at_mut(&mut self, hop: u32) -> (&mut Switch, Leg) {
        let hop = &self.fabric.hops[hop as usize];
        (&mut self.fabric.nodes[hop.node as usize].switch, hop.leg)
    }
}
