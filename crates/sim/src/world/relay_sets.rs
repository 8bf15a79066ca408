//! Relays of a network, and the sets of relays that packets pass.

use super::relays::{AbrEnds, AnyRelay, Credit, Envelope, FlowNetwork, GateEdge, RateControlled};
use crate::fabric::Fabric;
use crate::network::{FlowSetup, Network};
use std::collections::BTreeMap;
use tidegate_core::contract::Refused;
use tidegate_core::packet::PortIx;
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;

/// The relays of a network, and the sets of relays that packets pass at hops.
pub(super) struct Relays {
    pub(super) all: Vec<AnyRelay>,
    pub(super) sets: Vec<Box<[u32]>>,
    index: BTreeMap<Box<[u32]>, u16>,
    pub(super) gate_edge: Option<usize>,
    pub(super) envelope: Option<usize>,
    pub(super) credit: Option<usize>,
}

impl Relays {
    pub(super) fn new(
        network: &Network,
        seed: u64,
        ports: &[PortIx],
        fabric: &mut Fabric,
    ) -> Result<Relays, Refused> {
        let mut all = Vec::new();
        let mut add = |relay: AnyRelay| {
            all.push(relay);
            all.len() - 1
        };
        if let Some(relay) = FlowNetwork::new(network) {
            add(AnyRelay::FlowNetwork(Box::new(relay)));
        }
        let gate_edge = match &network.gate {
            Some(plan) => {
                let edge = GateEdge::new(plan, ports, &mut fabric.nodes)?;
                Some(add(AnyRelay::GateEdge(Box::new(edge))))
            }
            None => None,
        };
        let credit = Credit::new(network, seed)?.map(|credit| add(AnyRelay::Credit(Box::new(credit))));
        if credit.is_some() {
            attend_credit(network, fabric);
        }
        let has_envelopes = network.flows.iter().any(|flow| flow.envelope.is_some());
        let envelope = has_envelopes.then(|| add(AnyRelay::Envelope(Envelope)));
        let first_hops = network.first_hops();
        for relay in RateControlled::all(network, &first_hops)? {
            let node = relay.node();
            let ix = add(AnyRelay::RateControlled(Box::new(relay)));
            fabric.nodes[node].relays.push(ix as u32);
        }
        // The host's port, if it controls rates, is between the ends of a VC and the link.
        for relay in AbrEnds::all(network, &first_hops)? {
            let node = relay.node();
            let ix = add(AnyRelay::AbrEnds(Box::new(relay)));
            fabric.nodes[node].relays.push(ix as u32);
        }
        for plan in &network.relays {
            let rng = Rng::named(seed, &format!("relay/{}", plan.name));
            let ix = add(AnyRelay::Custom(plan.factory.make(plan.node as u32, rng)));
            fabric.nodes[plan.node].relays.push(ix as u32);
        }
        let none: Box<[u32]> = Box::new([]);
        let index = BTreeMap::from([(none.clone(), 0)]);
        Ok(Relays { all, sets: vec![none], index, gate_edge, envelope, credit })
    }

    /// Returns the index of a set of relays.
    ///
    /// # Errors
    /// When there are more sets than can be told apart.
    pub(super) fn set(&mut self, relays: Box<[u32]>) -> Result<u16, Refused> {
        if let Some(ix) = self.index.get(&relays) {
            return Ok(*ix);
        }
        let ix = u16::try_from(self.sets.len())
            .map_err(|_| Refused(format!("more than {} different sets of relays", u16::MAX)))?;
        self.sets.push(relays.clone());
        self.index.insert(relays, ix);
        Ok(ix)
    }

    /// Returns true if VCs without credit share the memory of a node with credit.
    pub(super) fn shares_memory(&self, node: u32) -> bool {
        match self.credit.map(|ix| &self.all[ix]) {
            Some(AnyRelay::Credit(credit)) => credit.shares_memory(node),
            _ => false,
        }
    }

    /// Registers the hops of a flow, which begin at `first`, with the relay of credit.
    pub(super) fn lay_credit(
        &mut self,
        flow: u32,
        setup: &FlowSetup,
        first: u32,
        fabric: &Fabric,
    ) -> Result<(), Refused> {
        let Some(AnyRelay::Credit(credit)) = self.credit.map(|ix| &mut self.all[ix]) else { return Ok(()) };
        let mut way: Vec<u32> = Vec::new();
        for (hop, link) in (first..).zip(&setup.route) {
            let node = fabric.hops[hop as usize].node;
            let place = (hop - first) as usize;
            way.truncate(setup.depths.get(place).map_or(place, |depth| usize::from(*depth) - 1));
            let from = way.last().copied();
            // Copies leave by the other hops of the fork at which this one leaves its node.
            let forks = fabric.forks.values().any(|hops| hops.contains(&hop));
            credit.lay_hop(flow, node, *link, from, forks)?;
            way.push(hop);
        }
        Ok(())
    }

    /// Registers the next flow of the world.
    pub(super) fn expect(&mut self, setup: &FlowSetup, start: Time, stop: Time) {
        for relay in &mut self.all {
            match relay {
                AnyRelay::FlowNetwork(network) => network.expect(start, stop),
                AnyRelay::GateEdge(edge) => edge.expect(setup.headers),
                AnyRelay::Envelope(_)
                | AnyRelay::AbrEnds(_)
                | AnyRelay::RateControlled(_)
                | AnyRelay::Credit(_)
                | AnyRelay::Custom(_) => {}
            }
        }
    }
}

/// Prepares a link with credit for credit_check cells, and the links in the other direction for
/// credit cells.
fn attend_credit(network: &Network, fabric: &mut Fabric) {
    for (ix, link) in network.links.iter().enumerate() {
        let Some(credit) = &link.credit else { continue };
        let way = core::iter::once(ix).chain(credit.further.iter().copied());
        let back: Vec<usize> =
            way.filter_map(|on| fabric.links[on].reverse).map(|back| back as usize).collect();
        for ix in core::iter::once(ix).chain(back) {
            fabric.links[ix].stepwise = true;
            fabric.links[ix].control.get_or_insert_default();
        }
    }
}
