//! Punishment-free: a flow that used what others left has its reservation when they come back.

use super::port::{LARGEST, LATENCY, Property, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "punishment-free",
    says: "a flow that had the whole link is sent at its reservation, from the moment on at which others send without \
           limit",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let back = Time::ORIGIN + Span::from_secs(4);
    let each: Vec<_> = (0..flows.len())
        .map(|place| {
            flood(place, if place == 0 { Time::ORIGIN } else { back }, Span::from_secs(40)).collect()
        })
        .collect();
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(10)) else { return Outcome::Refused };
    let allowed = LATENCY + flows[0].seconds(f64::from(LARGEST));
    let behind = (1..=10).map(|second| {
        let until = back + Span::from_secs(second);
        (second, until.since(back).as_secs_f64() - flows[0].seconds(run.served(0, back, until)))
    });
    let punished = behind.into_iter().find(|(_, behind)| *behind > allowed);
    Outcome::unless(punished, |(second, behind)| {
        format!(
            "{second} s after others came back, a flow that had the link is {behind:.2} s behind its reservation"
        )
    })
}
