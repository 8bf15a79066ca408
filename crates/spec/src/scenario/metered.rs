//! Whose packets are metered where, and whether the meters' links can carry what is inside the profiles.

use crate::error::{Complaint, Place, Report};
use crate::policy::Chosen;
use crate::port::Class;
use crate::port::fit::{Named, check_node};
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::{Link, Node, NodeKind};
use crate::scenario::policies::Parts;
use crate::scenario::profiles::Profile;
use crate::units::show_rate;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::meter::BuiltInMeter;
use tidegate_core::params::{Member, NodeContext, Role};

/// The meters that a group's packets pass on a link, in their order.
fn meters<'s>(
    group: &FlowGroup,
    link: &'s Link,
    nodes: &[Node],
    classes: &'s [Class],
) -> impl Iterator<Item = &'s Chosen<BuiltInMeter>> {
    let class = group.class.filter(|_| nodes[link.from].kind == NodeKind::Switch);
    let classes = std::iter::successors(class, |class| classes[*class].parent).map(|class| &classes[class]);
    classes.map(|class| &class.meter).chain([&link.port.meter]).flatten()
}

fn colours(meter: &Chosen<BuiltInMeter>) -> bool {
    meter.record().role == Role::Meter { colours: true }
}

/// Checks meters with the profiles that they read, and that no shared profile is promised more than a link carries where
/// its packets are coloured by it.
pub(super) fn check(parts: &Parts<'_>, report: &mut Report) {
    let mut told = BTreeSet::new();
    // Once for each meter, link and profile: a place of a file may be the meter of many links.
    let mut met = BTreeMap::<(Place, usize), (&Chosen<BuiltInMeter>, Vec<Named<'_>>)>::new();
    for load in parts.loads {
        let group = &parts.groups[load.group];
        for index in group.route.iter().copied().filter(|index| parts.links[*index].gate.is_none()) {
            let link = &parts.links[index];
            for meter in meters(group, link, parts.nodes, parts.classes) {
                let (_, members) =
                    met.entry((meter.place_of(""), index)).or_insert_with(|| (meter, Vec::new()));
                members.push(member(parts, load.group, load.count, load.largest));
                if let Some(profile) = group.profile.map(|profile| &parts.profiles[profile])
                    && colours(meter)
                    && link.trace.is_none()
                    && profile.contract.reserve_bits().is_some_and(|reserve| reserve > link.rate_bits)
                    && told.insert(profile.place)
                {
                    report.add(profile.place, above(profile, link));
                }
            }
        }
    }
    for ((_, index), (meter, members)) in met {
        if report.is_full() {
            break;
        }
        let link = &parts.links[index];
        let node =
            NodeContext { link: link.rate, steady: link.trace.is_none(), reservable: None, members: &[] };
        check_node(meter, node, &members, || format!("on link {}", link.name), &mut told, report);
    }
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

/// The profile of flows that are alike: their own, or the one that they share.
fn member<'s>(parts: &Parts<'s>, group: usize, count: u64, largest: u32) -> Named<'s> {
    let group = &parts.groups[group];
    let member = |contract, count| Member { count, contract, largest, signalled: false };
    match group.profile.map(|profile| &parts.profiles[profile]) {
        Some(profile) => Named {
            member: member(profile.contract.contract(), 1),
            name: Box::new(|_| Cow::Owned(format!("profile `{}`", profile.name))),
            place: profile.place,
            reserve_place: profile.place,
        },
        None => Named {
            member: member(group.contract.contract(), count),
            name: Box::new(|nth| group.member_name(u32::try_from(nth).unwrap_or(u32::MAX))),
            place: group.place,
            reserve_place: group.reserve_place,
        },
    }
}

/// The first link whose detector looks at drops of packets out of profile, where no packet is coloured: neither by a meter
/// on its way nor by an envelope, and none comes with a code point of its own.
pub(super) fn uncoloured(
    links: &[Link],
    nodes: &[Node],
    classes: &[Class],
    groups: &[FlowGroup],
) -> Option<(Place, Complaint)> {
    let is_coloured = |group: &FlowGroup, until: usize| {
        let mut way = group.route.iter().take_while(|link| **link != until).chain([&until]);
        let own = group.envelope.is_some() || group.headers.is_some();
        own || way.any(|link| meters(group, &links[*link], nodes, classes).any(colours))
    };
    links.iter().enumerate().filter(|(_, link)| link.gate.is_none()).find_map(|(index, link)| {
        let detector = link.port.detector.as_ref().filter(|detector| detector.policy.reads_colours())?;
        let mut passing = groups.iter().filter(|group| group.route.contains(&index)).peekable();
        passing.peek()?;
        if passing.any(|group| is_coloured(group, index)) {
            return None;
        }
        let message = format!(
            "the detector of link {} looks at drops of packets out of profile, and no meter colours what passes there: it \
             finds nothing",
            link.name
        );
        let help = "put a meter that colours on the way, or let the detector look at all drops";
        Some((detector.place_of("drops"), Complaint::new(message).help(help)))
    })
}

/// The first link whose profiles, of all packets that are coloured on the way to it, sum up to more than it carries.
pub(super) fn oversubscribed(
    links: &[Link],
    nodes: &[Node],
    classes: &[Class],
    profiles: &[Profile],
    groups: &[FlowGroup],
) -> Option<(Place, Complaint)> {
    // Profiles by their index, and flows' own by that of their group: each is provisioned for once.
    let mut promised = BTreeMap::<usize, BTreeMap<(bool, usize), u128>>::new();
    for (ix, group) in groups.iter().enumerate() {
        let own = |bits| u128::from(group.count) * u128::from(bits);
        let (whose, bits) = match group.profile {
            Some(profile) => {
                ((true, profile), profiles[profile].contract.reserve_bits().map_or(0, u128::from))
            }
            None => ((false, ix), group.contract.reserve_bits().map_or(0, own)),
        };
        let coloured = |link: &Link| meters(group, link, nodes, classes).any(colours);
        // With several nodes that receive, what is behind a link may not have passed it: more is warned of, not less.
        let on_its_way = group.route.iter().skip_while(|link| !coloured(&links[**link]));
        for link in on_its_way {
            promised.entry(*link).or_default().insert(whose, bits);
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
            "the profiles of what passes link {name} sum up to {}, and it carries {}: what is inside them may be lost",
            show_rate(u64::try_from(sum).unwrap_or(u64::MAX)),
            show_rate(carried)
        );
        let (shared, first) = *profiles_there.keys().next()?;
        let place = if shared { profiles[first].place } else { groups[first].place };
        let help = "the provisioning rule: no link carries less than the sum of the profiles that pass it (Clark and Fang \
                    1998, section III)";
        Some((place, Complaint::new(message).help(help)))
    })
}
