//! The built-in stages.

use super::abr::{AbrEnds, RateControlled};
use super::capture::Capture;
use super::credit::Credit;
use super::envelope::Envelope;
use super::first_queue::FirstQueue;
use super::flow_network::FlowNetwork;
use super::fork::Fork;
use super::gate_edge::GateEdge;
use super::overhead::Overhead;
use super::packet_log::PacketLog;
use super::setup::{Constructor, Placed, StageSetup};
use super::{watch, workahead};
use tidegate_core::contract::Refused;
use tidegate_core::rng::Rng;

/// Stages that packets pass before those of the network's plan.
const BEFORE_PLANNED: &[Constructor] = &[
    Capture::stages,
    FlowNetwork::stages,
    workahead::stages,
    RateControlled::stages,
    // The host's port, if it controls rates, is between the ends of a VC and the link.
    AbrEnds::stages,
    Credit::stages,
];

/// Stages that packets pass after those of the network's plan.
const AFTER_PLANNED: &[Constructor] = &[
    GateEdge::stages,
    Envelope::stages,
    FirstQueue::stages,
    watch::stages,
    PacketLog::stages,
    // Only the port and what is in it know the lengths that it charges.
    Overhead::stages,
    // It hands copies to ports: no stage comes after it.
    Fork::stages,
];

/// Makes the stages of a network, in the order in which packets pass them.
pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
    let mut all = Vec::new();
    for make in BEFORE_PLANNED {
        all.extend(make(setup)?);
    }
    for (ix, plan) in setup.network.stages.iter().enumerate() {
        // The name of the stream goes back to the first versions.
        let rng = Rng::named(setup.seed, &format!("relay/{}", plan.name));
        let (node, plan) = (plan.node as u32, plan.factory.make(plan.node as u32, rng));
        all.push(Placed { stage: plan, node: Some(node), plan: Some(ix as u32) });
    }
    for make in AFTER_PLANNED {
        all.extend(make(setup)?);
    }
    Ok(all)
}
