//! The memory of nodes that VCs without credit share with credit: a `buffer` with links that have their receivers there.
//!
//! Each VC with credit has the memory of its receiver. What that leaves is divided equally among the flows that come without
//! credit, or start there; a packet of one that has its share queued is discarded. So whatever they send, there is always a
//! place for a packet with credit. The count of a VC's packets is the one that decides on credit: the receiver's (Kung
//! 1997, section "CreditNet ATM switch").

use crate::network::Network;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::credit::messages::{Counter, VcIx};
use tidegate_core::credit::params::Protocol;
use tidegate_core::credit::{Arrival, Receiver, Refused};
use tidegate_core::units::Time;

/// Node memory left over by credit.
pub(super) struct Rest {
    by_node: BTreeMap<u32, u32>,
    memories: Vec<Memory>,
}

/// Memory left over by credit at one node.
struct Memory {
    /// Packets that a VC may have there.
    share: u32,
    /// The end of VCs that no sender keeps to an allocation.
    receiver: Receiver,
    /// The flow that has come last, and its VC.
    latest: Option<(u32, VcIx)>,
}

/// A VC without credit, in the memory of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncontrolled {
    memory: u32,
    vc: VcIx,
}

impl Rest {
    pub(super) fn new(network: &Network) -> Rest {
        let left = network.left_by_credit();
        let mut flows: BTreeMap<usize, u64> = BTreeMap::new();
        for flow in network.flows.iter().filter(|_| !left.is_empty()) {
            let ended = |place: &usize| network.ends_credit(flow, *place);
            let controlled: BTreeSet<usize> = (0..flow.route.len())
                .filter(ended)
                .map(|place| network.links[flow.route[place]].to)
                .collect();
            let passed: BTreeSet<usize> = flow.route.iter().map(|link| network.links[*link].from).collect();
            for node in passed.difference(&controlled) {
                *flows.entry(*node).or_default() += 1;
            }
        }
        let mut rest = Rest { by_node: BTreeMap::new(), memories: Vec::new() };
        for (node, left) in left {
            let Some(flows) = flows.get(&node) else { continue };
            rest.by_node.insert(node as u32, rest.memories.len() as u32);
            let share = u32::try_from(left / flows).unwrap_or(u32::MAX);
            rest.memories.push(Memory { share, receiver: Receiver::new(Protocol::Cup, None), latest: None });
        }
        rest
    }

    pub(super) fn is_of(&self, node: u32) -> bool {
        self.by_node.contains_key(&node)
    }

    /// The VC of a flow at a node; `None` where no memory is shared. Flows come one after another.
    ///
    /// # Errors
    /// When there is no place for it, or there are more VCs than can be told apart.
    pub(super) fn vc_of(&mut self, flow: u32, node: u32) -> Result<Option<Uncontrolled>, Refused> {
        let Some(&memory) = self.by_node.get(&node) else { return Ok(None) };
        let Memory { share, receiver, latest } = &mut self.memories[memory as usize];
        let vc = match *latest {
            // A multicast flow leaves by several links.
            Some((known, vc)) if known == flow => vc,
            _ => receiver.open(*share, *share, Counter::default())?,
        };
        *latest = Some((flow, vc));
        Ok(Some(Uncontrolled { memory, vc }))
    }

    /// A packet of a VC has come.
    pub(super) fn arrived(&mut self, of: Uncontrolled) -> Arrival {
        // An allocation that stays holds at any time.
        self.memories[of.memory as usize].receiver.arrived(Time::ORIGIN, of.vc)
    }

    /// A packet of a VC has left, or was dropped.
    pub(super) fn left(&mut self, of: Uncontrolled) {
        self.memories[of.memory as usize].receiver.left(of.vc);
    }
}
