//! Meters and their packets, and checks that the meters' links can carry the traffic inside the
//! profiles.

use crate::error::{Complaint, Place, Report};
use crate::policy::Chosen;
use crate::port::Class;
use crate::port::fit::{Named, check_node, follows_nothing};
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::{Link, Node, NodeKind};
use crate::scenario::policies::ScenarioParts;
use crate::scenario::profiles::{Profile, ProfileWeights};
use crate::source::Source;
use crate::units::show_rate;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::contract::Contract;
use tidegate_core::meter::MeterKind;
use tidegate_core::params::{Member, NodeContext, Role, Supply};

/// The meters that a group's packets pass on a link, in their order.
pub(super) fn meters<'s>(
    group: &FlowGroup,
    link: &'s Link,
    nodes: &[Node],
    classes: &'s [Class],
) -> impl Iterator<Item = &'s Chosen<MeterKind>> {
    let class = group.class.filter(|_| nodes[link.from].kind == NodeKind::Switch);
    let classes = std::iter::successors(class, |class| classes[*class].parent).map(|class| &classes[class]);
    classes.map(|class| &class.meter).chain([&link.port.meter]).flatten()
}

/// The profile that a flow's packets belong to where they are metered on a link.
#[derive(Clone, Copy)]
enum ProfileAt {
    /// One that flows use together, by its index.
    Shared(usize),
    /// The flow's share of a profile that is divided.
    Share(Contract),
    /// The flow's own contract.
    Own,
}

/// The link's profile; or else the flow's share of its own, or its own.
fn profile_at(group: &FlowGroup, link: &Link, divided: &ProfileWeights, profiles: &[Profile]) -> ProfileAt {
    match (link.profile, divided.share(profiles, group), group.profile) {
        (Some(profile), _, _) | (None, None, Some(profile)) => ProfileAt::Shared(profile),
        (None, Some(share), _) => ProfileAt::Share(share),
        (None, None, None) => ProfileAt::Own,
    }
}

pub(super) fn colours(meter: &Chosen<MeterKind>) -> bool {
    meter.record().role == Role::Meter { colours: true }
}

/// Number of links on which packets pass a meter that colours, or have passed one.
pub(super) fn coloured(links: &[Link], nodes: &[Node], classes: &[Class], groups: &[FlowGroup]) -> u64 {
    let mut coloured = BTreeSet::new();
    for group in groups {
        let mut inside = false;
        for index in &group.route {
            inside |= meters(group, &links[*index], nodes, classes).any(colours);
            if inside {
                coloured.insert(*index);
            }
        }
    }
    coloured.len() as u64
}

/// Checks meters with the profiles that they read, and that no shared profile is promised more than
/// a link carries where its packets are coloured by it.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    let mut told = BTreeSet::new();
    let divided = ProfileWeights::new(parts.groups, parts.loads);
    // Once for each meter, link and profile: a place of a file may be the meter of many links.
    let mut met = BTreeMap::<(Place, usize), (&Chosen<MeterKind>, Vec<Named<'_>>)>::new();
    for load in parts.loads {
        let group = &parts.groups[load.group];
        for index in group.route.iter().copied().filter(|index| parts.links[*index].gate.is_none()) {
            let link = &parts.links[index];
            for meter in meters(group, link, parts.nodes, parts.classes) {
                let (_, members) =
                    met.entry((meter.place_of(""), index)).or_insert_with(|| (meter, Vec::new()));
                let profile = profile_at(group, link, &divided, parts.profiles);
                members.push(member(parts, link, profile, load));
                if let ProfileAt::Shared(profile) = profile
                    && let profile = &parts.profiles[profile]
                    && colours(meter)
                    && link.pace.is_steady()
                    && profile.contract.reserve_bits().is_some_and(|reserve| reserve > link.rate_bits)
                    && told.insert(profile.place)
                {
                    report.add(profile.place, above(profile, link));
                }
            }
        }
    }
    check_round_trips(parts, report);
    for ((_, index), (meter, members)) in met {
        if report.is_full() {
            break;
        }
        let link = &parts.links[index];
        let node = NodeContext {
            link: link.rate,
            steady: link.pace.is_steady(),
            reservable: None,
            supply: Supply::Link,
            members: &[],
        };
        check_node(meter, node, &members, || format!("on link {}", link.name), &mut told, report);
    }
}

/// Checks that meters whose windows follow round-trip times get one: from the transport of data at
/// the first port on their way.
fn check_round_trips(parts: &ScenarioParts<'_>, report: &mut Report) {
    // A place of a file may be the meter of many links.
    let mut followers = BTreeMap::<Place, (&Chosen<MeterKind>, bool)>::new();
    for load in parts.loads {
        let group = &parts.groups[load.group];
        let links = group.route.iter().map(|index| &parts.links[*index]).filter(|link| link.gate.is_none());
        for (hop, link) in links.enumerate() {
            let meters = meters(group, link, parts.nodes, parts.classes);
            for meter in meters.filter(|meter| meter.policy.follows_round_trips().is_some()) {
                let (_, told) = followers.entry(meter.place_of("")).or_insert((meter, false));
                *told |= hop == 0 && measures_round_trips(&group.source);
            }
        }
    }
    for (meter, _) in followers.into_values().filter(|(_, told)| !told) {
        if let Some((place, complaint)) = follows_nothing(meter) {
            report.add(place, complaint);
        }
    }
}

