//! Construction of flows and their sources from a network.

use crate::flow::Flow;
use crate::host::{Adapted, Cutter, Greedy, Restrained, Restraint, Source};
use crate::network::{FlowSetup, Network};
use crate::source::{Emission, Traffic};
use tidegate_core::endpoint::EndpointSetup;
use tidegate_core::packet::Mark;
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;

/// The mark of packets that are ECN-capable (RFC 3168, section 5).
const ECT_0: Mark = Mark::from_ip(0, 0b10);

/// Builds a flow whose hops begin at `first_hop`.
pub(super) fn flow(
    network: &Network,
    ix: usize,
    seed: u64,
    (start, stop): (Time, Time),
    first_hop: u32,
) -> Flow {
    let setup = &network.flows[ix];
    let peer = setup.peer.map(|peer| peer as u32);
    let end = EndpointSetup {
        flow: ix as u32,
        peer,
        rng: Rng::named(seed, &format!("flow/{}", setup.name)),
        start,
        stop,
        rate: network.links[setup.route[0]].rate,
        data: None,
    };
    Flow {
        source: adapted(network, setup, source(setup, end)),
        first_hop,
        hops: setup.hop_count() as u32,
        path_length: setup.path_length() as u32,
        is_spread: setup.paths.is_some(),
        pending: 0,
        stop,
        wakes_at: Time::NEVER,
        next_sequence: 0,
        group: setup.group as u32,
        mark: Mark::NONE.coloured(setup.colour),
        tells_round_trip: false,
        peer,
    }
}

/// Puts an adapter around the source of a flow if its packets are sent as ATM cells, or those that
/// it receives are.
fn adapted(network: &Network, setup: &FlowSetup, source: Source) -> Source {
    let is_peer_cut = setup.peer.is_some_and(|peer| network.flows[peer].aal5);
    match source {
        Source::Endpoint(endpoint) if setup.aal5 || is_peer_cut => {
            let cutter = Cutter::new(setup.preparation, Time::ORIGIN + network.warmup);
            Source::Endpoint(Box::new(Adapted::new(endpoint, setup.aal5.then_some(cutter))))
        }
        source => source,
    }
}

/// Builds the source of the flow, as planned.
fn source(setup: &FlowSetup, end: EndpointSetup) -> Source {
    let reserve = setup.plans.first().and_then(|plan| plan.contract.reserve);
    let restraint = Restraint::new(setup.when_warned, reserve);
    let mark = if setup.ecn_capable { ECT_0 } else { Mark::NONE };
    match &setup.traffic {
        Traffic::Endpoint(factory) => Source::Endpoint(factory.make(end)),
        Traffic::Greedy { window, sizes } => Source::Endpoint(Box::new(Greedy::new(
            *window,
            sizes.clone(),
            restraint,
            mark,
            setup.life.set_up,
            end,
        ))),
        traffic => {
            let (set_up, stop) = (setup.life.set_up, end.stop);
            let emission = Emission::new(traffic.clone(), end.rng);
            if set_up || restraint.heeds_warnings() || mark != Mark::NONE || setup.aal5 {
                Source::Endpoint(Box::new(Restrained::new(emission, restraint, mark, set_up, stop)))
            } else {
                Source::OpenLoop(emission)
            }
        }
    }
}
