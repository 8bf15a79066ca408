//! Stages that a scenario places beside nodes.

use super::rates::fail;
use crate::network::{Network, StagePlan};
use crate::stage::{Names, StageMaker};
use std::sync::Arc;
use tidegate_formats::{FormatError, Scenario};

/// Adds the stages of a scenario to a network that has its links and flows.
pub(super) fn place(scenario: &Scenario, network: &mut Network) -> Result<(), Box<FormatError>> {
    if scenario.stages.is_empty() {
        return Ok(());
    }
    let names = Arc::new(Names {
        flows: network.flows.iter().map(|flow| flow.name.clone()).collect(),
        links: network.links.iter().map(|link| link.name.clone()).collect(),
    });
    for stage in &scenario.stages {
        let refused = |why: String| fail(scenario, stage.place, why, None);
        let made = stage.policy.policy.build().map_err(|error| refused(error.to_string()))?;
        let maker = made.downcast::<Arc<dyn StageMaker>>();
        let maker = maker.map_err(|_| refused("it is registered by another simulator".to_owned()))?;
        let factory = maker.place(&stage.name, names.clone());
        network.stages.push(StagePlan { name: stage.name.clone(), node: stage.node, factory });
    }
    Ok(())
}
