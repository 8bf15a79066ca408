//! Throughput guarantee: a flow that always has packets is sent at its reservation, counted from
//! the time at which it begins, whatever the others do.

use super::port::{LARGEST, LATENCY, Property, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "throughput",
    says: "a flow that always has packets is sent at its reservation, counted from its beginning, while all others \
           send without limit",
    check,
};

const LASTS: Span = Span::from_secs(12);

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let subject = rng.below(flows.len() as u64) as usize;
    let start = |rng: &mut Rng| Time::ORIGIN + Span::from_ticks(rng.below(Span::from_secs(6).ticks()));
    let each: Vec<_> =
        (0..flows.len()).map(|place| flood(place, start(rng), Span::from_secs(48)).collect()).collect();
    let events = in_order(each);
    let Ok(run) = run(kind, &flows, &events, LASTS) else { return Outcome::Refused };
    let from = events.iter().find(|event| event.1 == subject).unwrap().0;
    let behind = (1..=12).map(|second| {
        let until = from + Span::from_secs(second);
        let due = until.since(from).as_secs_f64();
        (second, due - flows[subject].seconds(run.served(subject, from, until)))
    });
    let allowed = LATENCY + flows[subject].seconds(f64::from(LARGEST));
    let late = behind.into_iter().find(|(_, behind)| *behind > allowed);
    Outcome::unless(late, |(second, behind)| {
        format!("after {second} s beside floods a flow is {behind:.2} s behind its reservation")
    })
}
