//! Memory of nodes shared by VCs with and without credit: a `buffer` at a node with receivers of
//! links with credit.
//!
//! Each VC with credit has the memory of its receiver. The rest is divided equally among the flows
//! that arrive without credit, or start there; a packet of one that has its share queued is
//! discarded. So there is always room for a packet with credit, whatever these flows send. A VC's
//! packets are counted as for credit: by the receiver (Kung 1997, section "CreditNet ATM switch").

use crate::network::{FlowSetup, Network};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::credit::messages::{Counter, VcIx};
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::{Arrival, Receiver, Refused};
use tidegate_core::params::Limit;
use tidegate_core::units::Time;
use tidegate_formats::{CreditLinks, LinkCredit};

/// Node memory left over by credit.
pub(super) struct UncreditedMemory {
    by_node: BTreeMap<u32, u32>,
    memories: Vec<Memory>,
}

/// Memory left over by credit at one node.
struct Memory {
    /// Packets that a VC may have there.
    share: u32,
    /// The receiving end of VCs that no sender keeps to an allocation.
    receiver: Receiver,
    /// The flow opened last, and its VC.
    latest: Option<(u32, VcIx)>,
}

/// A VC without credit, in the memory of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct UncreditedVc {
    memory: u32,
    vc: VcIx,
}

/// Returns true if the receiver of a link with credit is at the end of the link with this place in a
/// flow's route.
fn ends_credit(plans: &CreditLinks, setup: &FlowSetup, place: usize) -> bool {
    let spans = |first: usize| match plans.of(setup.route[first]) {
        Some(credit) => first + credit.further.len() == place,
        None => false,
    };
    (0..=place).any(spans)
}

/// Returns the memory, in packets, that credit leaves for VCs without credit, for each node with a
/// `buffer` where both share it.
fn left_by_credit(network: &Network, plans: &CreditLinks) -> BTreeMap<usize, u64> {
    let mut left = BTreeMap::new();
    for (ix, credit) in plans.links.iter().enumerate() {
        let Some(LinkCredit { plan, vcs, further }) = credit else { continue };
        let node = network.links[*further.last().unwrap_or(&ix)].to;
        if let Some(Limit::Packets(buffer)) = network.nodes[node].buffer {
            let rest = left.entry(node).or_insert(buffer);
            *rest = rest.saturating_sub(plan.memory(*vcs));
        }
    }
    for pool in &plans.outputs {
        if let Some(rest) = left.get_mut(&pool.node) {
            *rest = rest.saturating_sub(pool.plan.adaptation.pool.into());
        }
    }
    left
}

impl UncreditedMemory {
    pub(super) fn new(network: &Network, plans: &CreditLinks) -> UncreditedMemory {
        let left = left_by_credit(network, plans);
        let mut flows: BTreeMap<usize, u64> = BTreeMap::new();
        for flow in network.flows.iter().filter(|_| !left.is_empty()) {
            let ended = |place: &usize| ends_credit(plans, flow, *place);
            let controlled: BTreeSet<usize> = (0..flow.route.len())
                .filter(ended)
                .map(|place| network.links[flow.route[place]].to)
                .collect();
            let passed: BTreeSet<usize> = flow.route.iter().map(|link| network.links[*link].from).collect();
            for node in passed.difference(&controlled) {
                *flows.entry(*node).or_default() += 1;
            }
        }
        let mut all = UncreditedMemory { by_node: BTreeMap::new(), memories: Vec::new() };
        for (node, left) in left {
            let Some(flows) = flows.get(&node) else { continue };
            all.by_node.insert(node as u32, all.memories.len() as u32);
            let share = u32::try_from(left / flows).unwrap_or(u32::MAX);
            all.memories.push(Memory { share, receiver: Receiver::new(Protocol::Cup, None), latest: None });
        }
        all
    }

    pub(super) fn is_of(&self, node: u32) -> bool {
        self.by_node.contains_key(&node)
    }

    /// Returns the VC of a flow at a node; `None` where no memory is shared. Flows come one after
    /// another.
    ///
    /// # Errors
    /// When there is no place for it, or there are more VCs than can be told apart.
    pub(super) fn vc_of(&mut self, flow: u32, node: u32) -> Result<Option<UncreditedVc>, Refused> {
        let Some(&memory) = self.by_node.get(&node) else { return Ok(None) };
        let Memory { share, receiver, latest } = &mut self.memories[memory as usize];
        let vc = match *latest {
            // A multicast flow leaves by several links.
            Some((known, vc)) if known == flow => vc,
            _ => receiver.open(*share, *share, Counter::default())?,
        };
        *latest = Some((flow, vc));
        Ok(Some(UncreditedVc { memory, vc }))
    }

    /// Counts a packet of a VC that has arrived.
    pub(super) fn arrived(&mut self, of: UncreditedVc) -> Arrival {
        // A constant allocation is valid at any time.
        //= kung1997 5
        self.memories[of.memory as usize].receiver.arrived(Time::ORIGIN, of.vc)
    }

    /// Counts a packet of a VC that has left, or was dropped.
    pub(super) fn left(&mut self, of: UncreditedVc) {
        self.memories[of.memory as usize].receiver.left(of.vc);
    }
}
