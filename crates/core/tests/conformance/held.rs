//! Held: a flow that was held back catches up with its reservation of the meantime.

use super::port::{LARGEST, LATENCY, Property, What, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "held: catches up",
    says: "a flow that was held for two seconds has its reservation twenty seconds later, the time of the hold \
           included: a tenth of the link is to spare",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let (held, free) = (Time::ORIGIN + Span::from_secs(2), Time::ORIGIN + Span::from_secs(4));
    let mut each: Vec<Vec<_>> =
        (0..flows.len()).map(|place| flood(place, Time::ORIGIN, Span::from_secs(60)).collect()).collect();
    each.push(vec![
        (held, 0, What::Takes(Participation::Held)),
        (free, 0, What::Takes(Participation::Active)),
    ]);
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(20)) else { return Outcome::Refused };
    let until = free + Span::from_secs(20);
    let behind = until.since(held).as_secs_f64() - flows[0].seconds(run.served(0, held, until));
    let allowed = LATENCY + flows[0].seconds(f64::from(LARGEST));
    Outcome::unless((behind > allowed).then_some(behind), |behind| {
        format!("20 s after it was held for 2 s, a flow is {behind:.2} s behind its reservation")
    })
}
