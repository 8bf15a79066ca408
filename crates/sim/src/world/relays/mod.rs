//! The built-in relays, and the world's calls of relays.

mod abr_ends;
mod credit;
mod envelope;
mod flow_network;
mod gate_edge;
mod rate_control;

pub(super) use abr_ends::AbrEnds;
pub(super) use credit::Credit;
pub use credit::{CreditReport, StallReport, VcReport};
pub(super) use envelope::Envelope;
pub(super) use flow_network::FlowNetwork;
pub use flow_network::{Answer, Signal};
pub(super) use gate_edge::GateEdge;
pub use gate_edge::GateFlow;
pub(super) use rate_control::RateControlled;

use super::World;
use crate::event_queue::EventQueue;
use crate::fabric::Hop;
use crate::packet_log::What;
use crate::packets::PacketBody;
use crate::relay::{Crossing, Passage, Relay, RelayCx};
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::units::Time;

impl<Q: EventQueue> World<Q> {
    /// Calls a relay, and schedules its wake-up. Its actions wait in the outbox.
    pub(super) fn call_relay<T>(
        &mut self,
        ix: u32,
        call: impl FnOnce(&mut dyn Relay, &mut RelayCx<'_>) -> T,
    ) -> T {
        self.call_any_relay(ix, |relay, cx| call(relay.relay(), cx))
    }

    /// Calls the relay of credit; `None` where no link has credit.
    pub(super) fn call_credit<T>(
        &mut self,
        call: impl FnOnce(&mut Credit, &mut RelayCx<'_>) -> T,
    ) -> Option<T> {
        self.call_any_relay(self.credit?, |relay, cx| match relay {
            AnyRelay::Credit(credit) => Some(call(credit, cx)),
            _ => None,
        })
    }

    #[inline(always)]
    fn call_any_relay<T>(&mut self, ix: u32, call: impl FnOnce(&mut AnyRelay, &mut RelayCx<'_>) -> T) -> T {
        let mut cx = RelayCx {
            now: self.now,
            fabric: &mut self.fabric,
            flows: &self.flows,
            packets: &mut self.packets,
            measures: &mut self.measures,
            outbox: &mut self.outbox,
            wake_at: None,
        };
        let answer = call(&mut self.relays[ix as usize], &mut cx);
        if let Some(at) = cx.wake_at {
            self.events.relays.set(ix, at.max(self.now));
            self.set_due();
        }
        answer
    }

    pub(super) fn wake_relay(&mut self, ix: u32) {
        self.events.relays.set(ix, Time::NEVER);
        self.call_relay(ix, |relay, cx| relay.wake(cx));
        self.settle();
    }

    /// Passes a packet at a node to its only relay; returns true if the packet continues.
    #[inline(always)]
    pub(super) fn pass_relay(&mut self, relay: u32, at: Crossing, packet: &mut Packet) -> bool {
        if let AnyRelay::RateControlled(control) = &mut self.relays[relay as usize]
            && !self.packets.has_content(packet.body)
            && control.counts(self.now, at, packet, &mut self.outbox)
        {
            return true;
        }
        self.pass_relays(&[relay], at, packet)
    }

    /// Passes a packet at a node to its relays, for the hop `at.to` or for its receiver; returns
    /// true if it continues.
    #[inline(never)]
    pub(super) fn pass_relays(&mut self, relays: &[u32], at: Crossing, packet: &mut Packet) -> bool {
        let mut payload = self.packets.payload(packet.body);
        for (place, relay) in relays.iter().enumerate() {
            match self.call_relay(*relay, |relay, cx| relay.enter(cx, at, packet, &mut payload)) {
                Passage::Forward => {}
                Passage::Absorb => {
                    self.tell_dropped(&relays[..place], at.flow, at.to, packet);
                    self.absorbed(at, packet);
                    return false;
                }
                Passage::Drop => {
                    self.tell_dropped(&relays[..place], at.flow, at.to, packet);
                    self.dropped_on_entry(at, packet);
                    return false;
                }
            }
        }
        self.packets.set_payload(packet.body, &payload);
        true
    }

    /// Records that a relay has taken a packet for itself.
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

    /// Counts a packet at a node for the credit of the link over which it has come, before all
    /// relays; returns true if there is a place for it.
    #[inline(always)]
    pub(super) fn enter_credit(&mut self, at: Crossing, packet: &Packet) -> bool {
        match self.call_credit(|credit, cx| credit.enter(cx, at, packet)) {
            None | Some(Passage::Forward) => true,
            Some(Passage::Drop) => {
                self.dropped_on_entry(at, packet);
                false
            }
            Some(Passage::Absorb) => {
                self.absorbed(at, packet);
                false
            }
        }
    }

    /// Notifies relays, and credit, that a packet which they let pass to the port of `hop` goes no
    /// further.
    #[cold]
    pub(super) fn tell_dropped(&mut self, relays: &[u32], flow: u32, hop: Option<u32>, packet: &Packet) {
        let Some(hop) = hop else { return };
        if self.fabric.hops[hop as usize].credit {
            self.call_credit(|credit, cx| credit.dropped(cx, hop, packet));
        }
        for relay in relays {
            self.call_relay(*relay, |relay, cx| relay.dropped(cx, flow, hop, packet));
        }
    }

    /// Notifies relays that a packet has left the port of `hop`.
    pub(super) fn leave_relays(&mut self, hop: u32, packet: &mut Packet) {
        let Hop { credit, relays, .. } = self.fabric.hops[hop as usize];
        if credit {
            self.call_credit(|credit, cx| credit.leave(cx, hop, packet));
        }
        if self.fabric.relay_sets[usize::from(relays)].is_empty() {
            return;
        }
        self.show_relays(hop, packet.body, |relay, cx, flow, payload| {
            relay.leave(cx, flow, hop, packet, payload);
        });
    }

    /// Notifies relays that the shaper in front of the port of a packet's hop has released the
    /// packet.
    pub(super) fn let_go_relays(&mut self, packet: &Packet) {
        let PacketBody { hop, flow, .. } = *self.packets.body(packet.body);
        let set = usize::from(self.fabric.hops[hop as usize].relays);
        if let [relay] = *self.fabric.relay_sets[set]
            && let AnyRelay::RateControlled(control) = &mut self.relays[relay as usize]
            && !self.packets.has_content(packet.body)
        {
            return control.lets_go(self.now, flow, packet.len);
        }
        self.show_relays(hop, packet.body, |relay, cx, flow, payload| {
            relay.let_go(cx, flow, hop, packet, payload);
        });
    }

    /// Calls the relays of a hop with the flow and the payload of a packet, which they may change.
    /// On its way out their order is reversed.
    fn show_relays(
        &mut self,
        hop: u32,
        body: BodyId,
        mut call: impl FnMut(&mut dyn Relay, &mut RelayCx<'_>, u32, &mut Payload),
    ) {
        let set = usize::from(self.fabric.hops[hop as usize].relays);
        let flow = self.packets.body(body).flow;
        let mut payload = self.packets.payload(body);
        for place in (0..self.fabric.relay_sets[set].len()).rev() {
            let relay = self.fabric.relay_sets[set][place];
            self.call_relay(relay, |relay, cx| call(relay, cx, flow, &mut payload));
        }
        self.packets.set_payload(body, &payload);
    }
}

/// Every relay: the built-in ones, whose results are read, and `Custom` for the others.
pub(in crate::world) enum AnyRelay {
    FlowNetwork(Box<FlowNetwork>),
    GateEdge(Box<GateEdge>),
    Envelope(Envelope),
    Credit(Box<Credit>),
    AbrEnds(Box<AbrEnds>),
    RateControlled(Box<RateControlled>),
    Custom(Box<dyn Relay>),
}

impl AnyRelay {
    pub(in crate::world) fn relay(&mut self) -> &mut dyn Relay {
        match self {
            AnyRelay::FlowNetwork(relay) => relay.as_mut(),
            AnyRelay::GateEdge(relay) => relay.as_mut(),
            AnyRelay::Envelope(relay) => relay,
            AnyRelay::Credit(relay) => relay.as_mut(),
            AnyRelay::AbrEnds(relay) => relay.as_mut(),
            AnyRelay::RateControlled(relay) => relay.as_mut(),
            AnyRelay::Custom(relay) => relay.as_mut(),
        }
    }
}

impl<Q> World<Q> {
    pub(super) fn gate_edge(&self) -> Option<&GateEdge> {
        self.relays.iter().find_map(|relay| match relay {
            AnyRelay::GateEdge(edge) => Some(edge.as_ref()),
            _ => None,
        })
    }

    pub(super) fn credit(&self) -> Option<&Credit> {
        self.relays.iter().find_map(|relay| match relay {
            AnyRelay::Credit(credit) => Some(credit.as_ref()),
            _ => None,
        })
    }

    pub(super) fn flow_network(&self) -> Option<&FlowNetwork> {
        self.relays.iter().find_map(|relay| match relay {
            AnyRelay::FlowNetwork(network) => Some(network.as_ref()),
            _ => None,
        })
    }
}
