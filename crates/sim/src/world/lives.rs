//! When do flows start and stop? What a scenario draws, from the seed.

use crate::network::{FlowSetup, Network};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// The start and the stop of each flow in turn; [`Time::NEVER`] where none stops it before the end. With admission, a
/// flow sends once it is set up, which it asks for at its start.
pub(crate) fn lives(network: &Network, seed: u64) -> impl Iterator<Item = (Time, Time)> + '_ {
    let mut starts = Starts::new(network, seed);
    network.flows.iter().map(move |setup| {
        let start = Time::ORIGIN + starts.next(setup);
        let stop = match setup.life.lasts {
            Some(mean) => start + Rng::named(seed, &format!("flow/{}/lasts", setup.name)).exponential(mean),
            None => setup.life.stop.map_or(Time::NEVER, |stop| Time::ORIGIN + stop),
        };
        (start, stop)
    })
}

/// When flows start, group by group.
struct Starts {
    groups: Vec<(Rng, Option<Span>)>,
}

impl Starts {
    fn new(network: &Network, seed: u64) -> Starts {
        let group = |name: &String| (Rng::named(seed, &format!("group/{name}")), None);
        Starts { groups: network.groups.iter().map(group).collect() }
    }

    fn next(&mut self, setup: &FlowSetup) -> Span {
        let Some(mean) = setup.life.every else { return setup.life.start };
        let (rng, before) = &mut self.groups[setup.group];
        let at = before.unwrap_or(setup.life.start) + rng.exponential(mean);
        *before = Some(at);
        at
    }
}
