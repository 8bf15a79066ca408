//! Stages that put cells of their own among the packets of flows.

use super::abr;
use super::network::Link;

/// Returns the name of such a stage at the port of a link; `None` without one.
pub(super) fn maker(link: &Link) -> Option<&'static str> {
    let makers: &[fn(&Link) -> Option<&'static str>] = &[
        // One line for each stage.
        abr::cell_maker,
    ];
    makers.iter().find_map(|maker| maker(link))
}
