//! Leads of a rule's members, by which the gate shows who is ahead of its contract.

use crate::units::Span;
use alloc::vec::Vec;

/// The largest lead of each rule's members; members are looked at a few at a time.
#[derive(Debug, Default)]
pub(super) struct Leads {
    /// The next member to look at.
    pub(super) next: usize,
    /// Largest leads of the current round so far, by rule.
    pub(super) growing: Vec<Span>,
    /// Largest leads of the previous round.
    pub(super) latest: Vec<Span>,
}

impl Leads {
    pub(super) fn of(&self, rule: usize) -> Span {
        let of = |leads: &[Span]| leads.get(rule).copied().unwrap_or(Span::ZERO);
        of(&self.latest).max(of(&self.growing))
    }
}
