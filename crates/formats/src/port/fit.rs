//! Checks that the policies of a node fit its server and its members.

use crate::error::{Complaint, Place, Report};
use crate::policy::Chosen;
use crate::port::{Class, DropperSpec};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tidegate_core::detector::DetectorKind;
use tidegate_core::meter::MeterKind;
use tidegate_core::params::{Fault, Key, Member, NamedPolicy, NodeContext};
use tidegate_core::scheduler::SchedulerKind;

/// Checks meters and droppers against their link; reports the first error of each place.
pub(crate) fn check_guards<'c>(
    meters: impl Iterator<Item = &'c Chosen<MeterKind>>,
    droppers: impl Iterator<Item = &'c DropperSpec>,
    node: &NodeContext<'_>,
    at: &str,
    told: &mut BTreeSet<Place>,
    report: &mut Report,
) {
    let faults = meters.filter_map(|meter| fault_of(meter, node));
    for (place, fault) in faults.chain(droppers.filter_map(|dropper| fault_of(&dropper.chosen, node))) {
        if told.insert(place) {
            report.add(place, Complaint::new(format!("{} {at}", fault.message)));
        }
    }
}

/// Checks that each detector has a dropper, whose drops it sees; reports the first error of each
/// place.
pub(crate) fn check_detectors<'c>(
    ports: impl Iterator<Item = (&'c Option<Chosen<DetectorKind>>, &'c Option<DropperSpec>)>,
    at: &str,
    told: &mut BTreeSet<Place>,
    report: &mut Report,
) {
    for (detector, dropper) in ports {
        let Some(detector) = detector.as_ref().filter(|_| dropper.is_none()) else { continue };
        let place = detector.place_of("");
        if told.insert(place) {
            let message = format!("a detector looks at the drops of a dropper, and there is none {at}");
            report.add(place, Complaint::new(message).help("add a `dropper` beside it"));
        }
    }
}

/// A policy's fault at a node, and the place where it was written.
pub(crate) fn fault_of<K: NamedPolicy>(chosen: &Chosen<K>, node: &NodeContext<'_>) -> Option<(Place, Fault)> {
    let fault = chosen.policy.check_at(node).err()?;
    let (Key::Param(key) | Key::Member { key, .. }) = fault.key;
    Some((chosen.place_of(key), fault))
}

/// Reports a meter that is told to follow round-trip times where none are measured: the place, and
/// the mistake; `None` for one that follows none.
pub(crate) fn follows_nothing(meter: &Chosen<MeterKind>) -> Option<(Place, Complaint)> {
    let key = meter.policy.follows_round_trips()?;
    let message = format!(
        "`{key}` has nothing to follow: no round-trip times are measured of what is metered here, at the \
         first port on its way"
    );
    let help = format!(
        "leave out `{key}`, or meter the data of a connection whose transport measures them, at its host"
    );
    Some((meter.place_of(key), Complaint::new(message).help(help)))
}

/// Checks that no class has slots within the slots of a scheduler above it; of mistakes at one
/// place, the first is told.
pub(crate) fn check_slots<'c>(
    port: &Chosen<SchedulerKind>,
    classes: impl Iterator<Item = &'c Class> + Clone,
    told: &mut BTreeSet<Place>,
    report: &mut Report,
) {
    for class in classes.clone().filter(|class| class.scheduler.record().is_slotted()) {
        let parent = |class: &&'c Class| classes.clone().nth(class.parent?);
        let mut above =
            std::iter::successors(parent(&class), parent).map(|class| &class.scheduler).chain([port]);
        let place = class.scheduler.place_of("scheduler");
        if above.any(|above| above.record().is_slotted()) && told.insert(place) {
            let message =
                format!("class `{}` has slots within the slots of a scheduler above it", class.name);
            let help =
                "their slots may never begin at the same time: choose another scheduler for one of the two";
            report.add(place, Complaint::new(message).help(help));
        }
    }
}

/// Members of a node, as a file names them.
pub(crate) struct Named<'a> {
    pub(crate) member: Member,
    /// Name of the member with a number, from 0: flow `a/1`.
    pub(crate) name: Box<dyn Fn(u64) -> Cow<'a, str> + 'a>,
    pub(crate) place: Place,
    pub(crate) reserve_place: Place,
}

/// True if one of these members has a deadline: only then does the guarantee of a class matter.
pub(crate) fn have_deadlines(members: &[Named<'_>]) -> bool {
    members.iter().any(|named| named.member.contract.deadline.is_some())
}

/// Checks a policy with its members: a scheduler at a server, or a meter; reports the first error
/// of each place.
pub(crate) fn check_node<K: NamedPolicy>(
    policy: &Chosen<K>,
    server: NodeContext<'_>,
    named: &[Named<'_>],
    at: impl Fn() -> String,
    told: &mut BTreeSet<Place>,
    report: &mut Report,
) {
    let members: Vec<Member> = named.iter().map(|one| one.member).collect();
    let Err(fault) = policy.policy.check_at(&NodeContext { members: &members, ..server }) else {
        return;
    };
    let (place, message) = match fault.key {
        Key::Param(param) => (policy.place_of(param), format!("{} {}", fault.message, at())),
        Key::Member { index, nth, key } => {
            let one = &named[index];
            let place = if key == "reserve" { one.reserve_place } else { one.place };
            (place, format!("{} {}: {}", (one.name)(nth), at(), fault.message))
        }
    };
    if told.insert(place) {
        report.add(place, Complaint::new(message));
    }
}
