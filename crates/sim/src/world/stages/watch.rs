//! The watch: feeds the record of the watched packets.

use super::setup::{Placed, StageSetup};
use crate::fabric::Hop;
use crate::network::Network;
use crate::packet_log::PacketId;
use crate::stage::{Crossing, Fate, Interest, LinkEvent, Passage, Site, Stage, StageCx};
use crate::watch::{Cause, Route, RouteLink, Started, State, Watch};
use crate::world::World;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::link::Lane;
use tidegate_core::packet::Packet;
use tidegate_core::switch::Block;

/// Creates the stage, if packets are watched.
pub(super) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
    let watch = setup.probes.watch.clone().map(|watch| watching(watch, setup.network));
    Ok(watch.map(Placed::anywhere).into_iter().collect())
}

/// Completes a watch with the properties of its flow.
fn watching(watch: Watch, network: &Network) -> Watch {
    let Some(flow) = network.flows.get(watch.flow()) else { return watch };
    let (destinations, first_hop) = (flow.destinations_behind(), network.first_hops()[watch.flow()]);
    let route_link = |(hop, place): (usize, usize)| RouteLink {
        link: flow.route[place] as u32,
        before: flow.before(hop),
        destinations: destinations.get(hop).copied().unwrap_or(1),
    };
    let links = flow.hops().enumerate().map(route_link).collect();
    let route = Route::new(links, first_hop, flow.paths.is_some());
    watch.of(route, flow.terms(), network.is_enveloped(flow))
}

/// Notes the present state of a link, and the cause that blocks the watched flow there, if packets
/// of it wait.
fn note_state(watch: &mut Watch, cx: &mut StageCx, ix: u32) {
    if !watch.waits_at(ix) {
        return;
    }
    let Some(hop) = watch.hop_over(ix) else { return };
    let closed = cx.fabric.closing.get(&hop).map(|(leg, _)| *leg);
    let leg = closed.unwrap_or(cx.fabric.hops[hop as usize].leg);
    let link = &mut cx.fabric.links[ix as usize];
    let switch = &cx.fabric.nodes[link.node as usize].switch;
    let does = match switch.in_service(link.port) {
        Some(packet) => Cause::Packet(cx.packets.body(packet.body).flow),
        None if link.line.lane().is_some_and(Lane::is_sending) => Cause::OwnCell,
        None if !link.line.is_steady() && link.line.opens(cx.now) > cx.now => Cause::NoOpportunity,
        None if switch.at_ceiling_until(cx.now, link.port).is_some() => Cause::Block(Block::PortCeiling),
        None => Cause::Unknown,
    };
    watch.is(ix, cx.now, State { block: switch.blocked(cx.now, leg), link: does });
}

impl Stage for Watch {
    /// Wants the packets of its flow, and the starts of all packets on the flow's links.
    fn interest(&self, site: &Site) -> Interest {
        let observed = Interest::START | Interest::OBSERVE;
        match (site.to, site.flow as usize == self.flow()) {
            (Some(_), true) => observed | Interest::ENTER | Interest::LEAVE,
            (Some(_), false) if site.link.is_some_and(|link| self.hop_over(link).is_some()) => observed,
            _ => Interest::NONE,
        }
    }

    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet, _: &mut Payload) -> Passage {
        let PacketId { flow, sequence } = cx.id_of(packet);
        for hop in at.to.map(|hop| cx.fabric.copies_at(hop)).unwrap_or_default() {
            let Hop { link, node, leg, .. } = cx.fabric.hops[hop as usize];
            let queue = cx.fabric.nodes[node as usize].switch.backlog(leg.port).packets;
            self.arrived(link, flow, sequence, packet.len, cx.now, queue);
        }
        Passage::Forward
    }

    fn start(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &Packet) {
        let PacketId { sequence, .. } = cx.id_of(packet);
        let &Packet { len, tag: stamp, arrived, .. } = packet;
        self.started(cx.link_of(hop), Started { flow, sequence, len, stamp, arrived, at: cx.now });
    }

    fn leave(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &mut Packet, _: &mut Payload) {
        self.departed(cx.link_of(hop), flow, cx.id_of(packet).sequence, cx.now);
    }

    fn ended(&mut self, cx: &mut StageCx, link: u32, packet: &Packet, fate: Fate, destinations: u32) {
        let PacketId { flow, sequence } = cx.id_of(packet);
        match fate {
            Fate::Received(first_sent) => {
                let is_measured = cx.packets.body(packet.body).born >= cx.measures.warm_at;
                self.delivered(link, flow, sequence, cx.now, cx.now.since(first_sent), is_measured);
            }
            Fate::Dropped(_) | Fate::Lost | Fate::Absorbed => self.gone(link, flow, sequence, destinations),
        }
    }

    fn observe(&mut self, cx: &mut StageCx, link: u32, event: LinkEvent) {
        if event == LinkEvent::Changed {
            note_state(self, cx, link);
        }
    }
}

impl<Q> World<Q> {
    /// Returns the record of the watched packets, if any are watched.
    pub fn watch(&self) -> Option<&Watch> {
        self.stage()
    }
}
