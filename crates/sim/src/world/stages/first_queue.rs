//! Sources that follow their packets in the first queue on their way: greedy ones, which wait for
//! room there, and hosts that prepare a packet when the previous one has left.

use super::setup::{Placed, StageSetup};
use crate::stage::{Interest, Site, Stage, StageCx};
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::{Notice, Payload};
use tidegate_core::packet::Packet;

/// Notices to the sources that follow their packets in their first queues.
pub(in crate::world) struct FirstQueue {
    /// The first hops of their flows; true if packets are sent as ATM cells.
    hops: BTreeMap<u32, bool>,
}

impl FirstQueue {
    /// Creates the stage, if there is such a source.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let flows = setup.flows.iter().zip(&setup.network.flows);
        let follow = flows.filter(|(flow, _)| flow.source.watches_first_queue());
        let hops: BTreeMap<u32, bool> =
            follow.flat_map(|(flow, plan)| flow.first_hops().map(|hop| (hop, plan.aal5))).collect();
        if hops.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Placed::anywhere(FirstQueue { hops })])
    }

    /// Returns true if a packet is the last cell of a packet of its source, or that packet itself:
    /// stages send cells of their own among those of a VC.
    fn is_last(&self, cx: &StageCx, hop: u32, packet: &Packet) -> bool {
        match cx.packets.cell(packet.body) {
            Some(cell) => cell.trailer.is_some(),
            None => self.hops.get(&hop) == Some(&false),
        }
    }
}

impl Stage for FirstQueue {
    fn interest(&self, site: &Site) -> Interest {
        match site.to {
            Some(hop) if self.hops.contains_key(&hop) => Interest::LEAVE | Interest::DROPPED,
            _ => Interest::NONE,
        }
    }

    fn leave(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &mut Packet, _: &mut Payload) {
        if self.is_last(cx, hop, packet) {
            cx.notify(flow, Notice::Left);
        }
    }

    fn dropped(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &mut Packet) {
        if self.is_last(cx, hop, packet) {
            cx.notify(flow, Notice::Dropped(packet.len));
        }
    }
}
