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

/// Bytes sent on a link with a trace exceed those that it offered.
pub fn utilisation_of_traces_exceeds_one() -> bool {
    true
}

/// `queue_max` misses queues that push-out shortens.
pub fn queue_max_misses_push_out() -> bool {
    true
}

/// A flow monitor that synchronises clocks breaks the bound on delay.
pub fn monitors_void_bounds() -> bool {
    true
}

/// What a change or a hang-up frees is promised anew while queued stamps still claim it.
pub fn freed_reservations_are_resold_at_once() -> bool {
    true
}

/// A destination that hangs up before its flow is set up tries again a tick later, on a way without delay.
pub fn hang_up_does_not_end(network: &Network) -> bool {
    let delay = |links: &[usize]| links.iter().map(|link| network.links[*link].delay.ticks()).sum::<u64>();
    network.flows.iter().any(|flow| flow.life.hangup.is_some() && delay(&flow.route) == 0)
}

/// A class announces its next packet before the flow that has just sent is held by its ceiling: a packet of that flow,
/// even where another could be sent at once.
pub fn tokens_announce_what_is_held_next() -> bool {
    true
}
