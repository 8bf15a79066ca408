//! What is not asserted because it is known to be wrong, or is being decided. Each has one predicate, which says where; a
//! predicate goes when its defect does.

use tidegate_core::params::{Role, Service};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::plan::{ClassPlan, PushOut};
use tidegate_sim::network::Network;

/// With shares, a switch counts as held what it has noted as held, and it notes that a ceiling is over when it looks at the
/// port next. The model holds nothing beyond its time: of such switches only the invariants are checked.
pub fn what_is_held_is_not_modelled(network: &Network, switch: usize) -> bool {
    let ports = network.links.iter().enumerate().filter(|(_, link)| link.from == switch);
    let flows = |link: usize| network.flows.iter().filter(move |flow| flow.route.contains(&link));
    let mut holds = ports.filter(|(link, plan)| {
        let divides = |kind: &SchedulerKind| kind.record().is_some_and(|record| record.divides);
        let holds = |class: &ClassPlan| class.ceiling.is_some() || divides(&class.scheduler);
        plan.port.classes.iter().any(holds)
            || flows(*link).any(|flow| flow.plans.iter().any(|plan| plan.ceiling.is_some()))
    });
    network.nodes[switch].buffer.is_some() && network.push_out == PushOut::Shares && holds.next().is_some()
}

/// A member that a ceiling, or a class that nothing may be sent of, holds leaves the list of turns and rejoins it when the
/// switch looks at the port next. The model has no such moments: of such switches only the invariants are checked.
pub fn turns_of_what_is_held_are_not_modelled(network: &Network, switch: usize) -> bool {
    let turns = |kind: &SchedulerKind| {
        kind.record().is_some_and(|record| matches!(record.name, "round-robin" | "drr"))
    };
    let always = |kind: &SchedulerKind| {
        let role = Role::Scheduler { service: Service::WorkConserving };
        kind.record().is_some_and(|record| record.role == role)
    };
    let mut ports = network.links.iter().enumerate().filter(|(_, link)| link.from == switch);
    ports.any(|(link, plan)| {
        let classes = &plan.port.classes;
        let has_turns = turns(&plan.port.scheduler) || classes.iter().any(|class| turns(&class.scheduler));
        let mut flows = network.flows.iter().filter(|flow| flow.route.contains(&link));
        has_turns
            && (classes.iter().any(|class| class.ceiling.is_some() || !always(&class.scheduler))
                || flows.any(|flow| flow.plans.iter().any(|plan| plan.ceiling.is_some())))
    })
}

/// A class announces its next packet before the flow that has just sent is held by its ceiling: a packet of that flow,
/// even where another could be sent at once.
pub fn tokens_announce_what_is_held_next() -> bool {
    true
}
