//! The exact W of flows along their routes: feeds the ideal servers.

use super::setup::{Placed, StageSetup};
use crate::network::FlowSetup;
use crate::stage::{Crossing, Interest, Passage, Site, Stage, StageCx};
use crate::workahead::{ObservedFlow, Workaheads};
use crate::world::World;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;
use tidegate_core::units::Time;

/// Creates the stage, if W is asked for.
///
/// # Errors
/// When an ideal server would have no rate.
pub(super) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
    let StageSetup { network, probes, .. } = setup;
    if probes.workahead.is_empty() {
        return Ok(Vec::new());
    }
    let warm_at = Time::ORIGIN + network.warmup;
    let made = Workaheads::new(network.flows.iter().map(observed), &probes.workahead, warm_at)?;
    Ok(vec![Placed::anywhere(made)])
}

/// Returns a flow whose workahead is measured, at the greatest rate that it ever reserves.
fn observed(flow: &FlowSetup) -> ObservedFlow<'_> {
    ObservedFlow {
        name: &flow.name,
        reserve: flow.terms().map(|terms| terms.reserve),
        enveloped: flow.envelope.is_some(),
        links: flow.route.len(),
        depths: &flow.depths,
    }
}

impl Stage for Workaheads {
    fn interest(&self, site: &Site) -> Interest {
        let enter = Interest::FIRST | Interest::ENTER;
        match (self.observes(site.flow), site.from) {
            (false, _) => Interest::NONE,
            (true, Some(_)) => enter,
            (true, None) => enter | Interest::RELEASED,
        }
    }

    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, packet: &mut Packet, _: &mut Payload) -> Passage {
        let first = cx.hops_of(at.flow).start;
        match at.from {
            Some(from) => {
                let born = cx.packets.body(packet.body).born;
                self.came_over(at.flow, (from - first) as usize, born, cx.now, packet.len);
            }
            None if at.to == Some(first) => self.sent(at.flow, cx.now, packet.len),
            // A stage on the way made it.
            None => {}
        }
        Passage::Forward
    }

    fn released(&mut self, cx: &mut StageCx, flow: u32, _: u32, packet: &Packet, _: &mut Payload) {
        self.released(flow, cx.now, packet.len);
    }
}

impl<Q> World<Q> {
    /// Returns the exact W of flows along their routes, if it is measured.
    pub fn workaheads(&self) -> Option<&Workaheads> {
        self.stage()
    }
}
