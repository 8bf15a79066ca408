//! Checks that need the number of flows.

use crate::network::{FlowSetup, Network};
use tidegate_formats::{FormatError, Load, Place, Scenario, Source};

/// Refuses a scenario without a flow: it would measure nothing.
pub(super) fn flows(scenario: &Scenario) -> Result<(), Box<FormatError>> {
    if !scenario.groups.is_empty() {
        return Ok(());
    }
    let help = Some("add a [[flow]] or a [[connection]]".to_owned());
    Err(Box::new(scenario.error_at(
        Place::File,
        "this scenario has no flow, so that nothing would be sent",
        help,
    )))
}

/// Checks the reservations and packet sizes of recorded flows, which are known only now: a
/// `[[flow]]` that stands for all flows of a recording reserves its rate for each of them. Returns
/// the load of all flows.
pub(super) fn recorded(scenario: &Scenario, network: &Network) -> Result<Vec<Load>, Box<FormatError>> {
    let loads = loads(scenario, network);
    match loads.iter().any(|load| load.name.is_some()) {
        true => scenario.check_recorded(&loads).map(|()| loads),
        false => Ok(loads),
    }
}

/// Returns the load of all flows: groups as their file states them, and each flow of a recording by
/// itself.
pub fn loads(scenario: &Scenario, network: &Network) -> Vec<Load> {
    let mut first: Vec<Option<&FlowSetup>> = vec![None; scenario.groups.len()];
    for flow in &network.flows {
        first[flow.part].get_or_insert(flow);
    }
    let is_recorded: Vec<bool> = scenario
        .groups
        .iter()
        .map(|group| matches!(group.source, Source::Trace { .. } | Source::Capture { .. }))
        .collect();
    let known = scenario.groups.iter().enumerate().filter(|(group, _)| !is_recorded[*group]);
    let sizes = |flow: &FlowSetup| flow.plans.first()?.sizes.and(flow.sizes);
    let known = known.map(|(index, group)| Load {
        sizes: first[index].and_then(sizes),
        played: first[index].and_then(|flow| flow.traffic.played()),
        ..Load::of_group(index, group)
    });
    let flows = network.flows.iter().filter(|flow| is_recorded[flow.part]).map(|flow| Load {
        group: flow.part,
        name: Some(flow.name.clone()),
        count: 1,
        largest: flow.largest(),
        sizes: sizes(flow).or_else(|| flow.traffic.sizes().filter(|_| !flow.aal5)),
        played: flow.traffic.played(),
    });
    let mut loads: Vec<Load> = known.chain(flows).collect();
    loads.sort_by_key(|load| load.group);
    loads
}
