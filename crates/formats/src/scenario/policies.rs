//! Checks that policies fit their links and flows.

use crate::error::{Complaint, Report};
use crate::policy::Chosen;
use crate::port::fit::{
    Named, check_detectors, check_guards, check_node, check_slots, fault_of, have_deadlines,
};
use crate::port::{Class, interval_fault, workahead_fault};
use crate::scenario::admission::Admission;
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::{Link, Node, NodeKind};
use crate::scenario::profiles::Profile;
use crate::source::Source;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::contract::Contract;
use tidegate_core::params::{Carry, Guarantee, Member, NodeContext, Supply, Traffic};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::Rate;

/// A scenario's network and its flows.
pub(super) struct ScenarioParts<'s> {
    pub links: &'s [Link],
    pub nodes: &'s [Node],
    pub classes: &'s [Class],
    pub profiles: &'s [Profile],
    pub groups: &'s [FlowGroup],
    pub loads: &'s [Load],
    pub admission: Option<Admission>,
}

/// Checks the policies of every link and every envelope.
pub(super) fn check(parts: &ScenarioParts<'_>, report: &mut Report) {
    for load in parts.loads {
        let group = &parts.groups[load.group];
        check_flow(group, load, parts.links, report);
    }
    for group in parts.groups {
        check_carry(group, parts, report);
    }
    let divided = DividedLoads::new(parts);
    let mut told = BTreeSet::new();
    for (index, link) in parts.links.iter().enumerate().filter(|(_, link)| link.gate.is_none()) {
        if report.is_full() {
            break;
        }
        let steady = link.pace.is_steady();
        let node =
            NodeContext { link: link.rate, steady, reservable: None, supply: Supply::Link, members: &[] };
        let port = &link.port;
        let below = match parts.nodes[link.from].kind {
            NodeKind::Switch => parts.classes,
            NodeKind::Host => &[],
        };
        let meters = std::iter::once(&port.meter).chain(below.iter().map(|class| &class.meter));
        let droppers = std::iter::once(&port.dropper).chain(below.iter().map(|class| &class.dropper));
        let on_link = format!("on link {}", link.name);
        check_guards(meters.flatten(), droppers.flatten(), &node, &on_link, &mut told, report);
        let detectors = below.iter().map(|class| (&class.detector, &class.dropper));
        let detectors = std::iter::once((&port.detector, &port.dropper)).chain(detectors);
        check_detectors(detectors, &on_link, &mut told, report);
        check_slots(&port.scheduler, below.iter(), &mut told, report);
        let root = std::iter::once((None, &port.scheduler));
        let inner = below.iter().enumerate().map(|(class, one)| (Some(class), &one.scheduler));
        for (class, scheduler) in root.chain(inner) {
            let members = match scheduler.policy.record().divides {
                true => divided.members(index, class, below),
                false => Vec::new(),
            };
            let at = || match class {
                None => format!("on link {}", link.name),
                Some(class) => format!("in class `{}` on link {}", below[class].name, link.name),
            };
            let reservable = parts.admission.filter(|_| class.is_none());
            let reservable = reservable.map(|admission| admission.reservable(link));
            let rate = server_rate(link.rate, port.ceiling, class, below);
            let supply = match class {
                Some(_) if have_deadlines(&members) => Supply::Class(divided.guarantee(index, class, below)),
                Some(_) => Supply::Class(None),
                None => Supply::Link,
            };
            let server = NodeContext { link: rate, steady, reservable, supply, members: &[] };
            check_node(scheduler, server, &members, at, &mut told, report);
        }
    }
}

/// The rate of the server behind a port's own scheduler, or behind that of one of the port's
/// classes: the link's, or the least ceiling on the way.
fn server_rate(link: Rate, port: Option<u64>, class: Option<usize>, classes: &[Class]) -> Rate {
    let upwards = std::iter::successors(class, |class| classes[*class].parent);
    let ceilings = upwards.map(|class| classes[class].ceiling).chain([port]);
    ceilings.flatten().filter_map(Rate::from_bits_per_second).fold(link, Rate::min)
}

