//! The plans of links with credit.

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

/// Credit-based flow control from each link on; `None` for a link without credit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreditLinks(pub Vec<Option<LinkCredit>>);

impl CreditLinks {
    /// Returns the credit from a link on.
    pub fn of(&self, link: usize) -> Option<&LinkCredit> {
        self.0.get(link)?.as_ref()
    }
}
