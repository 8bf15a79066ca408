//! Delays by credit.

use tidegate_core::switch::Block;
use tidegate_formats::{CreditLinks, LinkCredit};
use tidegate_sim::network::Network;
use tidegate_sim::watch::Cause;

pub const CELL: Cause = Cause::OwnCell;
pub const NO_CREDIT: Cause = Cause::Block(Block::NoPart);

/// The credit from a link on.
pub fn of(network: &Network, link: usize) -> Option<&LinkCredit> {
    network.stage_terms.get::<CreditLinks>()?.of(link)
}

/// Returns true if any link has credit.
pub fn is_used(network: &Network) -> bool {
    (0..network.links.len()).any(|link| of(network, link).is_some())
}