/// Checks a flow's declaration against its packets.
fn check_flow(group: &FlowGroup, load: &Load, links: &[Link], report: &mut Report) {
    let contract = group.contract.contract();
    if let Some(complaint) = interval_fault(&contract, load.largest) {
        report.add(group.interval_place, complaint);
    }
    if let Some(complaint) = workahead_fault(&contract, load.largest) {
        report.add(group.workahead_place, complaint);
    }
    let Some(first) = group.route.first() else { return };
    let link = &links[*first];
    let members = [Member {
        count: load.count,
        contract,
        largest: link.charged(load.largest),
        traffic: None,
        signalled: false,
    }];
    let node = NodeContext {
        link: link.rate,
        steady: link.pace.is_steady(),
        reservable: None,
        supply: Supply::Link,
        members: &members,
    };
    let envelope = group.envelope.as_ref().and_then(|envelope| fault_of(envelope, &node));
    let transport = match &group.source {
        Source::Sender { transport, .. } => fault_of(transport, &node),
        _ => None,
    };
    for (place, fault) in envelope.into_iter().chain(transport) {
        report.add(place, Complaint::new(fault.message));
    }
}

/// Checks that the value that one hop writes into a flow's packets is the one that the next hop
/// reads there.
fn check_carry(group: &FlowGroup, parts: &ScenarioParts<'_>, report: &mut Report) {
    let carrying = group.route.iter().filter_map(|link| {
        let link = &parts.links[*link];
        let in_class = group.class.filter(|_| parts.nodes[link.from].kind == NodeKind::Switch);
        let scheduler = in_class.map_or(&link.port.scheduler, |class| &parts.classes[class].scheduler);
        let record = scheduler.policy.record();
        (record.carries != Carry::Nothing).then_some((link, record))
    });
    let carrying: Vec<_> = carrying.collect();
    let other = carrying.windows(2).find(|pair| pair[0].1.carries != pair[1].1.carries);
    if let Some([(link, record), (other_link, other)]) = other {
        let message = format!(
            "{} on link {} writes a value into its packets that {} on link {} reads as another",
            record.title, link.name, other.title, other_link.name
        );
        let help = "give all links of its route that use such a value the same scheduler";
        report.add(group.place, Complaint::new(message).help(help));
    }
}

/// The flows that pass links which a scheduler divides among its members.
struct DividedLoads<'s> {
    parts: &'s ScenarioParts<'s>,
    /// Indexes of loads, by link.
    loads: BTreeMap<usize, Vec<usize>>,
}

