//! Opening of VCs along the routes of flows.

use super::Credit;
use super::hops::{HopVcs, LinkVc};
use crate::network::{FlowSetup, Network};
use tidegate_core::contract::Refused;

impl Credit {
    /// Adds the next flow of the network, hop by hop.
    pub(super) fn add_flow(&mut self, network: &Network, flow: u32, plan: &FlowSetup) -> Result<(), Refused> {
        let first = self.hops.len() as u32;
        let before: Vec<Option<usize>> = (0..plan.route.len()).map(|place| plan.before(place)).collect();
        for (place, link) in plan.route.iter().enumerate() {
            // Copies leave by the other hops of the fork at which this one leaves its node.
            let siblings = before.iter().filter(|other| **other == before[place]).count();
            let forks = !plan.depths.is_empty() && siblings > 1;
            let from = before[place].map(|before| first + before as u32);
            self.add_hop(flow, network.switch_of(*link) as u32, *link, from, forks)?;
        }
        Ok(())
    }

    /// Adds the next hop of the network: of a flow from a node over a link, to which packets come
    /// by the hop `from`.
    ///
    /// # Errors
    /// When a link has more VCs than can be told apart.
    fn add_hop(
        &mut self,
        flow: u32,
        node: u32,
        link: usize,
        from: Option<u32>,
        forks: bool,
    ) -> Result<(), Refused> {
        let hop = self.hops.len() as u32;
        let into = from.and_then(|from| self.hops[from as usize].ends);
        let out = match self.forward[link] {
            Some(place) => {
                let opened = self.links[place as usize].open(flow, hop);
                Some(LinkVc { link: place, vc: opened.map_err(|why| Refused(why.to_string()))? })
            }
            None => None,
        };
        let ahead = self.ahead.remove(&hop);
        let ends = match out {
            Some(place) if self.links[place.link as usize].is_virtual() => {
                let further = self.links[place.link as usize].back.len() as u32 - 1;
                self.ahead.extend((1..=further).map(|nth| (hop + nth, (place, nth == further))));
                None
            }
            Some(place) => Some(place),
            None => ahead.and_then(|(place, is_last)| is_last.then_some(place)),
        };
        if let Some(into) = into {
            self.outputs.leaves_by(&mut self.links[into.link as usize], into.vc, link as u32);
        }
        let uncontrolled = match into {
            Some(_) => None,
            None => self.uncredited.vc_of(flow, node).map_err(|why| Refused(why.to_string()))?,
        };
        let within = ahead.map(|(place, _)| place);
        self.hops.push(HopVcs { out, ends, into, within, uncontrolled, forks });
        Ok(())
    }
}
