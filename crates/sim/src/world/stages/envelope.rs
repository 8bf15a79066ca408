//! The user-behaviour envelope in front of a flow's first port (Zhang 1991, section 3.3).
//!
//! The port's shaper delays the packets; this stage keeps the counts: a packet leaves its source
//! when the envelope releases it.

use super::setup::{Placed, StageSetup};
use crate::stage::{Interest, Site, Stage, StageCx};
use std::collections::BTreeSet;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;

/// The counts of every envelope.
pub(in crate::world) struct Envelope {
    /// The first hops of the flows that have one.
    hops: BTreeSet<u32>,
}

impl Envelope {
    /// Creates the stage, if any flow has an envelope in front of a port that is not a gate's.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let flows = setup.network.flows.iter().zip(setup.first_hops);
        let enveloped = flows.filter(|(flow, _)| setup.network.is_enveloped(flow));
        let hops: BTreeSet<u32> = enveloped.map(|(_, hop)| *hop).collect();
        if hops.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Placed::anywhere(Envelope { hops })])
    }
}

impl Stage for Envelope {
    fn interest(&self, site: &Site) -> Interest {
        match site.to {
            Some(hop) if self.hops.contains(&hop) => Interest::LEAVE,
            _ => Interest::NONE,
        }
    }

    fn leave(&mut self, cx: &mut StageCx, flow: u32, _: u32, packet: &mut Packet, _: &mut Payload) {
        let body = cx.packets.body_mut(packet.body);
        let waited = packet.arrived.since(body.born);
        body.born = packet.arrived;
        cx.measures.left_envelope(flow, packet.arrived, waited);
    }
}
