//! Reasons for which a port promises nothing.

use crate::network::Network;

/// Returns the reason for which the port of a link promises nothing, whatever its scheduler; `None`
/// without one.
pub(super) fn void(network: &Network, ix: usize) -> Option<&'static str> {
    let link = &network.links[ix];
    let gate = network.gate.as_ref().is_some_and(|gate| gate.links.contains(&ix));
    let here = || {
        network.flows.iter().filter_map(|flow| {
            let place = flow.route.iter().position(|at| *at == ix)?;
            Some((flow, place, &flow.plans[place]))
        })
    };
    let reasons = [
        (gate, "it is a gate's"),
        (!link.pace.is_steady(), "its link does not send at one rate"),
        (link.port.rate != Some(link.rate), "its scheduler does not know the rate of the link"),
        (link.reorders(), "its link reorders packets"),
        (link.framing.happens(), "its link adds overhead to packets"),
        (!link.has_one_delay(), "the delay of its link differs"),
        (
            link.port.classes.iter().any(|class| class.dropper.is_some()),
            "a dropper of a class may drop packets",
        ),
        (!link.port.classes.is_empty() && link.port.ceiling.is_some(), "it has classes under a ceiling"),
        (link.port.dropper.is_some(), "its dropper may drop packets"),
        (here().any(|(flow, ..)| !flow.life.changes.is_empty()), "a flow changes its contract there"),
        (here().any(|(flow, ..)| flow.life.set_up), "flows are set up there by signalling"),
        (here().any(|(_, place, plan)| place > 0 && plan.shaper.is_some()), "a flow is shaped there"),
    ];
    reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
}
