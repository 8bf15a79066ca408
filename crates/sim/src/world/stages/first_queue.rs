//! Sources that follow their packets in the first queue on their way: greedy ones, which wait for
//! room there.

use super::setup::{Placed, StageSetup};
use crate::stage::{Interest, Site, Stage, StageCx};
use std::collections::BTreeSet;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::{Notice, Payload};
use tidegate_core::packet::Packet;

/// Notices to the sources that follow their packets in their first queues.
pub(in crate::world) struct FirstQueue {
    /// The first hops of their flows.
    hops: BTreeSet<u32>,
}

impl FirstQueue {
    /// Creates the stage, if there is such a source.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let follow = setup.flows.iter().filter(|flow| flow.source.watches_first_queue());
        let hops: BTreeSet<u32> = follow.map(|flow| flow.first_hop).collect();
        if hops.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Placed::anywhere(FirstQueue { hops })])
    }
}

impl Stage for FirstQueue {
    fn interest(&self, site: &Site) -> Interest {
        match site.to {
            Some(hop) if self.hops.contains(&hop) => Interest::LEAVE | Interest::DROPPED,
            _ => Interest::NONE,
        }
    }

    fn leave(&mut self, cx: &mut StageCx, flow: u32, _: u32, _: &mut Packet, _: &mut Payload) {
        cx.notify(flow, Notice::Left);
    }

    fn dropped(&mut self, cx: &mut StageCx, flow: u32, _: u32, packet: &Packet) {
        cx.notify(flow, Notice::Dropped(packet.len));
    }
}
