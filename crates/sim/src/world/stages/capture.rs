//! Captures: keeps the packets that leave captured links until they are taken.

use super::setup::{Placed, StageSetup};
use crate::capture::CapturedPacket;
use crate::stage::{Interest, Site, Stage, StageCx};
use crate::world::World;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;

/// The packets that have left captured links, in order.
pub(in crate::world) struct Capture {
    links: Vec<u32>,
    packets: Vec<CapturedPacket>,
}

impl Capture {
    /// Creates the stage, if any link is captured. On the way out it comes behind all stages that
    /// may write on a packet, and so is the first one of the network.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let links = setup.probes.captured.clone();
        if links.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Placed::anywhere(Capture { links, packets: Vec::new() })])
    }
}

impl Stage for Capture {
    fn interest(&self, site: &Site) -> Interest {
        match site.link {
            Some(link) if self.links.contains(&link) => Interest::LEAVE,
            _ => Interest::NONE,
        }
    }

    fn leave(&mut self, cx: &mut StageCx, flow: u32, hop: u32, packet: &mut Packet, payload: &mut Payload) {
        self.packets.push(CapturedPacket {
            at: cx.now,
            link: cx.link_of(hop),
            flow,
            sequence: cx.id_of(packet).sequence,
            len: packet.len,
            mark: packet.mark,
            place: cx.flows[flow as usize].links_before(hop),
            payload: *payload,
        });
    }
}

impl<Q> World<Q> {
    /// Returns the packets that have left captured links since the previous call, in order.
    pub fn take_captured(&mut self) -> Vec<CapturedPacket> {
        self.stage_mut::<Capture>().map(|capture| core::mem::take(&mut capture.packets)).unwrap_or_default()
    }
}
