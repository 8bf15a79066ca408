//! The network under construction, from which stages are made.

use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::network::Network;
use crate::probe::Probes;
use crate::stage::Stage;
use tidegate_core::contract::Refused;
use tidegate_core::packet::PortIx;

/// A network under construction, before its flows are opened.
pub(in crate::world) struct StageSetup<'a> {
    pub(in crate::world) network: &'a Network,
    pub(in crate::world) seed: u64,
    pub(in crate::world) probes: &'a Probes,
    pub(in crate::world) flows: &'a [Flow],
    /// Each link's port at its switch.
    pub(in crate::world) ports: &'a [PortIx],
    /// Each flow's first hop.
    pub(in crate::world) first_hops: &'a [u32],
    /// Switches, links and forks; no hops yet.
    pub(in crate::world) fabric: &'a mut Fabric,
}

/// A stage of the network.
pub(in crate::world) struct Placed {
    pub(in crate::world) stage: Box<dyn Stage>,
    /// The node whose packets it sees; `None` for those of all nodes.
    pub(in crate::world) node: Option<u32>,
    /// Its place among the stages of the network's plan; `None` for a built-in stage.
    pub(in crate::world) plan: Option<u32>,
}

impl Placed {
    /// Creates a built-in stage that sees packets anywhere.
    pub(in crate::world) fn anywhere(stage: impl Stage) -> Placed {
        Placed { stage: Box::new(stage), node: None, plan: None }
    }

    /// Creates a built-in stage that sees packets at one node.
    pub(in crate::world) fn at(node: usize, stage: impl Stage) -> Placed {
        Placed { stage: Box::new(stage), node: Some(node as u32), plan: None }
    }
}

/// Makes the stages of one kind: none where the network does not use them.
pub(in crate::world) type Constructor = fn(&mut StageSetup<'_>) -> Result<Vec<Placed>, Refused>;
