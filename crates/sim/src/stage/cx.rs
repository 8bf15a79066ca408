//! Contexts of stages: the network around them, and the outbox for their actions.

use crate::events::LinkEvent;
use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::host::{Outbox, Sending};
use crate::measures::Measures;
use crate::packet_log::PacketId;
use crate::packets::Packets;
use crate::probe::Subject;
use tidegate_core::endpoint::{Notice, Payload};
use tidegate_core::link::Lane;
use tidegate_core::packet::{Leg, Mark, Packet};
use tidegate_core::scheduler::Participation;
use tidegate_core::shaper::ShaperPlan;
use tidegate_core::stats::Count;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Rate, Time};

/// Recipient of the quantities that stages show.
pub struct Gauges<'a> {
    pub(crate) fabric: &'a Fabric,
    /// The subject of a stage that a plan placed.
    pub(crate) own: Option<Subject>,
    pub(crate) show: &'a mut dyn FnMut(Subject, &'static str, f64),
}

impl Gauges<'_> {
    /// Shows a quantity of the stage itself; only for a stage that a plan placed.
    pub fn show(&mut self, metric: &'static str, value: f64) {
        if let Some(own) = self.own {
            (self.show)(own, metric, value);
        }
    }

    /// Shows a quantity of something else.
    pub fn show_for(&mut self, subject: Subject, metric: &'static str, value: f64) {
        (self.show)(subject, metric, value);
    }

    /// Returns the packets of a flow that wait in its shaper at a hop.
    pub fn shaped_at(&self, hop: u32) -> Count {
        self.fabric.shaped_at(hop)
    }
}

/// Context of a stage: the network around it, and the outbox for its actions.
pub struct StageCx {
    pub(crate) now: Time,
    pub(crate) fabric: Fabric,
    pub(crate) flows: Vec<Flow>,
    pub(crate) packets: Packets,
    pub(crate) measures: Measures,
    pub(crate) outbox: Outbox,
    /// Requested wake-up time, if there is a request.
    pub(crate) wake_at: Option<Time>,
}

impl StageCx {
    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Requests a wake-up at `at`, not earlier than now, in place of the previous request;
    /// [`Time::NEVER`] for none.
    pub fn wake_at(&mut self, at: Time) {
        self.wake_at = Some(at);
    }

    /// Returns the hop of a flow whose port is at `node`; `None` where it does not pass or ends.
    pub fn hop_at(&self, flow: u32, node: u32) -> Option<u32> {
        self.hops_of(flow).find(|hop| self.fabric.hops[*hop as usize].node == node)
    }

    /// Returns the hops of a flow, in the order of its route.
    pub fn hops_of(&self, flow: u32) -> std::ops::Range<u32> {
        let Flow { first_hop, hops, .. } = &self.flows[flow as usize];
        *first_hop..first_hop + hops
    }

    /// Returns the flow in the other direction of a flow's connection.
    pub fn peer(&self, flow: u32) -> Option<u32> {
        self.flows[flow as usize].peer
    }

    /// Returns the index of the link of a hop.
    pub fn link_of(&self, hop: u32) -> u32 {
        self.fabric.hops[hop as usize].link
    }

    /// Returns the link in the other direction.
    pub fn reverse_of(&self, link: u32) -> Option<u32> {
        self.fabric.links[link as usize].reverse
    }

    /// Returns the rate of a link.
    pub fn rate_of(&self, link: u32) -> Rate {
        self.fabric.links[link as usize].rate
    }

    /// Returns the queue of the port in front of a link, the packet in service included.
    pub fn queue_of(&self, link: u32) -> Count {
        let (switch, leg) = self.fabric.port_of(link);
        switch.backlog(leg)
    }

    /// Returns the packets of a flow that wait in its shaper at a hop.
    pub fn shaped_at(&self, hop: u32) -> Count {
        self.fabric.shaped_at(hop)
    }

    /// Sends a packet of `len` bytes along the way of `flow`, starting at the port of `hop`, which
    /// is one of its hops.
    pub fn send(&mut self, flow: u32, hop: u32, len: u32, mark: Mark, payload: Payload) {
        self.outbox.send(Sending { flow, hop: Some(hop), len, mark, payload, first_sent: None, cell: None });
    }

