//! Forks in the routes of multicast flows: a packet enters several ports at once.

use super::setup::{Placed, StageSetup};
use crate::stage::{Crossing, Interest, Passage, Site, Stage, StageCx};
use std::collections::BTreeSet;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;

/// The forks of all flows.
pub(in crate::world) struct Fork {
    /// Multicast flows.
    flows: BTreeSet<u32>,
    /// Hops at which packets fork: the first of those that leave the node.
    hops: BTreeSet<u32>,
}

impl Fork {
    /// Creates the stage, if any flow has several destinations.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let flows = (0..).zip(&setup.network.flows).filter(|(_, flow)| !flow.depths.is_empty());
        let flows: BTreeSet<u32> = flows.map(|(ix, _)| ix).collect();
        if flows.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Placed::anywhere(Fork { flows, hops: setup.fabric.forks.keys().copied().collect() })])
    }
}

impl Stage for Fork {
    /// A link over which copies leave goes step by step: each gets a body of its own as it leaves.
    fn interest(&self, site: &Site) -> Interest {
        match site.to {
            Some(hop) if self.hops.contains(&hop) => Interest::ENTER | Interest::LEAVE,
            Some(_) if self.flows.contains(&site.flow) => Interest::LEAVE,
            _ => Interest::NONE,
        }
    }

    fn enter(&mut self, _: &mut StageCx, _: &Crossing, _: &mut Packet, _: &mut Payload) -> Passage {
        Passage::Fork
    }
}
