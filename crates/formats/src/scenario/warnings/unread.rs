//! Contracts that no policy reads.

use super::found::{Found, and_more};
use crate::error::{Complaint, Place};
use crate::policy::Chosen;
use crate::port::ContractSpec;
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::scenario::metered::meters;
use crate::scenario::network::Link;
use crate::source::Source;
use std::collections::BTreeMap;
use tidegate_core::params::{CONTRACT, NamedPolicy};
use tidegate_core::scheduler::SchedulerKind;

/// Keys that the set-up of flows reads where there is `admission`.
const BOOKED: [&str; 2] = ["reserve", "interval"];
/// Keys that ask for service. The others bound the traffic that the flow itself sends, or rank it
/// for the schedulers that go by priority: alone, they are stated for any scheduler.
const ASKS: [&str; 3] = ["reserve", "deadline", "head_start"];
/// The key of a flow that a source may read.
const PEAK: &str = "peak";
/// The most schedulers that a help names.
const MAX_NAMED: usize = 6;

/// Keys of contracts that no policy on the way reads; for each set of keys one message, about the
/// first flow or class.
pub(super) fn contracts(scenario: &Scenario) -> Vec<Found> {
    let mut flows: BTreeMap<Vec<&str>, (&FlowGroup, usize)> = BTreeMap::new();
    for group in &scenario.groups {
        let keys: Vec<&str> = stated(&group.contract).filter(|key| !is_read(scenario, group, key)).collect();
        if keys.iter().any(|key| ASKS.contains(key)) {
            flows.entry(keys).and_modify(|(_, more)| *more += 1).or_insert((group, 0));
        }
    }
    let flows = flows.into_iter().map(|(keys, (group, more))| {
        let who = and_more(&group.name, more, "flow");
        let place = if keys.contains(&"reserve") { group.reserve_place } else { group.place };
        let at = group.route.iter().map(|link| &scenario.links[*link]);
        found(place, &keys, &who, at.map(|link| (link, scenario.scheduler_at(group, link).record().title)))
    });
    let mut classes: BTreeMap<Vec<&str>, (usize, usize)> = BTreeMap::new();
    for (index, class) in scenario.classes.iter().enumerate() {
        let mut above = above(scenario, index).map(|(_, scheduler)| scheduler.policy.record()).peekable();
        if above.peek().is_none() {
            // No flow is in it.
            continue;
        }
        let reads: Vec<_> = above.flat_map(|record| record.reads).collect();
        let keys: Vec<&str> = stated(&class.contract).filter(|key| !reads.contains(&key)).collect();
        if keys.iter().any(|key| ASKS.contains(key)) {
            classes.entry(keys).and_modify(|(_, more)| *more += 1).or_insert((index, 0));
        }
    }
    let classes = classes.into_iter().map(|(keys, (index, more))| {
        let class = &scenario.classes[index];
        let who = format!("class {}", and_more(&class.name, more, "class"));
        let at = above(scenario, index).map(|(link, scheduler)| (link, scheduler.record().title));
        found(class.place, &keys, &who, at)
    });
    flows.chain(classes).collect()
}

/// Flows with a profile that no meter on their way reads.
pub(super) fn profiles(scenario: &Scenario) -> Option<Found> {
    let metered = |group: &FlowGroup, contract: &ContractSpec| {
        group.route.iter().any(|link| {
            let link = &scenario.links[*link];
            // Without the key that it needs, a meter has nothing to do.
            let works = |needs: Option<&str>| needs.is_none_or(|key| contract.value(key).is_some());
            let mut meters = meters(group, link, &scenario.nodes, &scenario.classes);
            link.gate.is_some() || meters.any(|meter| works(meter.record().needs))
        })
    };
    let mut idle = scenario.groups.iter().filter_map(|group| {
        let profile = &scenario.profiles[group.profile?];
        (!metered(group, &profile.contract)).then_some((group, profile))
    });
    let (group, profile) = idle.next()?;
    let message = format!(
        "no meter on the way of {} reads profile `{}`",
        and_more(&group.name, idle.count(), "flow"),
        profile.name
    );
    Some((group.place, Complaint::new(message).help("give a port or a host on its way a `meter`")))
}

