//! Profiles: contracts that several flows share, on the whole of their routes or at one link.

use crate::error::{Complaint, Place, Report};
use crate::keys;
use crate::port::{Class, ContractSpec, check_promise};
use crate::scenario::flows::group::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::{Link, Network, NodeKind};
use crate::section::Placed;
use crate::suggest::did_you_mean;
use std::collections::BTreeMap;
use tidegate_core::contract::Contract;

/// The most profiles: ports know them by 16-bit indexes.
const MAX_PROFILES: usize = u16::MAX as usize;

/// A contract that the flows that name it keep together, where their packets are metered.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name, unique among profiles.
    pub name: String,
    /// The contract that all of them keep together.
    pub contract: ContractSpec,
    /// Place of its statement in the file.
    pub place: Place,
}

/// Builds the profiles. `None` after something was reported that makes flows' references
/// meaningless.
pub(super) fn build(tables: &[Placed<keys::port::Profile>], report: &mut Report) -> Option<Vec<Profile>> {
    if let Some(beyond) = tables.get(MAX_PROFILES) {
        report.add(beyond.place, Complaint::new(format!("there are more than {MAX_PROFILES} profiles")));
        return None;
    }
    let mut names = BTreeMap::new();
    let mut profiles = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let keys::port::Profile { name, contract: stated } = &**table;
        if names.insert(name.as_str(), index).is_some() {
            let complaint = Complaint::new(format!("there is already a profile `{name}`"));
            report.add(name.place, complaint);
        }
        let contract = ContractSpec::read(stated);
        check_promise(stated, contract.reserve_bits().is_some(), report);
        profiles.push(Profile { name: name.to_string(), contract, place: table.place });
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

/// Assigns to links the profiles that they name, each of which must be read by a meter there.
pub(super) fn give_to_links(
    tables: &[Placed<keys::network::Link>],
    profiles: &[Profile],
    classes: &[Class],
    network: &mut Network,
    report: &mut Report,
) {
    let mut named = BTreeMap::new();
    for table in tables {
        let Some(name) = table.profile.as_deref() else { continue };
        let place = table.profile.place;
        if let Some(profile) = find(profiles, name, place, report) {
            named.insert(table.place, (profile, place, false));
        }
    }
    for link in &mut network.links {
        let Some((profile, _, is_read)) = named.get_mut(&link.place) else { continue };
        link.profile = Some(*profile);
        let in_classes = if network.nodes[link.from].kind == NodeKind::Switch { classes } else { &[] };
        *is_read |= is_metered(&profiles[*profile], link, in_classes);
    }
    for (profile, place, _) in named.into_values().filter(|(_, _, is_read)| !is_read) {
        let message =
            format!("no meter at the ports of this link reads profile `{}`", profiles[profile].name);
        report.add(place, Complaint::new(message).help("give the link a meter, as in meter = \"srtcm\""));
    }
}

/// Returns true if a meter at the link's port, or in a class there, applies to the profile.
fn is_metered(profile: &Profile, link: &Link, classes: &[Class]) -> bool {
    let stated = ContractSpec::stated(std::iter::once(&profile.contract));
    let meters = std::iter::once(&link.port.meter).chain(classes.iter().map(|class| &class.meter));
    let mut needed = meters.flatten().map(|meter| meter.record().needs);
    needed.any(|needs| needs.is_none_or(|key| stated.contains(key)))
}

/// Profiles that are divided among their flows, by the sum of their weights.
pub(super) struct ProfileWeights(BTreeMap<usize, u64>);

impl ProfileWeights {
    /// Divides profiles by the weights of all flows.
    pub(super) fn new(groups: &[FlowGroup], loads: &[Load]) -> ProfileWeights {
        let mut sums = BTreeMap::new();
        for load in loads {
            let group = &groups[load.group];
            if let Some((profile, weight)) = group.profile.zip(group.weight) {
                *sums.entry(profile).or_insert(0) += u64::from(weight) * load.count;
            }
        }
        ProfileWeights(sums)
    }

    /// The share of a profile that belongs to each flow of a group; `None` for a group without one.
    pub(super) fn share(&self, profiles: &[Profile], group: &FlowGroup) -> Option<Contract> {
        let (profile, weight) = group.profile.zip(group.weight)?;
        let sum = self.0.get(&profile).copied()?;
        Some(profiles[profile].contract.contract().share(u64::from(weight), sum))
    }
}

/// Checks that each profile is either divided among all its flows, or used by all of them together.
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
