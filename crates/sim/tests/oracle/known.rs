//! What is not asserted because it is known to be wrong, or is being decided. Each has one predicate, which says where; a
//! predicate goes when its defect does.

use tidegate_core::scheduler::SchedulerKind;
use tidegate_sim::network::{FlowSetup, LinkPlan, Network};

/// Who is pushed out of a pool is being decided where several ports share it, where something in it may be held, and where
/// envelopes wait in it. The model has the rule of Zhang 1991, section 3.1; of such switches only the invariants are
/// checked.
pub fn pool_rule_is_open(network: &Network, switch: usize) -> bool {
    let ports = || network.links.iter().enumerate().filter(|(_, link)| link.from == switch);
    let flows = |link: usize| network.flows.iter().filter(move |flow| flow.route.contains(&link));
    let used = ports().filter(|(link, _)| flows(*link).next().is_some()).count();
    let holds = |(link, plan): (usize, &LinkPlan)| {
        let own = |flow: &FlowSetup| flow.plans.iter().any(|plan| plan.ceiling.is_some());
        let divides = |kind: &SchedulerKind| kind.record().is_some_and(|record| record.divides);
        plan.port.ceiling.is_some()
            || divides(&plan.port.scheduler)
            || plan.port.classes.iter().any(|class| class.ceiling.is_some() || divides(&class.scheduler))
            || flows(link).any(|flow| own(flow) || (flow.envelope.is_some() && flow.route[0] == link))
    };
    network.nodes[switch].buffer.is_some() && (used > 1 || ports().any(holds))
}

/// The area under a port's queue and the time for which it was busy end with its last change, not with the run.
pub fn counts_end_with_the_last_change() -> bool {
    true
}

/// A class announces its next packet before the flow that has just sent is held by its ceiling: a packet of that flow,
/// even where another could be sent at once.
pub fn tokens_announce_what_is_held_next() -> bool {
    true
}