impl<'s> DividedLoads<'s> {
    fn new(parts: &'s ScenarioParts<'s>) -> DividedLoads<'s> {
        let divides = |scheduler: &Chosen<SchedulerKind>| scheduler.policy.record().divides;
        let in_class = parts.classes.iter().any(|class| divides(&class.scheduler));
        let mut loads = BTreeMap::<usize, Vec<usize>>::new();
        for (index, load) in parts.loads.iter().enumerate() {
            for link in &parts.groups[load.group].route {
                if in_class || divides(&parts.links[*link].port.scheduler) {
                    loads.entry(*link).or_default().push(index);
                }
            }
        }
        DividedLoads { parts, loads }
    }

    /// The members of a class at a link, or of its root: in the order in which a switch opens them,
    /// classes before flows.
    fn members(&self, link: usize, class: Option<usize>, classes: &'s [Class]) -> Vec<Named<'s>> {
        let loads = self.loads.get(&link).map_or(&[][..], Vec::as_slice);
        let is_within = |mut at: Option<usize>, outer: usize| {
            while let Some(class) = at {
                if class == outer {
                    return true;
                }
                at = classes[class].parent;
            }
            false
        };
        let class_of = |load: &Load| self.parts.groups[load.group].class.filter(|_| !classes.is_empty());
        let mut members = Vec::new();
        for (index, one) in classes.iter().enumerate().filter(|(_, one)| one.parent == class) {
            let inside = loads.iter().map(|load| &self.parts.loads[*load]);
            let largest =
                inside.filter(|load| is_within(class_of(load), index)).map(|load| load.largest).max();
            members.push(Named {
                member: Member {
                    count: 1,
                    contract: one.contract.contract(),
                    largest: self.parts.links[link].charged(largest.unwrap_or(0)),
                    traffic: self.traffic(link, index, classes),
                    signalled: false,
                },
                name: Box::new(|_| Cow::Owned(format!("class `{}`", one.name))),
                place: one.place,
                reserve_place: one.place,
            });
        }
        for load in loads.iter().map(|load| &self.parts.loads[*load]) {
            if class_of(load) == class {
                members.extend(self.flows(load, link));
            }
        }
        members
    }

    /// Total traffic of the flows in a class, and in classes within it; `None` where one does not
    /// state it.
    fn traffic(&self, link: usize, outer: usize, classes: &[Class]) -> Option<Traffic> {
        let loads = self.loads.get(&link).map_or(&[][..], Vec::as_slice);
        let mut sum = Traffic { burst: 0.0, rate: 0.0 };
        for load in loads.iter().map(|load| &self.parts.loads[*load]) {
            let group = &self.parts.groups[load.group];
            let mut upwards = std::iter::successors(group.class, |class| classes[*class].parent);
            if upwards.any(|class| class == outer) {
                sum = sum.and(Traffic::stated(&group.contract.contract(), load.count)?);
            }
        }
        Some(sum)
    }

    /// Guarantee of the schedulers above a class at a link, or to the port's own scheduler.
    fn guarantee(&self, link: usize, class: Option<usize>, classes: &'s [Class]) -> Option<Guarantee> {
        let port = &self.parts.links[link];
        let Some(class) = class else {
            let rate = server_rate(port.rate, port.port.ceiling, None, classes);
            return Some(Guarantee::of_link(rate));
        };
        let parent = classes[class].parent;
        let server = self.guarantee(link, parent, classes)?;
        let scheduler = parent.map_or(&port.port.scheduler, |parent| &classes[parent].scheduler);
        let members: Vec<Member> = self.members(link, parent, classes).iter().map(|one| one.member).collect();
        // Classes come first, in the order of the file.
        let place = classes[..class].iter().filter(|other| other.parent == parent).count();
        // A class under a ceiling loses turns to longer packets of others, and one that returns from a
        // ceiling is served before others.
        match self.has_ceilings(link, parent, classes) {
            true => None,
            false => scheduler.policy.guarantee(server, &members, place),
        }
    }

    /// Returns true if a flow or a class in this class has a ceiling.
    fn has_ceilings(&self, link: usize, parent: Option<usize>, classes: &[Class]) -> bool {
        let loads = self.loads.get(&link).map_or(&[][..], Vec::as_slice);
        let groups = loads.iter().map(|load| &self.parts.groups[self.parts.loads[*load].group]);
        let mut flows = groups.filter(|group| group.class == parent);
        let mut inner = classes.iter().filter(|class| class.parent == parent);
        inner.any(|class| class.ceiling.is_some()) || flows.any(|group| group.ceiling.is_some())
    }

    /// Flows at a link with their reservations, and with those that they will request while they run.
    fn flows(&self, load: &'s Load, link: usize) -> impl Iterator<Item = Named<'s>> {
        let group = &self.parts.groups[load.group];
        let signalled = self.parts.admission.is_some() && group.contract.reserve_bits().is_some();
        let contract = group.contract.contract();
        let largest = self.parts.links[link].charged(load.largest);
        let changes = group.changes.iter().filter(move |_| signalled);
        let changed = changes
            .map(move |change| Contract { reserve: Rate::from_bits_per_second(change.reserve), ..contract });
        std::iter::once(contract).chain(changed).map(move |contract| Named {
            member: Member {
                count: load.count,
                contract,
                largest,
                traffic: Traffic::stated(&contract, load.count),
                signalled,
            },
            name: Box::new(|nth| Cow::Owned(format!("flow `{}`", load.member_name(group, nth)))),
            place: group.place,
            reserve_place: group.reserve_place,
        })
    }
}
