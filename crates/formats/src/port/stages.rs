//! The terms of stages that a file states for ports.

use super::abr;
use super::credit;
use crate::error::Report;
use crate::keys::port::PortKeys;
use crate::stage_terms::StageTerms;

/// Reads the terms that a table states, stage by stage.
pub(super) fn read(keys: PortKeys<'_>, report: &mut Report) -> StageTerms {
    let mut terms = StageTerms::default();
    abr::read(keys, &mut terms, report);
    credit::read(keys, &mut terms, report);
    terms
}
