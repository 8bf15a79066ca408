//! Senders: sources with their own pattern use the fast path; endpoints are called through their
//! contexts.

use super::host_events::HostEvent;
use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::host::{Sending, Source, Task};
use crate::packets::{HostCell, PacketBody};
use tidegate_core::aal5;
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Notice, Payload};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::stats::wrapping_count;
use tidegate_core::units::Time;

/// Returns the first hop of the next packet of the flow with this index.
#[inline(always)]
fn first_hop(fabric: &mut Fabric, ix: u32, flow: &Flow) -> u32 {
    match flow.is_spread {
        true => fabric.first_hop_at_random(ix, flow.first_hop),
        false => flow.first_hop,
    }
}

impl<Q: EventQueue> World<Q> {
    /// Handles the event of a flow's source.
    #[inline(always)]
    pub(super) fn source(&mut self, ix: u32) {
        let flow = &mut self.cx.flows[ix as usize];
        let Source::OpenLoop(emission) = &mut flow.source else {
            return self.wake_endpoint(ix);
        };
        let len = flow.pending;
        let mut next = Time::NEVER;
        if let Some((gap, len)) = emission.next_packet() {
            let at = self.cx.now + gap;
            if at < flow.stop {
                flow.pending = len;
                next = at;
            }
        }
        self.events.set(Event::Source(ix), next);
        let hop = first_hop(&mut self.cx.fabric, ix, flow);
        let (sequence, group, mark) = (flow.next_sequence, flow.group, flow.mark);
        wrapping_count(&mut flow.next_sequence, 1);
        self.cx.measures.records[ix as usize].count_sent(len);
        let id = self.cx.packets.store(PacketBody::new(self.cx.now, sequence, ix, hop, group));
        let mut packet = Packet::new(id, len);
        packet.mark = mark;
        self.enter(hop, &mut packet, None);
    }

    #[inline(never)]
    fn wake_endpoint(&mut self, ix: u32) {
        self.call_endpoint(ix, |endpoint, cx| endpoint.wake(cx));
        self.drain_outbox();
    }

