//! Checks that a gate's policies fit its links and its flows.

use super::{GateFile, GateFlow};
use crate::error::{Place, Report};
use crate::port::fit::{
    Named, check_detectors, check_guards, check_node, check_slots, follows_nothing, have_deadlines,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Contract;
use tidegate_core::params::{Guarantee, Member, NodeContext, Supply, Traffic};
use tidegate_core::units::Rate;

/// Checks the policies of both directions. `placed` maps a place in the gate file to the place
/// where the mistake is reported.
pub(crate) fn check(gate: &GateFile, placed: impl Fn(Place) -> Place, report: &mut Report) {
    let mut told = BTreeSet::new();
    let root = std::iter::once((None, &gate.port.scheduler));
    let classes = gate.classes.iter().enumerate().map(|(class, one)| (Some(class), &one.class.scheduler));
    for (class, scheduler) in root.chain(classes) {
        for direction in Direction::BOTH {
            let members = match scheduler.policy.record().divides {
                true => members(gate, class, direction, &placed),
                false => Vec::new(),
            };
            let at = || match class {
                None => direction.name().to_owned(),
                Some(class) => format!("in class `{}` {}", gate.classes[class].class.name, direction.name()),
            };
            let upwards = std::iter::successors(class, |class| gate.classes[*class].class.parent);
            let ceilings =
                upwards.filter_map(|class| gate.classes[class].terms[direction as usize].ceiling());
            let server = server(gate, direction);
            let supply = match class {
                Some(class) if have_deadlines(&members) => {
                    Supply::Class(guarantee(gate, class, direction, &placed))
                }
                Some(_) => Supply::Class(None),
                None => Supply::Link,
            };
            let server = NodeContext { link: ceilings.fold(server.link, Rate::min), supply, ..server };
            check_node(scheduler, server, &members, at, &mut told, report);
        }
    }
    let classes = || gate.classes.iter().map(|one| &one.class);
    check_slots(&gate.port.scheduler, classes(), &mut told, report);
    let meters = || std::iter::once(&gate.port.meter).chain(classes().map(|class| &class.meter)).flatten();
    let droppers =
        || std::iter::once(&gate.port.dropper).chain(classes().map(|class| &class.dropper)).flatten();
    let detectors = classes().map(|class| (&class.detector, &class.dropper));
    let detectors = std::iter::once((&gate.port.detector, &gate.port.dropper)).chain(detectors);
    check_detectors(detectors, "at its port", &mut told, report);
    for direction in Direction::BOTH {
        let at = direction.name();
        check_guards(meters(), droppers(), &server(gate, direction), at, &mut told, report);
        let of_classes = gate.classes.iter().enumerate().map(|(class, one)| (Some(class), &one.class.meter));
        for (class, meter) in std::iter::once((None, &gate.port.meter)).chain(of_classes) {
            let Some(meter) = meter else { continue };
            if let Some((place, complaint)) = follows_nothing(meter).filter(|(place, _)| told.insert(*place))
            {
                report.add(place, complaint);
            }
            let metered = metered(gate, class, direction, &placed);
            check_node(meter, server(gate, direction), &metered, || at.to_owned(), &mut told, report);
        }
    }
}

/// The flows whose packets pass the meter of a class, or of the port: flows in it, and in classes
/// within it.
fn metered<'g>(
    gate: &'g GateFile,
    class: Option<usize>,
    direction: Direction,
    placed: &impl Fn(Place) -> Place,
) -> Vec<Named<'g>> {
    let above = |at: usize| std::iter::successors(Some(at), |at| gate.classes[*at].class.parent);
    let is_within = |at: Option<usize>| match (at, class) {
        (_, None) => true,
        (at, Some(class)) => at.is_some_and(|at| above(at).any(|above| above == class)),
    };
    let places = std::iter::once(None).chain((0..gate.classes.len()).map(Some));
    places.filter(|at| is_within(*at)).flat_map(|at| flows(gate, at, direction, placed)).collect()
}

/// The link of a direction, without members.
fn server(gate: &GateFile, direction: Direction) -> NodeContext<'static> {
    let emulated = gate.emulated[direction as usize].as_ref();
    NodeContext {
        link: gate.rates[direction as usize],
        steady: emulated.is_none_or(|line| line.pace.is_steady()),
        reservable: None,
        supply: Supply::Link,
        members: &[],
    }
}