    /// Requests a link for cells of the stage, which are made when they start, ahead of the packets
    /// of its port: as soon as it is idle ([`Stage::next_cell`](super::Stage::next_cell)).
    pub fn request_link(&mut self, link: u32) {
        if let Some(lane) = self.fabric.links[link as usize].line.lane_mut() {
            lane.request(true);
            self.start_lane(link);
        }
    }

    /// Queues the start of a link whose lane has cells, if it is idle.
    pub(crate) fn start_lane(&mut self, link: u32) {
        let is_sending = self.fabric.links[link as usize].line.lane().is_some_and(Lane::is_sending);
        let (switch, port) = self.fabric.port_of(link);
        if !is_sending && switch.is_idle(port) {
            self.outbox.start(link);
        }
    }

    /// Reports an event at a link to the stages that observe links, before anything else happens.
    pub(crate) fn report(&mut self, link: u32, event: LinkEvent) {
        if !self.fabric.observers.is_empty() {
            self.outbox.report(link, event);
        }
    }

    /// Returns the name of a packet.
    pub fn id_of(&self, packet: &Packet) -> PacketId {
        self.packets.body(packet.body).id()
    }

    /// Returns the hop of the packet in service in front of a link; `None` when the port is idle.
    pub(crate) fn in_service(&self, link: u32) -> Option<u32> {
        let (switch, port) = self.fabric.port_of(link);
        let packet = switch.in_service(port)?;
        Some(self.fabric.hop_over(self.packets.body(packet.body).hop, link))
    }

    /// Returns the payload of a packet.
    pub(crate) fn payload(&self, packet: &Packet) -> Payload {
        self.packets.payload(packet.body)
    }

    /// Returns true if packets of a flow wait at a hop.
    pub(crate) fn waits_at(&self, hop: u32) -> bool {
        self.fabric.waits_at(hop)
    }

    /// Sets the participation of a flow in the scheduling at a hop: credit, back pressure.
    pub fn take_part(&mut self, hop: u32, how: Participation) {
        let now = self.now;
        self.forget_closed(hop);
        let closed = self.fabric.closing.get(&hop).map(|(leg, _)| *leg);
        let (switch, leg) = self.at_mut(hop);
        let ready = switch.take_part(now, closed.unwrap_or(leg), how);
        self.report(self.fabric.hops[hop as usize].link, LinkEvent::Changed);
        // No packet can start because a flow stops taking part.
        if how == Participation::Active && ready.should_start() {
            self.outbox.ask(self.fabric.hops[hop as usize].link);
        }
    }

    /// Forgets that a flow was closed at a hop once its last packet is gone: its index may be
    /// reused for another flow.
    fn forget_closed(&mut self, hop: u32) {
        let Some((leg, flow)) = self.fabric.closing.get(&hop) else { return };
        let switch = &self.fabric.nodes[self.fabric.hops[hop as usize].node as usize].switch;
        let packet = switch.packet_of(*leg);
        if packet.is_none_or(|packet| self.packets.body(packet.body).flow != *flow) {
            self.fabric.closing.remove(&hop);
        }
    }

    /// Replaces the shaper of a flow at a hop, and so its pace; `None` removes it. Does nothing
    /// where the flow is not open.
    pub fn set_pace(&mut self, hop: u32, shaper: Option<ShaperPlan>) {
        let now = self.now;
        let (switch, leg) = self.at_mut(hop);
        if let Some(plan) = switch.plan_of(leg) {
            // A plan with an unchanged contract is not refused.
            _ = switch.change(now, leg, &FlowPlan { shaper, ..plan });
            self.outbox.ask(self.fabric.hops[hop as usize].link);
        }
    }

    /// Charges the pace of a flow at a hop with a packet that the stage sends beside it, on another
    /// flow.
    pub fn charge_pace(&mut self, hop: u32, len: u32) {
        let now = self.now;
        let (switch, leg) = self.at_mut(hop);
        switch.charge_shaper(now, leg, len);
    }

    /// Notifies the source of a flow at once.
    pub fn notify(&mut self, flow: u32, notice: Notice) {
        self.outbox.notify(flow, notice);
    }

    fn at_mut(&mut self, hop: u32) -> (&mut Switch, Leg) {
        let hop = &self.fabric.hops[hop as usize];
        (&mut self.fabric.nodes[hop.node as usize].switch, hop.leg)
    }
}
