//! The plan of a link with credit.

use tidegate_core::credit::params::CreditPlan;

/// Credit-based flow control from a link on.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCredit {
    /// The plan that follows from it.
    pub plan: CreditPlan,
    /// Its VCs.
    pub vcs: u64,
    /// Further links of a virtual link, after this one up to the receiver, by their indexes.
    pub further: Vec<usize>,
}