/// The members of a class, or directly under the port's scheduler: classes, then flows in the order
/// of the file.
fn members<'g>(
    gate: &'g GateFile,
    class: Option<usize>,
    direction: Direction,
    placed: &impl Fn(Place) -> Place,
) -> Vec<Named<'g>> {
    let inner = gate.classes.iter().filter(|one| one.class.parent == class).map(|one| {
        let contract = one.terms[direction as usize].contract(&one.class.contract);
        named(contract, "class", &one.class.name, placed(one.class.place))
    });
    inner.chain(flows(gate, class, direction, placed)).collect()
}

/// Guarantee of the schedulers above a class. The sizes of packets are unknown, and not counted.
fn guarantee(
    gate: &GateFile,
    class: usize,
    direction: Direction,
    placed: &impl Fn(Place) -> Place,
) -> Option<Guarantee> {
    let parent = gate.classes[class].class.parent;
    let above = match parent {
        Some(parent) => guarantee(gate, parent, direction, placed)?,
        None => Guarantee::of_link(server(gate, direction).link),
    };
    let scheduler = parent.map_or(&gate.port.scheduler, |parent| &gate.classes[parent].class.scheduler);
    let named = members(gate, parent, direction, placed);
    let mut members: Vec<Member> = named.iter().map(|one| one.member).collect();
    let siblings = (0..gate.classes.len()).filter(|other| gate.classes[*other].class.parent == parent);
    for (place, sibling) in siblings.clone().enumerate() {
        members[place].traffic = traffic(gate, sibling, direction, placed);
    }
    let place = siblings.take_while(|sibling| *sibling != class).count();
    match has_ceilings(gate, parent, direction) {
        true => None,
        false => scheduler.policy.guarantee(above, &members, place),
    }
}

/// Returns true if a flow, a circuit or a class in this class has a ceiling.
fn has_ceilings(gate: &GateFile, parent: Option<usize>, direction: Direction) -> bool {
    let mut inner = gate.classes.iter().filter(|one| one.class.parent == parent);
    let of_flow = |flow: &GateFlow| {
        let plan = flow.plan(direction);
        match &flow.circuits {
            Some(circuits) => (0..circuits.len() as u32)
                .map(|ix| circuits.plan(ix, direction, &plan))
                .any(|plan| plan.class.map(usize::from) == parent && plan.ceiling.is_some()),
            None => flow.class == parent && plan.ceiling.is_some(),
        }
    };
    inner.any(|one| one.terms[direction as usize].ceiling().is_some()) || gate.flows.iter().any(of_flow)
}

/// Total traffic of the flows in a class, and in classes within it; `None` where one does not state
/// it.
fn traffic(
    gate: &GateFile,
    class: usize,
    direction: Direction,
    placed: &impl Fn(Place) -> Place,
) -> Option<Traffic> {
    let none = Traffic { burst: 0.0, rate: 0.0 };
    let within = metered(gate, Some(class), direction, placed);
    within.iter().try_fold(none, |sum, flow| Some(sum.and(flow.member.traffic?)))
}

/// A class, a flow or a circuit, as the file names it.
fn named<'g>(contract: Contract, what: &'static str, name: &'g str, place: Place) -> Named<'g> {
    Named {
        // The sizes of packets are unknown.
        member: Member {
            count: 1,
            contract,
            largest: 0,
            traffic: Traffic::stated(&contract, 1),
            signalled: false,
        },
        name: Box::new(move |_| Cow::Owned(format!("{what} `{name}`"))),
        place,
        reserve_place: place,
    }
}

/// The flows directly in a class, or in none, in the order of the file.
fn flows<'g>(
    gate: &'g GateFile,
    class: Option<usize>,
    direction: Direction,
    placed: &impl Fn(Place) -> Place,
) -> Vec<Named<'g>> {
    let mut members: Vec<Named<'g>> = Vec::new();
    for flow in &gate.flows {
        match &flow.circuits {
            Some(circuits) if goes(flow, direction) => {
                let plan = flow.plan(direction);
                let own = (0..circuits.len() as u32).map(|ix| (ix, circuits.plan(ix, direction, &plan)));
                let inside = own.filter(|(_, plan)| plan.class.map(usize::from) == class);
                let place = placed(flow.place);
                members.extend(
                    inside.map(|(ix, plan)| named(plan.contract, "circuit", circuits.name(ix), place)),
                );
            }
            Some(_) => {}
            // A single flow is opened in both directions, even if its packets go in one.
            None if flow.class == class && (flow.each.is_none() || goes(flow, direction)) => {
                let contract: Contract = flow.plan(direction).contract;
                members.push(named(contract, "flow", &flow.name, placed(flow.place)));
            }
            None => {}
        }
    }
    members
}

fn goes(flow: &GateFlow, direction: Direction) -> bool {
    flow.matching.direction.is_none_or(|only| only == direction)
}
