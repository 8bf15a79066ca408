//! Isolation: the delay of a flow that keeps to its contract is bounded, whatever the others do.

use super::port::{LARGEST, LATENCY, Property, conforming, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "isolation",
    says: "a flow that keeps to its token bucket has bounded delay while all others send without limit",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let subject = rng.below(flows.len() as u64) as usize;
    let each: Vec<_> = flows
        .iter()
        .enumerate()
        .map(|(place, flow)| match place == subject {
            true => conforming(place, flow, Span::from_secs(6), rng),
            false => flood(
                place,
                Time::ORIGIN + Span::from_ticks(rng.below(Span::from_secs(2).ticks())),
                Span::from_secs(24),
            )
            .collect(),
        })
        .collect();
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(12)) else { return Outcome::Refused };
    let allowed = flows[subject].seconds(f64::from(flows[subject].burst + LARGEST)) + LATENCY;
    let worst = run.delays(subject).fold(0.0, f64::max);
    Outcome::unless((worst > allowed).then_some(worst), |worst| {
        format!("a packet that conforms waits {worst:.2} s beside floods")
    })
}
