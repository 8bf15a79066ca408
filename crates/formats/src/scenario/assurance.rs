//! Probability of assurance: the averaging window, and the sets of destinations.

use super::network::Network;
use crate::error::{Complaint, Report};
use crate::keys::scenario as keys;
use std::collections::BTreeSet;
use tidegate_core::units::Span;

/// The settings under `assurance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assurance {
    /// Averaging window, above zero.
    pub window: Span,
    /// Sets of destinations.
    pub sets: Vec<Destinations>,
}

/// A set of destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    /// Its name, unique among sets.
    pub name: String,
    /// Indexes of its nodes.
    pub nodes: BTreeSet<usize>,
}

impl Assurance {
    /// Reads the settings.
    pub(super) fn read(keys: &keys::Assurance, network: &Network, report: &mut Report) -> Assurance {
        let keys::Assurance { window, scope } = keys;
        if **window == Span::ZERO {
            report.add(window.place, Complaint::new("`window` is zero"));
        }
        let mut names = BTreeSet::new();
        let mut read = |keys: &keys::Scope| {
            if !names.insert(keys.name.as_str().to_owned()) {
                let complaint = Complaint::new(format!("there is already a scope `{}`", keys.name.as_str()));
                report.add(keys.name.place, complaint);
            }
            let nodes = keys.to.iter().filter_map(|(place, name)| network.find(name, *place, report));
            Destinations { name: keys.name.to_string(), nodes: nodes.collect() }
        };
        Assurance { window: **window, sets: scope.iter().map(|keys| read(keys)).collect() }
    }
}
