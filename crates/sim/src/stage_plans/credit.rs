//! The plan of credit-based flow control.

use crate::network::Network;
use tidegate_formats::{Load, Scenario};

/// Adds the plans of links with credit. The links in the other direction carry the credit cells.
pub(super) fn plan(scenario: &Scenario, loads: &[Load], network: &mut Network) {
    let plans = scenario.credit_plans(loads);
    network.stage_terms.set(plans.links.iter().any(Option::is_some).then_some(plans));
}
