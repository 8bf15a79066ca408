//! Link-layer overhead: ports in front of links that add to packets count the bytes that the link
//! takes for them.

use super::own_lengths::OwnLengths;
use super::setup::{Placed, StageSetup};
use crate::stage::{Crossing, Interest, Passage, Site, Stage, StageCx};
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::link::Framing;
use tidegate_core::packet::Packet;

/// The overhead of all links.
pub(in crate::world) struct Overhead {
    /// The framing of each link.
    framings: Vec<Framing>,
    own: OwnLengths,
}

impl Overhead {
    /// Creates the stage, if any link has overhead.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let framings: Vec<Framing> = setup.network.links.iter().map(|link| link.framing).collect();
        if !framings.iter().any(|framing| framing.happens()) {
            return Ok(Vec::new());
        }
        Ok(vec![Placed::anywhere(Overhead { framings, own: OwnLengths::default() })])
    }
}

impl Stage for Overhead {
    fn interest(&self, site: &Site) -> Interest {
        match site.link {
            Some(link) if self.framings[link as usize].happens() => {
                Interest::ENTER | Interest::LEAVE | Interest::DROPPED
            }
            _ => Interest::NONE,
        }
    }

    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet, _: &mut Payload) -> Passage {
        if let Some(hop) = at.to {
            let framing = self.framings[cx.link_of(hop) as usize];
            self.own.charge(packet, framing.charge(packet.len));
        }
        Passage::Forward
    }

    fn leave(&mut self, _: &mut StageCx, _: u32, _: u32, packet: &mut Packet, _: &mut Payload) {
        self.own.restore(packet);
    }

    fn dropped(&mut self, _: &mut StageCx, _: u32, _: u32, packet: &mut Packet) {
        self.own.restore(packet);
    }
}
