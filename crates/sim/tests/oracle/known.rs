//! Properties that are not asserted because they are known to be wrong, or are being decided. Each
//! has one predicate, which says where; a predicate goes when its defect does.

use tidegate_core::meter::clearing::ClearingExcess;
use tidegate_core::meter::{BuiltInMeter, MeterKind};
use tidegate_core::params::{Role, Service};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{ClassPlan, DropperPlan, PortPlan, PushOut, Scope};
use tidegate_sim::network::{FlowSetup, Network};
use tidegate_sim::source::Traffic;

/// With shares, a switch counts members as held until it looks at the port again, although the
/// ceiling may be over. The model holds nothing beyond its time: of such switches only the
/// invariants are checked.
pub fn what_is_held_is_not_modelled(network: &Network, switch: usize) -> bool {
    let mut ports = network.links.iter().enumerate().filter(|(_, link)| link.from == switch);
    network.nodes[switch].buffer.is_some()
        && network.push_out == PushOut::Shares
        && ports.any(|(link, _)| holds_members(network, link))
}

/// A member that is held leaves the list of turns, or loses its floor, until the switch looks at the
/// port next. The model has no such moments: of such switches only the invariants are checked.
pub fn turns_of_what_is_held_are_not_modelled(network: &Network, switch: usize) -> bool {
    let turns = |kind: &SchedulerKind| matches!(kind.record().name, "round-robin" | "drr" | "axel-floor");
    let mut ports = network.links.iter().enumerate().filter(|(_, link)| link.from == switch);
    ports.any(|(link, plan)| {
        let mut classes = plan.port.classes.iter();
        let has_turns = turns(&plan.port.scheduler) || classes.any(|class| turns(&class.scheduler));
        has_turns && holds_members(network, link)
    })
}

/// Droppers that remember, and schedulers that look at their flows when a packet is to be sent or
/// tell packets apart by their ECN field, are followed packet by packet by oracles of their own
/// (`droppers`, `fq_codel` and `dualpi2` of the core's tests), and so are clocks with a bound on
/// their lead (`lead`). The model has no stream of random numbers and no ECN field, drops nothing at
/// the head of a queue, keeps every stamp, and looks at its flows when packets come and go: of such
/// switches only the invariants are checked.
pub fn others_follow_it(network: &Network, switch: usize) -> bool {
    let is_modelled =
        |dropper: &DropperPlan| dropper.kind.record().name == "drop-tail" && dropper.scope == Scope::Node;
    let looks_late = |kind: &SchedulerKind| {
        matches!(kind.record().name, "drr++" | "host-drr++" | "triple-isolate" | "time-shifted-fifo")
            || kind.values().iter().any(|(name, _)| *name == "lead")
    };
    let mut ports = network.links.iter().filter(|link| link.from == switch).map(|link| &link.port);
    ports.any(|port| {
        let mut classes = port.classes.iter();
        looks_late(&port.scheduler)
            || !port.dropper.iter().all(is_modelled)
            || classes.any(|class| looks_late(&class.scheduler) || !class.dropper.iter().all(is_modelled))
    })
}

/// The model covers neither marks that markers write, some of them at random, nor the colours of
/// cells that ABR sources send out of rate. Where a dropper heeds colours in a network that has
/// either, and where a meter that clears marks may also drop, only the invariants are checked.
pub fn marks_are_not_modelled(network: &Network, switch: usize) -> bool {
    let meters = |port: &PortPlan| {
        let of_classes = port.classes.iter().flat_map(|class| class.meters.clone());
        port.meters.iter().cloned().chain(of_classes).collect::<Vec<_>>()
    };
    let colours = |meter: &MeterKind| meter.record().role == Role::Meter { colours: true };
    let drops = |meter: &MeterKind| match meter {
        MeterKind::BuiltIn(BuiltInMeter::Clearing(params)) => params.excess == ClearingExcess::Drop,
        _ => false,
    };
    let marked = |dropper: &DropperPlan| dropper.kind.values().iter().any(|(name, _)| *name == "marked");
    let heeds = |port: &PortPlan| {
        port.dropper.iter().chain(port.classes.iter().flat_map(|class| &class.dropper)).any(marked)
    };
    let agrees_on_terms = |flow: &FlowSetup| match &flow.traffic {
        Traffic::Endpoint(factory) => factory.stage_terms(network.links[flow.route[0]].rate).is_some(),
        _ => false,
    };
    let has_markers = network.links.iter().any(|link| meters(&link.port).iter().any(colours))
        || network.flows.iter().any(agrees_on_terms);
    let mut here = network.links.iter().filter(|link| link.from == switch).map(|link| &link.port);
    here.any(|port| (has_markers && heeds(port)) || meters(port).iter().any(drops))
}

/// Returns true if flows or classes of a link may be held: by a ceiling, or as a class that is idle
/// while packets wait.
fn holds_members(network: &Network, link: usize) -> bool {
    let role = Role::Scheduler { service: Service::WorkConserving };
    let idles = |kind: &SchedulerKind| kind.record().role != role;
    let holds = |class: &ClassPlan| class.ceiling.is_some() || idles(&class.scheduler);
    let mut flows = network.flows.iter().filter(|flow| flow.route.contains(&link));
    network.links[link].port.classes.iter().any(holds)
        || flows.any(|flow| flow.plans.iter().any(|plan| plan.ceiling.is_some()))
}

/// A class announces its next packet before the flow that has just sent is held by its ceiling: a
/// packet of that flow, even where another could be sent at once.
pub fn tokens_announce_what_is_held_next() -> bool {
    true
}
