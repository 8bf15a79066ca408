//! Hosts whose cells go over ABR VCs: the source and the destination of each VC, for the cells of
//! any connection.
//!
//! There is one relay for a node. The cells of a VC wait in a queue of the VC before the host's
//! first port, which is served at ACR; the destination turns RM cells round. The rules are core's.

use super::rate_control::{pace, set_pace};
use crate::fabric::Fabric;
use crate::network::Network;
use crate::probe::Subject;
use crate::relay::{Crossing, Passage, Relay, RelayCx};
use std::collections::BTreeMap;
use tidegate_core::abr::cell::{Direction, RmCell};
use tidegate_core::abr::{Destination, VirtualSource};
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{Mark, Packet};

/// The ends of ABR VCs at a node.
pub(in crate::world) struct AbrEnds {
    node: usize,
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
}

struct Receiver {
    destination: Destination,
    /// The flow of the answers, and its first hop.
    back: (u32, u32),
}

impl AbrEnds {
    /// Creates the relays of a network: one for each node where such a VC begins or ends.
    ///
    /// # Errors
    /// When a VC has no flow for its answers.
    pub(in crate::world) fn all(network: &Network, first_hops: &[u32]) -> Result<Vec<AbrEnds>, Refused> {
        let mut nodes: BTreeMap<usize, AbrEnds> = BTreeMap::new();
        for (flow, setup) in network.flows.iter().enumerate() {
            let Some(terms) = setup.vc else { continue };
            let Some(peer) = setup.peer else {
                return Err(Refused(format!("`{}` has a VC, and no flow for its answers", setup.name)));
            };
            let (first, last) = (setup.route[0], setup.route[setup.route.len() - 1]);
            let hop = first_hops[flow];
            let (flow, peer, link) = (flow as u32, peer as u32, first as u32);
            let begins = at(&mut nodes, network.links[first].from);
            begins
                .sources
                .insert(flow, Sender { source: VirtualSource::new(terms), paced: false, hop, link });
            begins.answers.insert(peer, flow);
            let back = (peer, first_hops[peer as usize]);
            let ends = at(&mut nodes, network.links[last].to);
            ends.destinations.insert(flow, Receiver { destination: Destination::default(), back });
        }
        Ok(nodes.into_values().collect())
    }

    pub(in crate::world) fn node(&self) -> usize {
        self.node
    }

    /// Shows the gauges of each source.
    pub(in crate::world) fn gauges(&self, fabric: &Fabric, show: &mut dyn FnMut(Subject, &'static str, f64)) {
        for (flow, Sender { source, hop, link, .. }) in &self.sources {
            let subject = Subject::Vc { link: *link, flow: *flow };
            show(subject, "acr", source.acr());
            show(subject, "vc_queue", fabric.shaped_at(*hop).packets as f64);
        }
    }

    /// Handles an RM cell that has come back to its source.
    fn answered(&mut self, cx: &mut RelayCx<'_>, flow: u32, brm: &RmCell) {
        let Some(Sender { source, hop, .. }) = self.sources.get_mut(&flow) else { return };
        let before = source.acr();
        source.answered(brm);
        pace(cx, *hop, before, source.acr());
    }
}

/// Returns the ends at a node.
fn at(nodes: &mut BTreeMap<usize, AbrEnds>, node: usize) -> &mut AbrEnds {
    let none = || AbrEnds {
        node,
        sources: BTreeMap::new(),
        destinations: BTreeMap::new(),
        answers: BTreeMap::new(),
    };
    nodes.entry(node).or_insert_with(none)
}

impl Relay for AbrEnds {
    /// Begins the run.
    fn wake(&mut self, cx: &mut RelayCx<'_>) {
        cx.watch_shapers(self.node as u32);
    }

    fn enter(
        &mut self,
        cx: &mut RelayCx<'_>,
        crossing: Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        match (&*payload, crossing) {
            (Payload::Rm(brm @ RmCell { direction: Direction::Backward, .. }), Crossing { to: None, .. }) => {
                let Some(flow) = self.answers.get(&crossing.flow) else { return Passage::Forward };
                self.answered(cx, *flow, brm);
                Passage::Absorb
            }
            (Payload::Rm(frm), Crossing { to: None, .. }) => {
                let Some(receiver) = self.destinations.get_mut(&crossing.flow) else {
                    return Passage::Forward;
                };
                let (peer, hop) = receiver.back;
                let brm = receiver.destination.turn_round(frm);
                cx.send(peer, hop, packet.len, Mark::NONE, Payload::Rm(brm));
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

    fn let_go(&mut self, cx: &mut RelayCx<'_>, flow: u32, hop: u32, _: &Packet, payload: &mut Payload) {
        let (Some(sender), Payload::Rm(frm)) = (self.sources.get_mut(&flow), payload) else { return };
        if sender.hop == hop {
            let before = sender.source.acr();
            *frm = sender.source.send_frm(cx.now());
            pace(cx, hop, before, sender.source.acr());
        }
    }

    fn sees_leaving(&self, _: u32, _: u32) -> bool {
        false
    }
}
