//! The plans of built-in stages that a scenario states: one file for each stage.

pub mod abr;
mod credit;

use crate::network::{FlowSetup, Network};
use tidegate_formats::{Link, Load, Scenario};

/// Adds the plans of stages to a network that has its links and flows.
pub(crate) fn plan(scenario: &Scenario, loads: &[Load], network: &mut Network) {
    abr::plan(scenario, network);
    credit::plan(scenario, loads, network);
}

/// Returns the utilization that the stage at the port of a link aims at; 1 without one that does.
pub(crate) fn target_utilisation(link: &Link) -> f64 {
    let targets: &[fn(&Link) -> Option<f64>] = &[
        // One line for each stage that has one.
        abr::target_utilisation,
    ];
    targets.iter().find_map(|target| target(link)).unwrap_or(1.0)
}

/// Returns the rates in bit/s that a flow never exceeds by the terms that it has with stages.
pub(crate) fn ceilings(flow: &FlowSetup, network: &Network) -> impl Iterator<Item = f64> {
    let ceilings: &[fn(&FlowSetup, &Network) -> Option<f64>] = &[
        // One line for each stage that has one.
        abr::ceiling,
    ];
    ceilings.iter().filter_map(move |ceiling| ceiling(flow, network))
}
