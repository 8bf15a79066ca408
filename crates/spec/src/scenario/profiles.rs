//! Profiles: contracts that several flows keep together.

use crate::error::{Complaint, Place, Report};
use crate::port::{ContractSpec, check_promise};
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::suggest::did_you_mean;
use crate::values::Values;
use std::collections::BTreeMap;
use tidegate_core::contract::Contract;

/// The most profiles: ports know them by 16-bit indexes.
const MOST_PROFILES: usize = u16::MAX as usize;

/// A contract that the flows that name it keep together, where their packets are metered.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name, unique among profiles.
    pub name: String,
    /// What all of them together keep to.
    pub contract: ContractSpec,
    /// Where it was stated.
    pub place: Place,
}

/// Builds the profiles. `None` after something was reported that makes flows' references meaningless.
pub(super) fn build(tables: &[Values], report: &mut Report) -> Option<Vec<Profile>> {
    if let Some(values) = tables.get(MOST_PROFILES) {
        report.add(values.place, Complaint::new(format!("there are more than {MOST_PROFILES} profiles")));
        return None;
    }
    let mut names = BTreeMap::new();
    let mut profiles = Vec::with_capacity(tables.len());
    for (index, values) in tables.iter().enumerate() {
        let name = values.text("name")?;
        if names.insert(name, index).is_some() {
            let complaint = Complaint::new(format!("there is already a profile `{name}`"));
            report.add(values.place_of("name"), complaint);
        }
        let contract = ContractSpec::read(values);
        check_promise(values, contract.reserve_bits().is_some(), report);
        profiles.push(Profile { name: name.to_owned(), contract, place: values.place });
    }
    Some(profiles)
}

/// The index of the profile with this name, or a complaint with the nearest one.
pub(super) fn find(profiles: &[Profile], name: &str, place: Place, report: &mut Report) -> Option<usize> {
    let found = profiles.iter().position(|profile| profile.name == name);
    if found.is_none() && !report.is_full() {
        let mut complaint = Complaint::new(format!("there is no profile `{name}`"));
        complaint.help = did_you_mean(name, profiles.iter().map(|profile| profile.name.as_str()))
            .or_else(|| Some("add a [[profile]]".to_owned()));
        report.add(place, complaint);
    }
    found
}

/// Profiles that are divided among their flows, by the sum of their weights.
pub(super) struct Divided(BTreeMap<usize, u64>);

impl Divided {
    /// By the weights of all flows.
    pub(super) fn new(groups: &[FlowGroup], loads: &[Load]) -> Divided {
        let mut sums = BTreeMap::new();
        for load in loads {
            let group = &groups[load.group];
            if let Some((profile, weight)) = group.profile.zip(group.weight) {
                *sums.entry(profile).or_insert(0) += u64::from(weight) * load.count;
            }
        }
        Divided(sums)
    }

    /// The share of a profile that each flow of a group has for itself; `None` for a group without one.
    pub(super) fn share(&self, profiles: &[Profile], group: &FlowGroup) -> Option<Contract> {
        let (profile, weight) = group.profile.zip(group.weight)?;
        let sum = self.0.get(&profile).copied()?;
        Some(profiles[profile].contract.contract().share(u64::from(weight), sum))
    }
}

/// A profile is divided among all its flows, or used by all of them together.
pub(super) fn check_weights(profiles: &[Profile], groups: &[FlowGroup], report: &mut Report) {
    let mut weighed = BTreeMap::new();
    for group in groups.iter().filter(|group| group.weight.is_some()) {
        if let Some(profile) = group.profile {
            weighed.entry(profile).or_insert(&group.name);
        }
    }
    for group in groups.iter().filter(|group| group.weight.is_none()) {
        if let Some((profile, other)) =
            group.profile.and_then(|profile| Some((profile, weighed.get(&profile)?)))
        {
            let message = format!(
                "`{}` has no `weight` in profile `{}`, which is divided by weights: `{other}` has one",
                group.name, profiles[profile].name
            );
            report.add(group.place, Complaint::new(message).help("give it a `weight`, or none of them"));
        }
    }
}