    /// Calls the endpoint that sends a flow, if it is one, and carries out its actions.
    fn call_endpoint(&mut self, ix: u32, call: impl FnOnce(&mut dyn Endpoint, &mut HostCx<'_>) -> Time) {
        self.ask_endpoint(ix, call);
        self.act(ix);
    }

    /// Calls the endpoint that sends a flow, if it is one, and schedules its next time. Its actions
    /// are carried out by [`act`](Self::act).
    #[inline(always)]
    pub(super) fn ask_endpoint(
        &mut self,
        ix: u32,
        call: impl FnOnce(&mut dyn Endpoint, &mut HostCx<'_>) -> Time,
    ) {
        let flow = &mut self.cx.flows[ix as usize];
        let Source::Endpoint(endpoint) = &mut flow.source else { return };
        let mut cx = HostCx { now: self.cx.now, out: &mut self.cx.outbox.actions };
        let at = call(endpoint.as_mut(), &mut cx).max(self.cx.now);
        let before = core::mem::replace(&mut flow.wakes_at, at);
        if before == Time::NEVER && at != Time::NEVER {
            self.events.sources.insert(ix, at);
        } else if before != at {
            self.events.sources.set(ix, at);
        }
    }

    /// Carries out the actions of the endpoint that sends a flow. Their consequences wait in the
    /// outbox.
    #[inline(always)]
    pub(super) fn act(&mut self, ix: u32) {
        if !self.cx.outbox.actions.is_empty() {
            // Consequences of a packet wait.
            let outside = core::mem::replace(&mut self.cx.outbox.being_emptied, true);
            self.carry_out(ix);
            self.cx.outbox.being_emptied = outside;
        }
    }

    /// Handles the preparation of a packet by the host of a flow. Consequences of each of its cells
    /// follow the cell.
    pub(super) fn host_prepared(&mut self, ix: u32) {
        self.ask_endpoint(ix, |endpoint, cx| endpoint.prepared(cx));
        self.carry_out(ix);
    }

    #[inline(never)]
    fn carry_out(&mut self, ix: u32) {
        let actions = core::mem::take(&mut self.cx.outbox.actions);
        // Packets already sent by stages go first.
        let at_once = self.cx.outbox.has_no_sends();
        for action in &actions {
            if self.is_over_full() {
                break;
            }
            match action {
                Action::Send { len, mark, payload, first_sent } if at_once => {
                    self.send(ix, None, *len, *mark, payload, *first_sent);
                }
                &Action::Send { len, mark, payload, first_sent } => {
                    let (hop, cell) = (None, None);
                    self.cx.outbox.send(Sending { flow: ix, hop, len, mark, payload, first_sent, cell });
                }
                &Action::SendCell { cell, is_counted, mark, payload, first_sent } => {
                    let (hop, len, cell) = (None, aal5::CELL, Some(HostCell { cell, is_counted }));
                    let sending = Sending { flow: ix, hop, len, mark, payload, first_sent, cell };
                    match at_once {
                        true => self.send_cell(&sending),
                        false => self.cx.outbox.send(sending),
                    }
                }
                &Action::Prepare(time) => {
                    self.host_events.schedule(self.cx.now + time, ix, HostEvent::Prepared);
                    self.schedule_housekeeping();
                }
                Action::Held(true) => self.cx.packets.hold_without_body(1),
                Action::Held(false) => self.cx.packets.release_without_body(),
                Action::Again => self.cx.outbox.wake(ix),
                Action::Ended => self.cx.outbox.ended(ix),
            }
        }
        self.cx.outbox.actions = actions;
        self.cx.outbox.actions.clear();
    }

    /// Gives the round-trip time measured by a flow's endpoint to the meters at its first port,
    /// before the packets just sent reach them.
    #[inline(never)]
    pub(super) fn tell_round_trip(&mut self, ix: u32) {
        let flow = &self.cx.flows[ix as usize];
        let Source::Endpoint(endpoint) = &flow.source else { return };
        if let Some(round_trip) = endpoint.round_trip() {
            for first in flow.first_hops() {
                let hop = &self.cx.fabric.hops[first as usize];
                self.cx.fabric.nodes[hop.node as usize].switch.set_round_trip(hop.leg, round_trip);
            }
        }
    }

    /// Carries out all tasks of endpoints and stages, and all their consequences at this instant.
    #[inline(always)]
    pub(super) fn drain_outbox(&mut self) {
        if self.cx.outbox.is_left() {
            self.carry_out_tasks();
        }
    }

    #[inline(never)]
    fn carry_out_tasks(&mut self) {
        self.cx.outbox.being_emptied = true;
        while let Some(task) = self.cx.outbox.next() {
            match task {
                Task::Report(link, event) => self.observe(link, event),
                // The run is over: waiting packets are no longer sent.
                Task::Send(_) if self.is_over_full() => {}
                Task::Send(sending) => self.send_waiting(&sending),
                Task::Notify(flow, notice) => {
                    self.call_endpoint(flow, |endpoint, cx| endpoint.notice(cx, notice));
                }
                Task::Wake(flow) => self.call_endpoint(flow, |endpoint, cx| endpoint.wake(cx)),
                Task::Start(link) => self.start(link),
                Task::Ask(link) => self.timer(link),
                Task::Ended(flow) => {
                    for stage in 0..self.stages.len() {
                        self.call_stage(stage as u32, |stage, cx| stage.source_ended(cx, flow));
                    }
                }
            }
        }
        self.cx.outbox.being_emptied = false;
    }

    /// Sends a packet into the network, at the beginning of its flow's route or at a hop.
    pub(super) fn send(
        &mut self,
        ix: u32,
        hop: Option<u32>,
        len: u32,
        mark: Mark,
        payload: &Payload,
        first_sent: Option<Time>,
    ) {
        let flow = &mut self.cx.flows[ix as usize];
        let hop = hop.unwrap_or_else(|| first_hop(&mut self.cx.fabric, ix, flow));
        let colour = flow.mark.colour();
        let body = PacketBody::new(self.cx.now, flow.next_sequence, ix, hop, flow.group);
        wrapping_count(&mut flow.next_sequence, 1);
        self.cx.measures.records[ix as usize].count_sent(len);
        let id = if matches!(payload, Payload::None) && first_sent.is_none() {
            self.cx.packets.store(body)
        } else {
            self.cx.packets.store_content(body, *payload, first_sent)
        };
        let mut packet = Packet::new(id, len);
        packet.mark = mark.coloured(mark.colour().max(colour));
        self.enter(hop, &mut packet, None);
    }

    /// Sends a packet that has waited in the outbox.
    fn send_waiting(&mut self, sending: &Sending) {
        let Sending { flow, hop, len, mark, payload, first_sent, cell } = sending;
        match cell {
            None => self.send(*flow, *hop, *len, *mark, payload, *first_sent),
            Some(_) => self.send_cell(sending),
        }
    }

    /// Sends an ATM cell into the network. Packets that stages send when it enters come right behind
    /// it.
    #[inline(never)]
    fn send_cell(&mut self, sending: &Sending) {
        let &Sending { flow: ix, len, mark, payload, first_sent, cell, .. } = sending;
        let Some(cell) = cell else { return };
        let waiting = self.cx.outbox.take_sends();
        let flow = &mut self.cx.flows[ix as usize];
        let (hop, colour) = (flow.first_hop, flow.mark.colour());
        let body = PacketBody::new(self.cx.now, flow.next_sequence, ix, hop, flow.group);
        wrapping_count(&mut flow.next_sequence, 1);
        self.cx.measures.records[ix as usize].count_sent(len);
        let mut packet = Packet::new(self.cx.packets.store_cell(body, payload, first_sent, cell), len);
        packet.mark = mark.coloured(mark.colour().max(colour));
        self.enter(hop, &mut packet, None);
        while let Some(between) = self.cx.outbox.next_send() {
            self.send_waiting(&between);
        }
        self.cx.outbox.put_back(waiting);
    }

    /// Notifies the source of a packet that a monitor has just seen: the notice takes the packet's
    /// way back.
    pub(super) fn notify_back(&mut self, body: BodyId, notice: Notice) {
        let body = self.cx.packets.body(body);
        let flow = &self.cx.flows[body.flow as usize];
        if matches!(flow.source, Source::OpenLoop(_)) {
            // It follows its own pattern, whatever the notice.
            return;
        }
        let first = body.hop - flow.links_before(body.hop);
        let way = &self.cx.fabric.hops[first as usize..body.hop as usize];
        let back = way.iter().map(|hop| self.cx.fabric.links[hop.link as usize].line.delay());
        let at = back.fold(self.cx.now, |at, delay| at + delay);
        self.host_events.schedule(at, body.flow, HostEvent::Notice(notice));
        self.schedule_housekeeping();
    }
}
