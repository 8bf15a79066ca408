//! The plan of credit-based flow control.

use crate::network::Network;
use tidegate_formats::{Load, Scenario};

/// Adds the plans of links with credit. The links in the other direction carry the credit cells.
pub(super) fn plan(scenario: &Scenario, loads: &[Load], network: &mut Network) {
    network.stage_terms.set(Some(scenario.credit_plans(loads)));
}
