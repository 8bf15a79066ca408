//! Whether a gate's policies fit its links and its flows.

use super::{GateFile, GateFlow};
use crate::error::{Place, Report};
use crate::port::fit::{Named, check_guards, check_node, check_slots};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Contract;
use tidegate_core::params::{BuiltIn, Member, NodeContext};
use tidegate_core::units::Rate;

/// Checks the schedulers of both directions. `placed` says where a mistake is told that is made at a place of
/// the gate file.
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
            let server = NodeContext { link: ceilings.fold(server.link, Rate::min), ..server };
            check_node(scheduler, server, &members, at, &mut told, report);
        }
    }
    let classes = || gate.classes.iter().map(|one| &one.class);
    check_slots(&gate.port.scheduler, classes(), &mut told, report);
    let meters = || std::iter::once(&gate.port.meter).chain(classes().map(|class| &class.meter)).flatten();
    let droppers =
        || std::iter::once(&gate.port.dropper).chain(classes().map(|class| &class.dropper)).flatten();
    for direction in Direction::BOTH {
        let at = direction.name();
        check_guards(meters(), droppers(), &server(gate, direction), at, &mut told, report);
    }
}

/// The link of a direction, with nobody at it.
fn server(gate: &GateFile, direction: Direction) -> NodeContext<'static> {
    let emulated = gate.emulated[direction as usize].as_ref();
    NodeContext {
        link: gate.rates[direction as usize],
        steady: emulated.is_none_or(|emulation| emulation.trace.is_none()),
        reservable: None,
        members: &[],
    }
}

/// Who is in a class, or directly under the port's scheduler: classes, then flows in the order of the file.
fn members<'g>(
    gate: &'g GateFile,
    class: Option<usize>,
    direction: Direction,
    placed: &impl Fn(Place) -> Place,
) -> Vec<Named<'g>> {
    let named = |contract, what: &'static str, name: &'g str, place| Named {
        // How large packets will be nobody knows.
        member: Member { count: 1, contract, largest: 0, signalled: false },
        name: Box::new(move |_| Cow::Owned(format!("{what} `{name}`"))),
        place: placed(place),
        reserve_place: placed(place),
    };
    let inner = gate.classes.iter().filter(|one| one.class.parent == class).map(|one| {
        let contract = one.terms[direction as usize].contract(&one.class.contract);
        named(contract, "class", &one.class.name, one.class.place)
    });
    let mut members: Vec<Named<'g>> = inner.collect();
    for flow in &gate.flows {
        match &flow.circuits {
            Some(circuits) if goes(flow, direction) => {
                let plan = flow.plan(direction);
                let own = (0..circuits.len() as u32).map(|ix| (ix, circuits.plan(ix, direction, &plan)));
                let inside = own.filter(|(_, plan)| plan.class.map(usize::from) == class);
                members.extend(
                    inside.map(|(ix, plan)| named(plan.contract, "circuit", circuits.name(ix), flow.place)),
                );
            }
            Some(_) => {}
            // What is one flow is opened in both directions, whichever its packets take.
            None if flow.class == class && (flow.each.is_none() || goes(flow, direction)) => {
                let contract: Contract = flow.plan(direction).contract;
                members.push(named(contract, "flow", &flow.name, flow.place));
            }
            None => {}
        }
    }
    members
}

fn goes(flow: &GateFlow, direction: Direction) -> bool {
    flow.matching.direction.is_none_or(|only| only == direction)
}
