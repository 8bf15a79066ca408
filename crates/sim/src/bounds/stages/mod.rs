//! Effects of built-in stages on bounds: one file for each stage of which bounds know something.

mod credit;

use super::effects::Effects;
use crate::network::Network;

/// Returns the effects of the stages that a network has terms for; `None` if nothing is known of one.
pub(super) fn effects(network: &Network) -> Option<Effects> {
    let known: &[fn(&Network) -> Option<Effects>] = &[
        // One line for each stage that has one.
        credit::effects,
    ];
    let all: Vec<Effects> = known.iter().filter_map(|effects| effects(network)).collect();
    let is_known = network.stages.is_empty() && network.stage_terms.len() == all.len();
    is_known.then(|| all.into_iter().fold(Effects::none(network), Effects::and))
}
