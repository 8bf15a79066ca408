//! The terms of stages that a file states for connections.

use super::abr;
use crate::error::Report;
use crate::keys::connection::Connection;
use crate::stage_terms::StageTerms;
use tidegate_core::units::Rate;

/// Reads the terms that a connection states, stage by stage; `aal5` is true if its packets are sent
/// as cells, and `first` is the rate of its first link.
pub(super) fn read(keys: &Connection, aal5: bool, first: Option<Rate>, report: &mut Report) -> StageTerms {
    let mut terms = StageTerms::default();
    abr::read(keys, (aal5, first), &mut terms, report);
    terms
}
