//! The flows of a file that are promised something, as the receivers tell them from others.

use crate::io::Rule;
use tidegate_core::classifier::rules::Direction;
use tidegate_formats::GateFile;

/// The rules of a file in each direction. The packets of a list of circuits are known by more than
/// their rule.
pub(super) fn rules(file: &GateFile) -> [Vec<Rule>; 2] {
    Direction::BOTH.map(|direction| {
        let rules = file.flows.iter().map(|flow| {
            let reserves = flow.terms[direction as usize].reserve.is_some();
            Rule {
                matching: flow.circuits.is_none().then(|| flow.matching.clone()),
                promised: flow.each.is_none() && reserves,
            }
        });
        rules.collect()
    })
}
