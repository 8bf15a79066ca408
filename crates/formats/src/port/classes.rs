//! The tree of classes.

use crate::error::{Complaint, Place, Report};
use crate::keys::policies::Policies;
use crate::keys::port as keys;
use crate::policy::Chosen;
use crate::port::{ContractSpec, DropperSpec, PortSpec, Stated};
use crate::section::Placed;
use crate::suggest::did_you_mean;
use crate::units::show_rate;
use std::collections::BTreeMap;
use tidegate_core::detector::DetectorKind;
use tidegate_core::meter::MeterKind;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{ClassPlan, MAX_CLASSES, MAX_METERS};
use tidegate_core::units::Rate;

/// The most classes in each other at a port as a file describes it.
pub(crate) const MAX_CLASS_LEVELS: usize = 9;
/// The schedulers that a packet passes there: the port's own, and those of classes.
const DEEPEST: usize = 1 + MAX_CLASS_LEVELS;

/// The most classes in each other with a meter of their own: the port has one as well.
const MAX_METERED: usize = MAX_METERS - 1;

/// A class of flows, present on every switch port.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name, unique among classes.
    pub name: String,
    /// Index of the class that it is part of; `None` directly under the port's scheduler.
    pub parent: Option<usize>,
    /// Scheduler of its flows, or of the classes in it.
    pub scheduler: Chosen<SchedulerKind>,
    /// The meter of its flows' contracts; `None` leaves that to the port.
    pub meter: Option<Chosen<MeterKind>>,
    /// The dropper of its queue; `None` leaves that to the port.
    pub dropper: Option<DropperSpec>,
    /// The detector of flows that do not respond to the drops of its dropper; `None` without one.
    pub detector: Option<Chosen<DetectorKind>>,
    /// Its contract with the scheduler above it.
    pub contract: ContractSpec,
    /// Rate that it never exceeds at a port, in bit/s.
    pub ceiling: Option<u64>,
    /// Depth in bytes of the bucket of its ceiling; `None` for none.
    pub ceiling_burst: Option<u32>,
    /// Place of its statement in the file.
    pub place: Place,
}

impl Class {
    /// The droppers that guard its packets beside its own: those of the classes above it, which are
    /// found by their index, and that of its port.
    pub fn droppers_above<'c>(
        &self,
        class: impl Fn(usize) -> &'c Class,
        port: &'c PortSpec,
    ) -> Vec<&'c DropperSpec> {
        let classes = std::iter::successors(self.parent, |ix| class(*ix).parent);
        classes.map(|ix| &class(ix).dropper).chain([&port.dropper]).flatten().collect()
    }

    /// The class at a port, under the droppers `above`.
    pub fn plan(&self, above: &[&DropperSpec]) -> ClassPlan {
        let dropper = self.dropper.as_ref().filter(|own| above.iter().all(|other| !own.is_done_by(other)));
        let meter = self.meter.as_ref().map(|meter| meter.policy.clone());
        ClassPlan {
            parent: self.parent.map(|parent| parent as u16),
            contract: self.contract.contract(),
            ceiling: self.ceiling.and_then(Rate::from_bits_per_second),
            ceiling_burst: self.ceiling_burst,
            meters: meter.into_iter().collect(),
            dropper: dropper.map(|dropper| dropper.plan(self.detector.as_ref())),
            ..ClassPlan::new(self.scheduler.policy.clone())
        }
    }
}