/// The keys that a file states, other than as their defaults are.
fn stated(contract: &ContractSpec) -> impl Iterator<Item = &'static str> {
    let changed = CONTRACT.iter().filter(|param| {
        let value = contract.value(param.name);
        value.is_some() && value != (param.default)().as_ref()
    });
    changed.map(|param| param.name)
}

/// Returns true if something reads a key of a flow's contract: a policy on its way, its envelope,
/// its source or admission.
fn is_read(scenario: &Scenario, group: &FlowGroup, key: &str) -> bool {
    let envelope = group.envelope.as_ref().is_some_and(|envelope| envelope.record().reads.contains(&key));
    let source = key == PEAK && matches!(group.source, Source::Video { peak: Some(_), .. });
    let booked = scenario.admission.is_some() && BOOKED.contains(&key);
    envelope
        || source
        || booked
        || group.route.iter().any(|link| {
            let link = &scenario.links[*link];
            // A gate's file states the promises to its flows.
            link.gate.is_some() || is_read_at(scenario, group, link, key)
        })
}

fn is_read_at(scenario: &Scenario, group: &FlowGroup, link: &Link, key: &str) -> bool {
    let scheduler = scenario.scheduler_at(group, link).record().reads.contains(&key);
    // A shared profile takes the place of the flow's own contract.
    let own = link.profile.is_none() && group.profile.is_none();
    let meter = own
        && meters(group, link, &scenario.nodes, &scenario.classes).any(|meter| {
            let record = meter.record();
            let works = record.needs.is_none_or(|needs| group.contract.value(needs).is_some());
            works && record.reads.contains(&key)
        });
    let classes = scenario.classes_at(group, link).map(|class| &scenario.classes[class].detector);
    let mut detectors = classes.chain([&link.port.detector]).flatten();
    let detector = detectors.any(|detector| detector.record().reads.contains(&key));
    let dropper = scenario.droppers_at(group, link).any(|one| one.chosen.record().reads.contains(&key));
    scheduler || meter || detector || dropper
}

/// The schedulers above a class, with the links that its flows use.
fn above(scenario: &Scenario, class: usize) -> impl Iterator<Item = (&Link, &Chosen<SchedulerKind>)> {
    let inside = scenario.groups.iter().flat_map(|group| group.route.iter().map(move |link| (group, *link)));
    let inside = inside.map(|(group, link)| (group, &scenario.links[link]));
    let used = inside
        .filter(move |(group, link)| scenario.classes_at(group, link).any(|within| within == class))
        .map(|(_, link)| link);
    used.map(move |link| {
        let parent = scenario.classes[class].parent;
        (link, parent.map_or(&link.port.scheduler, |parent| &scenario.classes[parent].scheduler))
    })
}

fn found<'s>(
    place: Place,
    keys: &[&str],
    who: &str,
    at: impl Iterator<Item = (&'s Link, &'static str)>,
) -> Found {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let (what, verb, them) = match &quoted[..] {
        [one] => (one.clone(), "has", "it"),
        [before @ .., last] => (format!("{} and {last}", before.join(", ")), "have", "them"),
        [] => (String::new(), "has", "it"),
    };
    let narrowest = at.min_by_key(|(link, _)| link.rate_bits);
    let scheduler =
        narrowest.map(|(link, title)| format!(": {title} on link {} does not read {them}", link.name));
    let complaint =
        Complaint::new(format!("{what} of {who} {verb} no effect{}", scheduler.unwrap_or_default()));
    let key = keys.iter().find(|key| ASKS.contains(key)).copied().unwrap_or_default();
    let records = SchedulerKind::records().into_iter().filter(|record| record.reads.contains(&key));
    let readers: Vec<&str> = records.map(|record| record.name).take(MAX_NAMED).collect();
    (place, complaint.help(format!("schedulers that read `{key}`: {}", readers.join(", "))))
}