/// Returns true if the sender of a flow measures round-trip times.
fn measures_round_trips(source: &Source) -> bool {
    let Source::Sender { transport, .. } = source else { return false };
    let made = transport.policy.build();
    made.is_ok_and(|made| made.measures_round_trips())
}

fn above(profile: &Profile, link: &Link) -> Complaint {
    let reserve = profile.contract.reserve_bits().unwrap_or(0);
    Complaint::new(format!(
        "profile `{}` has a target of {}, above the rate of link {} ({}), where its packets are metered",
        profile.name,
        show_rate(reserve),
        link.name,
        show_rate(link.rate_bits)
    ))
}

/// The profile of flows that are alike on a link.
fn member<'s>(parts: &ScenarioParts<'s>, link: &Link, profile: ProfileAt, load: &'s Load) -> Named<'s> {
    let (group, count) = (&parts.groups[load.group], load.count);
    let largest = link.charged(load.largest);
    let member = |contract, count| Member { count, contract, largest, traffic: None, signalled: false };
    match profile {
        ProfileAt::Share(share) => Named {
            member: member(share, count),
            name: Box::new(|nth| Cow::Owned(format!("the share of flow `{}`", load.member_name(group, nth)))),
            place: group.place,
            reserve_place: group.place,
        },
        ProfileAt::Shared(profile) => {
            let profile = &parts.profiles[profile];
            Named {
                member: member(profile.contract.contract(), 1),
                name: Box::new(|_| Cow::Owned(format!("profile `{}`", profile.name))),
                place: profile.place,
                reserve_place: profile.place,
            }
        }
        ProfileAt::Own => Named {
            member: member(group.contract.contract(), count),
            name: Box::new(|nth| group.member_name(u32::try_from(nth).unwrap_or(u32::MAX))),
            place: group.place,
            reserve_place: group.reserve_place,
        },
    }
}

/// The first link whose profiles, of all packets that are coloured on the way to it, add up to more
/// than it carries. If packets were coloured by several profiles one after the other, the last one
/// counts: it bounds the traffic in profile.
pub(super) fn oversubscribed(
    links: &[Link],
    nodes: &[Node],
    classes: &[Class],
    profiles: &[Profile],
    groups: &[FlowGroup],
) -> Option<(Place, Complaint)> {
    // Profiles by their index, and flows' own by that of their group. Each is counted once at each
    // link whose port coloured by it, which has a bucket of its own.
    let mut promised = BTreeMap::<usize, BTreeMap<(bool, usize, usize), u128>>::new();
    let loads: Vec<Load> =
        groups.iter().enumerate().map(|(index, group)| Load::of_group(index, group)).collect();
    let divided = ProfileWeights::new(groups, &loads);
    for (ix, group) in groups.iter().enumerate() {
        let own = |bits| u128::from(group.count) * u128::from(bits);
        let promise = |link: usize| match profile_at(group, &links[link], &divided, profiles) {
            ProfileAt::Share(share) => {
                ((false, ix, link), share.reserve.map_or(0, |share| own(share.bits_per_second() as u64)))
            }
            ProfileAt::Shared(profile) => {
                ((true, profile, link), profiles[profile].contract.reserve_bits().map_or(0, u128::from))
            }
            ProfileAt::Own => ((false, ix, link), group.contract.reserve_bits().map_or(0, own)),
        };
        // With several nodes that receive, packets behind a link may not have passed it: this warns
        // too often, not too seldom.
        let mut inside = None;
        for index in &group.route {
            if meters(group, &links[*index], nodes, classes).any(colours) {
                inside = Some(promise(*index));
            }
            if let Some((whose, bits)) = inside {
                promised.entry(*index).or_default().insert(whose, bits);
            }
        }
    }
    promised.into_iter().find_map(|(link, profiles_there)| {
        let Link { name, rate_bits, port, .. } = &links[link];
        let carried = (*rate_bits).min(port.ceiling.unwrap_or(u64::MAX));
        let sum: u128 = profiles_there.values().sum();
        if sum <= u128::from(carried) {
            return None;
        }
        let message = format!(
            "the profiles of the traffic on link {name} add up to {}, and it carries {}: packets inside them may be lost",
            show_rate(u64::try_from(sum).unwrap_or(u64::MAX)),
            show_rate(carried)
        );
        let (shared, first, _) = *profiles_there.keys().next()?;
        let place = if shared { profiles[first].place } else { groups[first].place };
        let help = "the provisioning rule: no link carries less than the sum of the profiles that pass it (Clark and Fang \
                    1998, section III)";
        Some((place, Complaint::new(message).help(help)))
    })
}
