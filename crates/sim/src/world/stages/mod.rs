//! The stages of the world, and its calls of stages.

mod abr;
mod capture;
mod credit;
mod envelope;
mod first_queue;
mod flow_network;
mod fork;
mod gate_edge;
mod overhead;
mod own_lengths;
mod packet_log;
mod registry;
mod sets;
mod setup;
mod watch;
mod workahead;

pub use credit::{CreditReport, OutputReport, StallReport, VcReport};
pub use flow_network::{Answer, Signal};
pub use gate_edge::GateFlow;
pub(super) use registry::stages;
pub(super) use sets::Sets;
pub(super) use setup::{Placed, StageSetup};

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::StageSet;
use crate::packets::PacketBody;
use crate::stage::{Crossing, Fate, LinkEvent, Passage, Stage, StageCx};
use core::any::Any;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::units::Time;

impl<Q: EventQueue> World<Q> {
    /// Calls a stage, and schedules its wake-up. Its actions wait in the outbox.
    #[inline(always)]
    pub(super) fn call_stage<T>(
        &mut self,
        ix: u32,
        call: impl FnOnce(&mut dyn Stage, &mut StageCx) -> T,
    ) -> T {
        let answer = call(self.stages[ix as usize].stage.as_mut(), &mut self.cx);
        if self.cx.wake_at.is_some() {
            self.plan_wake(ix);
        }
        answer
    }

    /// Schedules the wake-up that a stage has requested.
    #[inline(never)]
    fn plan_wake(&mut self, ix: u32) {
        if let Some(at) = self.cx.wake_at.take() {
            self.events.stages.set(ix, at.max(self.cx.now));
            self.schedule_housekeeping();
        }
    }

    pub(super) fn wake_stage(&mut self, ix: u32) {
        self.events.stages.set(ix, Time::NEVER);
        self.call_stage(ix, |stage, cx| stage.wake(cx));
        self.drain_outbox();
    }

    /// Passes a packet to the stages in front of a port, by their set; returns true if the packet
    /// continues.
    #[inline(always)]
    pub(super) fn enter_stages(&mut self, set: u16, at: &Crossing, packet: &mut Packet) -> bool {
        self.enter_each_stage(set, StageSet::entered, at, packet)
    }

    /// Like [`enter_stages`](Self::enter_stages), for the stages at a packet's destination.
    #[inline(always)]
    pub(super) fn receive_stages(&mut self, set: u16, at: &Crossing, packet: &mut Packet) -> bool {
        self.enter_each_stage(set, StageSet::receiving, at, packet)
    }

    #[inline(always)]
    fn enter_each_stage(
        &mut self,
        set: u16,
        which: fn(&StageSet) -> &[u32],
        at: &Crossing,
        packet: &mut Packet,
    ) -> bool {
        let set = usize::from(set);
        let has_content = self.cx.packets.has_content(packet.body);
        // Most packets have no content, and cost no copy of it.
        let mut payload = if has_content { self.cx.packets.payload(packet.body) } else { Payload::None };
        let mut place = 0;
        while let Some(stage) = self.stage_of(set, which, place) {
            let passage = self.call_stage(stage, |stage, cx| stage.enter(cx, at, packet, &mut payload));
            if passage != Passage::Forward {
                self.stop(set, place, passage, at, packet, &payload);
                return false;
            }
            place += 1;
        }
        if has_content || !matches!(payload, Payload::None) {
            self.cx.packets.set_payload(packet.body, &payload);
        }
        true
    }

    /// Returns the stage at a place of one of the lists of a set.
    #[inline(always)]
    fn stage_of(&self, set: usize, which: fn(&StageSet) -> &[u32], place: usize) -> Option<u32> {
        which(&self.cx.fabric.stage_sets[set]).get(place).copied()
    }

    /// Handles a packet that does not continue after the stage at a place of a set.
    #[inline(never)]
    fn stop(
        &mut self,
        set: usize,
        place: usize,
        passage: Passage,
        at: &Crossing,
        packet: &mut Packet,
        payload: &Payload,
    ) {
        match (passage, at.to) {
            (Passage::Forward, _) => {}
            (Passage::Fork, to) => {
                self.cx.packets.set_payload(packet.body, payload);
                if let Some(hop) = to {
                    self.enter_fork(hop, packet);
                }
            }
            (Passage::Absorb, _) => {
                self.withdraw(set, at, place, packet);
                self.absorbed(at, packet);
            }
            (Passage::Drop, _) => {
                self.withdraw(set, at, place, packet);
                self.dropped_on_entry(at, packet);
            }
        }
    }

    /// Notifies the stages in front of a port that a packet goes no further, except those from the
    /// place `passed` on, which it has not entered.
    #[cold]
    fn withdraw(&mut self, set: usize, at: &Crossing, passed: usize, packet: &mut Packet) {
        let Some(hop) = at.to else { return };
        for nth in 0..self.cx.fabric.stage_sets[set].dropped.len() {
            let StageSet { dropped, enter, .. } = &self.cx.fabric.stage_sets[set];
            let stage = dropped[nth];
            if !enter[passed..].contains(&stage) {
                self.call_stage(stage, |stage, cx| stage.dropped(cx, at.flow, hop, packet));
            }
        }
    }

