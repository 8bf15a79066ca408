//! Start and stop times of flows, drawn from the seed where a scenario asks for that.

use crate::network::{FlowSetup, Network};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// Returns the start and the stop of each flow in turn; [`Time::NEVER`] where none stops it before
/// the end. With admission, a flow requests its set-up at its start, and sends once it is set up.
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

/// Start times of flows, entry by entry.
struct Starts {
    entries: Vec<(Rng, Option<Span>)>,
}

impl Starts {
    fn new(network: &Network, seed: u64) -> Starts {
        let entry = |name: &String| (Rng::named(seed, &format!("group/{name}")), None);
        Starts { entries: network.entries.iter().map(entry).collect() }
    }

    fn next(&mut self, setup: &FlowSetup) -> Span {
        let Some(mean) = setup.life.every else { return setup.life.start };
        let (rng, before) = &mut self.entries[setup.entry];
        let at = before.unwrap_or(setup.life.start) + rng.exponential(mean);
        *before = Some(at);
        at
    }
}
