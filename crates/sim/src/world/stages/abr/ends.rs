//! Hosts whose cells go over ABR VCs: the source and the destination of each VC, for the cells of
//! any connection.
//!
//! There is one stage for a node. The cells of a VC wait in a queue of the VC before the host's
//! first port, which is served at ACR; the destination turns RM cells round. The rules are core's.

use super::super::setup::{Placed, StageSetup};
use super::pace::{pace, set_pace};
use super::turned::{InOrder, Turned};
use crate::probe::Subject;
use crate::stage::{Crossing, Gauges, Interest, Passage, Site, Stage, StageCx};
use crate::stage_plans::abr::backward;
use std::collections::BTreeMap;
use tidegate_core::abr::cell::{Direction, RmCell};
use tidegate_core::abr::{Destination, SourceTerms, VirtualSource};
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{Mark, Packet};

/// The ends of ABR VCs at a node.
#[derive(Default)]
pub(in crate::world) struct AbrEnds {
    /// Sources and destinations, by the flow of the data.
    sources: BTreeMap<u32, Sender>,
    destinations: BTreeMap<u32, Receiver>,
    /// The flow of the data, by that of its answers.
    answers: BTreeMap<u32, u32>,
}

struct Sender {
    source: VirtualSource,
    /// True once the queue is served at ACR: from the first cell on, as the flow may be opened
    /// late.
    paced: bool,
    /// The flow's first hop, and its link.
    hop: u32,
    link: u32,
    /// RM cells of the other direction, of a VC with both.
    turned: InOrder,
}

struct Receiver {
    destination: Destination,
    /// The flow of the answers, and its first hop.
    back: (u32, u32),
    /// The flow of the data in the other direction, of a VC with both.
    backward: Option<u32>,
}

impl AbrEnds {
    /// Creates the stages of a network: one for each node where such a VC begins or ends.
    ///
    /// # Errors
    /// When a VC has no flow for its answers.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let StageSetup { network, first_hops, .. } = *setup;
        let mut nodes: BTreeMap<usize, AbrEnds> = BTreeMap::new();
        for (flow, plan) in network.flows.iter().enumerate() {
            let Some(terms) = plan.stage_terms.get::<SourceTerms>() else { continue };
            let Some(peer) = plan.peer else {
                return Err(Refused(format!("`{}` has a VC, and no flow for its answers", plan.name)));
            };
            let backward = backward(flow, network).map(|flow| flow as u32);
            let (first, last) = (plan.route[0], plan.route[plan.route.len() - 1]);
            let hop = first_hops[flow];
            let (flow, peer, link) = (flow as u32, peer as u32, first as u32);
            let begins = nodes.entry(network.links[first].from).or_default();
            let (source, turned) = (VirtualSource::new(*terms), InOrder::default());
            begins.sources.insert(flow, Sender { source, paced: false, hop, link, turned });
            begins.answers.insert(peer, flow);
            let back = (peer, first_hops[peer as usize]);
            let ends = nodes.entry(network.links[last].to).or_default();
            ends.destinations.insert(flow, Receiver { destination: Destination::default(), back, backward });
        }
        Ok(nodes.into_iter().map(|(node, ends)| Placed::at(node, ends)).collect())
    }

    /// Handles an RM cell that has come back to its source.
    fn answered(&mut self, cx: &mut StageCx, flow: u32, brm: &RmCell) {
        let Some(Sender { source, hop, .. }) = self.sources.get_mut(&flow) else { return };
        let before = source.acr();
        source.answered(brm);
        pace(cx, *hop, before, source.acr());
    }
}

impl Stage for AbrEnds {
    fn interest(&self, site: &Site) -> Interest {
        let Site { flow, to, .. } = site;
        match to {
            Some(_) if self.sources.contains_key(flow) => Interest::ENTER | Interest::RELEASED,
            None if self.destinations.contains_key(flow) || self.answers.contains_key(flow) => {
                Interest::ENTER
            }
            _ => Interest::NONE,
        }
    }

    fn enter(
        &mut self,
        cx: &mut StageCx,
        crossing: &Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        match (&*payload, *crossing) {
            (Payload::Rm(brm @ RmCell { direction: Direction::Backward, .. }), Crossing { to: None, .. }) => {
                let Some(flow) = self.answers.get(&crossing.flow) else { return Passage::Forward };
                self.answered(cx, *flow, brm);
                Passage::Absorb
            }
            (Payload::Rm(frm), Crossing { to: None, .. }) => {
                let Some(receiver) = self.destinations.get_mut(&crossing.flow) else {
                    return Passage::Forward;
                };
                let cell = receiver.destination.turn_round(frm);
                let turned = Turned { cell, len: packet.len, back: receiver.back };
                match receiver.backward.and_then(|flow| self.sources.get_mut(&flow)) {
                    Some(sender) => sender.turned.take(cx, sender.hop, turned),
                    None => turned.send(cx),
                }
                Passage::Absorb
            }
            (_, Crossing { to: None, .. }) => {
                if let Some(receiver) = self.destinations.get_mut(&crossing.flow) {
                    // EFCI is for the VC's destination: the connection that it carries does not see
                    // it.
                    receiver.destination.data(packet.mark);
                    packet.mark = packet.mark.congestion_cleared();
                }
                Passage::Forward
            }
            // It was made here.
            (Payload::Rm(_), _) => Passage::Forward,
            (_, Crossing { from: None, .. }) => {
                let Some(sender) = self.sources.get_mut(&crossing.flow) else { return Passage::Forward };
                if !sender.paced {
                    set_pace(cx, sender.hop, sender.source.acr());
                    sender.paced = true;
                }
                if sender.source.data_entered() {
                    // Its fields are written when it leaves the queue.
                    let (len, frm) = (sender.source.terms().rm_cell, Payload::Rm(RmCell::default()));
                    cx.send(crossing.flow, sender.hop, len, Mark::NONE, frm);
                }
                Passage::Forward
            }
            _ => Passage::Forward,
        }
    }

    fn released(&mut self, cx: &mut StageCx, flow: u32, hop: u32, _: &Packet, payload: &mut Payload) {
        let Some(sender) = self.sources.get_mut(&flow).filter(|sender| sender.hop == hop) else { return };
        let is_frm = matches!(payload, Payload::Rm(_));
        if let Payload::Rm(frm) = payload {
            let before = sender.source.acr();
            *frm = sender.source.send_frm(cx.now());
            pace(cx, hop, before, sender.source.acr());
        }
        sender.turned.released(cx, hop, is_frm);
    }

    /// Shows the gauges of each source.
    fn gauges(&self, gauges: &mut Gauges<'_>) {
        for (flow, Sender { source, hop, link, .. }) in &self.sources {
            let subject = Subject::Vc { link: *link, flow: *flow };
            gauges.show_for(subject, "acr", source.acr());
            gauges.show_for(subject, "vc_queue", gauges.shaped_at(*hop).packets as f64);
        }
    }
}
