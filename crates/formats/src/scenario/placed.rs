//! Stages that a scenario places beside nodes.

use super::network::Node;
use crate::error::{Complaint, Place, Report};
use crate::keys;
use crate::policy::Chosen;
use crate::section::Placed;
use crate::suggest::did_you_mean;
use tidegate_core::policies::StageKind;

/// A stage beside a node.
#[derive(Clone, Debug)]
pub struct StageSpec {
    /// Its name, unique among stages.
    pub name: String,
    /// Index of the node.
    pub node: usize,
    /// The stage.
    pub policy: Chosen<StageKind>,
    /// Place of its statement in the file.
    pub place: Place,
}

/// Builds the stages of a network with these nodes, of which no link is a gate.
pub(super) fn build(
    tables: &[Placed<keys::stage::Stage>],
    nodes: &[Node],
    has_gate: bool,
    report: &mut Report,
) -> Vec<StageSpec> {
    if let Some(first) = tables.first().filter(|_| has_gate) {
        report.add(first.place, Complaint::new("a scenario with a gate has no [[stage]]"));
        return Vec::new();
    }
    let mut stages: Vec<StageSpec> = Vec::new();
    for table in tables {
        let keys::stage::Stage { name, node, policy } = &**table;
        if stages.iter().any(|stage| stage.name == name.as_str()) {
            report.add(name.place, Complaint::new(format!("there is already a stage `{name}`")));
            continue;
        }
        let Some(at) = nodes.iter().position(|one| one.name == node.as_str()) else {
            let mut complaint = Complaint::new(format!("there is no node `{node}`"));
            complaint.help = did_you_mean(node, nodes.iter().map(|node| node.name.as_str()));
            report.add(node.place, complaint);
            continue;
        };
        if let Some(policy) = Chosen::read(Some(policy), report) {
            stages.push(StageSpec { name: name.to_string(), node: at, policy, place: table.place });
        }
    }
    stages
}