    /// Records that a stage has taken a packet for itself.
    fn absorbed(&mut self, at: &Crossing, packet: &Packet) {
        let body = self.cx.packets.body(packet.body);
        if body.born >= self.cx.measures.warm_at {
            self.cx.measures.records[at.flow as usize].absorbed += 1;
        }
        if let Some(hop) = at.from.or(at.to) {
            let link = self.cx.fabric.hops[hop as usize].link;
            self.end(link, packet, Fate::Absorbed, self.cx.fabric.destinations_of(at.from, at.to));
        }
        self.cx.packets.forget(packet.body);
    }

    /// Notifies the stages of a hop that a packet was dropped at its port.
    #[cold]
    pub(super) fn drop_stages(&mut self, hop: u32, packet: &mut Packet) {
        let set = usize::from(self.cx.fabric.hops[hop as usize].stages);
        let flow = self.cx.packets.body(packet.body).flow;
        for nth in 0..self.cx.fabric.stage_sets[set].dropped.len() {
            let stage = self.cx.fabric.stage_sets[set].dropped[nth];
            self.call_stage(stage, |stage, cx| stage.dropped(cx, flow, hop, packet));
        }
    }

    /// Notifies the stages of a hop that a packet has left its port.
    pub(super) fn leave_stages(&mut self, hop: u32, packet: &mut Packet) {
        self.show_stages(hop, packet.body, StageSet::left, |stage, cx, flow, payload| {
            stage.leave(cx, flow, hop, packet, payload);
        });
    }

    /// Notifies the stages of the hop of a packet that its first bit leaves.
    #[cold]
    pub(super) fn show_start(&mut self, link: u32, packet: &Packet) {
        let PacketBody { hop, flow, .. } = *self.cx.packets.body(packet.body);
        let hop = self.cx.fabric.hop_over(hop, link);
        let set = usize::from(self.cx.fabric.hops[hop as usize].stages);
        for nth in 0..self.cx.fabric.stage_sets[set].start.len() {
            let stage = self.cx.fabric.stage_sets[set].start[nth];
            self.call_stage(stage, |stage, cx| stage.start(cx, flow, hop, packet));
        }
    }

    /// Reports the end of a packet to the stages that observe packets.
    #[inline]
    pub(super) fn end(&mut self, link: u32, packet: &Packet, fate: Fate, destinations: u32) {
        for nth in 0..self.cx.fabric.observers.len() {
            let stage = self.cx.fabric.observers[nth];
            self.call_stage(stage, |stage, cx| stage.ended(cx, link, packet, fate, destinations));
        }
    }

    /// Reports to the stages that observe links that the activity of one may have changed.
    #[inline(always)]
    pub(super) fn link_changed(&mut self, link: u32) {
        if !self.cx.fabric.observers.is_empty() {
            self.observe(link, LinkEvent::Changed);
        }
    }

    /// Reports an event at a link to the stages that observe links.
    #[cold]
    pub(super) fn observe(&mut self, link: u32, event: LinkEvent) {
        for nth in 0..self.cx.fabric.observers.len() {
            let stage = self.cx.fabric.observers[nth];
            self.call_stage(stage, |stage, cx| stage.observe(cx, link, event));
        }
    }

    /// Notifies the stages of a packet's hop that the shaper in front of its port has released it.
    pub(super) fn release_stages(&mut self, packet: &Packet) {
        let hop = self.cx.packets.body(packet.body).hop;
        self.show_stages(hop, packet.body, StageSet::released, |stage, cx, flow, payload| {
            stage.released(cx, flow, hop, packet, payload);
        });
    }

    /// Calls some of the stages of a hop with the flow and the payload of a packet, which they may
    /// change.
    #[inline(always)]
    fn show_stages(
        &mut self,
        hop: u32,
        body: BodyId,
        which: fn(&StageSet) -> &[u32],
        mut call: impl FnMut(&mut dyn Stage, &mut StageCx, u32, &mut Payload),
    ) {
        let set = usize::from(self.cx.fabric.hops[hop as usize].stages);
        if which(&self.cx.fabric.stage_sets[set]).is_empty() {
            return;
        }
        let flow = self.cx.packets.body(body).flow;
        let has_content = self.cx.packets.has_content(body);
        let mut payload = if has_content { self.cx.packets.payload(body) } else { Payload::None };
        let mut place = 0;
        while let Some(stage) = self.stage_of(set, which, place) {
            self.call_stage(stage, |stage, cx| call(stage, cx, flow, &mut payload));
            place += 1;
        }
        if has_content || !matches!(payload, Payload::None) {
            self.cx.packets.set_payload(body, &payload);
        }
    }
}

impl<Q> World<Q> {
    /// Returns the first stage of a type, whose results can be read; `None` where the network does
    /// not use it.
    pub fn stage<T: Stage>(&self) -> Option<&T> {
        self.stages.iter().find_map(|placed| {
            let stage: &dyn Any = placed.stage.as_ref();
            stage.downcast_ref()
        })
    }

    /// Like [`stage`](Self::stage), to take from it.
    fn stage_mut<T: Stage>(&mut self) -> Option<&mut T> {
        self.stages.iter_mut().find_map(|placed| {
            let stage: &mut dyn Any = placed.stage.as_mut();
            stage.downcast_mut()
        })
    }
}
