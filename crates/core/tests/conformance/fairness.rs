//! Fairness: flows that always have packets get service in proportion to their reservations, over
//! any time.

use super::port::{LARGEST, LATENCY, Property, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "fairness",
    says: "two flows that always have packets get service in proportion to their reservations over any time, however \
           much one got before",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let (one, other) = (0, 1);
    // The second comes when the first has had the link for a while.
    let starts = [Time::ORIGIN, Time::ORIGIN + Span::from_secs(3)];
    let each: Vec<_> = starts
        .iter()
        .enumerate()
        .map(|(place, at)| flood(place, *at, Span::from_secs(30)).collect())
        .collect();
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(10)) else { return Outcome::Refused };
    let allowed = LATENCY + flows[one].seconds(f64::from(LARGEST)) + flows[other].seconds(f64::from(LARGEST));
    let apart = (1..=10).map(|second| {
        let until = starts[1] + Span::from_secs(second);
        let got = |flow: usize| flows[flow].seconds(run.served(flow, starts[1], until));
        (second, got(one) - got(other))
    });
    let unfair = apart.into_iter().find(|(_, apart)| apart.abs() > allowed);
    Outcome::unless(unfair, |(second, apart)| {
        format!("within {second} s two flows are {:.2} s of their reservations apart", apart.abs())
    })
}
