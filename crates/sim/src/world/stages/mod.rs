//! The stages of the world, and its calls of stages.

mod abr_ends;
mod credit;
mod envelope;
mod flow_network;
mod gate_edge;
mod rate_control;
mod registry;
mod sets;
mod setup;

pub(super) use credit::Credit;
pub use credit::{CreditReport, StallReport, VcReport};
pub use flow_network::{Answer, Signal};
pub use gate_edge::GateFlow;
pub(super) use registry::stages;
pub(super) use sets::Sets;
pub(super) use setup::{Placed, StageSetup};

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::StageSet;
use crate::packet_log::What;
use crate::packets::PacketBody;
use crate::stage::{Crossing, Passage, PlainCx, Stage, StageCx};
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
        call: impl FnOnce(&mut dyn Stage, &mut StageCx<'_>) -> T,
    ) -> T {
        let mut cx = StageCx {
            now: self.now,
            fabric: &mut self.fabric,
            flows: &self.flows,
            packets: &mut self.packets,
            measures: &mut self.measures,
            outbox: &mut self.outbox,
            wake_at: None,
        };
        let answer = call(self.stages[ix as usize].stage.as_mut(), &mut cx);
        if let Some(at) = cx.wake_at {
            self.events.stages.set(ix, at.max(self.now));
            self.set_due();
        }
        answer
    }

    pub(super) fn wake_stage(&mut self, ix: u32) {
        self.events.stages.set(ix, Time::NEVER);
        self.call_stage(ix, |stage, cx| stage.wake(cx));
        self.settle();
    }

    /// Passes a packet to the stages of a set, in front of a port or at its destination; returns
    /// true if the packet continues.
    #[inline(always)]
    pub(super) fn enter_stages(&mut self, set: u16, at: Crossing, packet: &mut Packet) -> bool {
        let set = usize::from(set);
        if let [stage] = *self.fabric.stage_sets[set].entered(at.to)
            && !self.packets.has_content(packet.body)
        {
            let mut cx = PlainCx { now: self.now, outbox: &mut self.outbox };
            if self.stages[stage as usize].stage.enter_plain(&mut cx, at, packet) {
                return true;
            }
        }
        self.enter_each_stage(set, at, packet)
    }

    #[inline(never)]
    fn enter_each_stage(&mut self, set: usize, at: Crossing, packet: &mut Packet) -> bool {
        let mut payload = self.packets.payload(packet.body);
        let mut place = 0;
        while let Some(stage) = self.fabric.stage_sets[set].entered(at.to).get(place).copied() {
            match self.call_stage(stage, |stage, cx| stage.enter(cx, at, packet, &mut payload)) {
                Passage::Forward => place += 1,
                Passage::Absorb => {
                    self.withdraw(set, at, place, packet);
                    self.absorbed(at, packet);
                    return false;
                }
                Passage::Drop => {
                    self.withdraw(set, at, place, packet);
                    self.dropped_on_entry(at, packet);
                    return false;
                }
            }
        }
        self.packets.set_payload(packet.body, &payload);
        true
    }

    /// Notifies those of the first `passed` stages in front of a port that want to know that a
    /// packet which they let pass goes no further.
    #[cold]
    fn withdraw(&mut self, set: usize, at: Crossing, passed: usize, packet: &Packet) {
        let Some(hop) = at.to else { return };
        for nth in 0..self.fabric.stage_sets[set].dropped.len() {
            let StageSet { dropped, enter, .. } = &self.fabric.stage_sets[set];
            let stage = dropped[nth];
            if enter[..passed].contains(&stage) {
                self.call_stage(stage, |stage, cx| stage.dropped(cx, at.flow, hop, packet));
            }
        }
    }

    /// Records that a stage has taken a packet for itself.
    fn absorbed(&mut self, at: Crossing, packet: &Packet) {
        let body = self.packets.body(packet.body);
        if body.born >= self.measures.warm_at {
            self.measures.records[at.flow as usize].absorbed += 1;
        }
        if let Some(hop) = at.from.or(at.to) {
            let link = self.fabric.hops[hop as usize].link;
            self.measures.log(self.now, link, What::Absorbed(body.id()));
            if let Some(watch) = &mut self.measures.watch {
                let destinations = self.fabric.destinations_of(at.from, at.to);
                watch.gone(link, body.flow, body.sequence, destinations);
            }
        }
        self.packets.forget(packet.body);
    }

    /// Notifies the stages of a hop that a packet was dropped at its port.
    #[cold]
    pub(super) fn drop_stages(&mut self, hop: u32, packet: &Packet) {
        let set = usize::from(self.fabric.hops[hop as usize].stages);
        let flow = self.packets.body(packet.body).flow;
        for nth in 0..self.fabric.stage_sets[set].dropped.len() {
            let stage = self.fabric.stage_sets[set].dropped[nth];
            self.call_stage(stage, |stage, cx| stage.dropped(cx, flow, hop, packet));
        }
    }

    /// Notifies the stages of a hop that a packet has left its port.
    pub(super) fn leave_stages(&mut self, hop: u32, packet: &mut Packet) {
        self.show_stages(hop, packet.body, StageSet::left, |stage, cx, flow, payload| {
            stage.leave(cx, flow, hop, packet, payload);
        });
    }

    /// Notifies the stages of a packet's hop that the shaper in front of its port has released it.
    pub(super) fn release_stages(&mut self, packet: &Packet) {
        let PacketBody { hop, flow, .. } = *self.packets.body(packet.body);
        let set = usize::from(self.fabric.hops[hop as usize].stages);
        if let [stage] = *self.fabric.stage_sets[set].released
            && !self.packets.has_content(packet.body)
            && self.stages[stage as usize].stage.released_plain(self.now, flow, packet)
        {
            return;
        }
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
        mut call: impl FnMut(&mut dyn Stage, &mut StageCx<'_>, u32, &mut Payload),
    ) {
        let set = usize::from(self.fabric.hops[hop as usize].stages);
        if which(&self.fabric.stage_sets[set]).is_empty() {
            return;
        }
        let flow = self.packets.body(body).flow;
        let mut payload = self.packets.payload(body);
        let mut nth = 0;
        while let Some(stage) = which(&self.fabric.stage_sets[set]).get(nth).copied() {
            self.call_stage(stage, |stage, cx| call(stage, cx, flow, &mut payload));
            nth += 1;
        }
        self.packets.set_payload(body, &payload);
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
}