/// Builds the classes. `None` after something was reported that makes flows' references
/// meaningless.
pub(crate) fn build<'c>(
    tables: impl ExactSizeIterator<Item = (Place, &'c keys::Class)> + Clone,
    report: &mut Report,
) -> Option<Vec<Class>> {
    if let Some((place, _)) = tables.clone().nth(MAX_CLASSES) {
        report.add(place, Complaint::new(format!("there are more than {MAX_CLASSES} classes")));
        return None;
    }
    let mut by_name = BTreeMap::new();
    for (index, (_, class)) in tables.clone().enumerate() {
        let name = &**class.name;
        if by_name.insert(name, index).is_some() {
            report.add(class.name.place, Complaint::new(format!("there is already a class `{name}`")));
        }
    }
    let mut classes = Vec::with_capacity(tables.len());
    for (place, class) in tables.clone() {
        let parent = match class.parent.as_deref() {
            None => None,
            Some(name) => Some(find(&by_name, name, class.parent.place, report)?),
        };
        let contract = ContractSpec::read(&class.contract);
        let Stated { scheduler, dropper, .. } = Stated::read(Policies::of_class(class), report)?;
        let Some(scheduler) = scheduler else {
            let complaint = Complaint::new(format!("class `{}` needs `policy`, or `scheduler`", class.name));
            report.add(place, complaint.help("as in policy = \"fifo\""));
            return None;
        };
        check_ceiling(&class.ceiling, &contract, report);
        classes.push(Class {
            name: class.name.to_string(),
            parent,
            scheduler,
            meter: Chosen::read(class.meter.as_ref(), report),
            dropper,
            detector: Chosen::read(class.watch.detector.as_ref(), report),
            contract,
            ceiling: *class.ceiling,
            ceiling_burst: class.ceiling_burst.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
            place,
        });
    }
    let mut sound = true;
    for ((index, class), (_, keys)) in classes.iter().enumerate().zip(tables) {
        if depth(&classes, class) > DEEPEST {
            let message = format!("class `{}` is nested too deeply, or contains itself", class.name);
            let help = format!("at most {MAX_CLASS_LEVELS} classes are in each other");
            report.add(keys.parent.place, Complaint::new(message).help(help));
            sound = false;
        } else if class.parent.is_some_and(|parent| parent > index) {
            let message = format!("class `{}` stands before the class that contains it", class.name);
            report.add(keys.parent.place, Complaint::new(message).help("state that one first"));
            sound = false;
        } else if class.meter.is_some() && metered(&classes, class) > MAX_METERED {
            let message = format!("class `{}` has one meter too many around it", class.name);
            let help = format!("at most {MAX_METERED} classes with meters are in each other");
            report.add(keys.meter.place, Complaint::new(message).help(help));
        }
    }
    sound.then_some(classes)
}

/// The class with this name, or a complaint with the nearest one.
pub(crate) fn find(
    by_name: &BTreeMap<&str, usize>,
    name: &str,
    place: Place,
    report: &mut Report,
) -> Option<usize> {
    let found = by_name.get(name).copied();
    if found.is_none() && !report.is_full() {
        let mut complaint = Complaint::new(format!("there is no class `{name}`"));
        complaint.help =
            did_you_mean(name, by_name.keys().copied()).or_else(|| Some("add a [[class]]".to_owned()));
        report.add(place, complaint);
    }
    found
}

/// The class in which a flow is to be; `inner` are those that have classes in them. Flows compete
/// with flows, and classes with classes: a class has only one of the two in it.
pub(crate) fn leaf(
    classes: &BTreeMap<&str, usize>,
    inner: &[usize],
    name: &str,
    place: Place,
    report: &mut Report,
) -> Option<usize> {
    let class = find(classes, name, place, report)?;
    if inner.contains(&class) {
        let complaint = Complaint::new(format!("class `{name}` has classes in it, so no flow can be in it"))
            .help("put the flow into one of those classes");
        report.add(place, complaint);
    }
    Some(class)
}

/// The bucket of a ceiling needs a ceiling, if only in one direction.
pub(crate) fn check_burst(class: &keys::Class, has_ceiling: bool, report: &mut Report) {
    if class.ceiling_burst.given && !has_ceiling {
        let complaint = Complaint::new("`ceiling_burst` has no effect on a class without a `ceiling`");
        report.add(class.ceiling_burst.place, complaint);
    }
}

/// A ceiling below the reservation could never give the reservation.
pub(crate) fn check_ceiling(stated: &Placed<Option<u64>>, contract: &ContractSpec, report: &mut Report) {
    let (Some(ceiling), Some(reserve)) = (**stated, contract.reserve_bits()) else { return };
    if ceiling < reserve {
        let message =
            format!("`ceiling` ({}) is below `reserve` ({})", show_rate(ceiling), show_rate(reserve));
        report.add(stated.place, Complaint::new(message));
    }
}

/// Number of meters of a class and of the classes that it is in, of which none is part of itself.
fn metered(classes: &[Class], class: &Class) -> usize {
    let around = std::iter::successors(Some(class), |class| Some(&classes[class.parent?]));
    around.filter(|class| class.meter.is_some()).count()
}

/// Schedulers from the port's own down to this class's; one too many for a class that is part of
/// itself.
fn depth(classes: &[Class], class: &Class) -> usize {
    let mut depth = 2;
    let mut above = class.parent;
    while let Some(parent) = above {
        depth += 1;
        if depth > DEEPEST {
            break;
        }
        above = classes[parent].parent;
    }
    depth
}
