//! The plans of links with credit.

use tidegate_core::credit::output_pool::OutputPlan;
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

/// The pool of an output port, for the VCs that leave by it; or of those of one link that end at
/// its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputCredit {
    /// The plan that follows from its links.
    pub plan: OutputPlan,
    /// Its node.
    pub node: usize,
    /// The link by which its VCs leave; `None` for VCs that end at the node.
    pub port: Option<usize>,
    /// Links with credit over which they come, the first links of virtual ones.
    pub links: Vec<usize>,
    /// Its VCs.
    pub vcs: u64,
}

/// Credit-based flow control of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreditLinks {
    /// That of each link; `None` for a link without credit.
    pub links: Vec<Option<LinkCredit>>,
    /// The pools of output ports.
    pub outputs: Vec<OutputCredit>,
}

impl CreditLinks {
    /// Returns the credit from a link on.
    pub fn of(&self, link: usize) -> Option<&LinkCredit> {
        self.links.get(link)?.as_ref()
    }
}
