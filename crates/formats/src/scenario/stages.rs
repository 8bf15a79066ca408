//! The stages whose terms a scenario states.

use super::abr;
use super::credit;
use super::flows::FlowGroup;
use super::network::Link;
use super::policies::ScenarioParts;
use crate::error::Report;

/// Checks the terms of every stage.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    abr::check(parts, report);
    credit::check(parts, report);
}

/// Number of quantities that stages record over time.
pub(super) fn series(links: &[Link], groups: &[FlowGroup]) -> u64 {
    let mut series = 0;
    series += credit::series(links, groups);
    series
}
