//! Order: packets of a flow leave in the order of their arrival.

use super::port::{Property, conforming, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property =
    Property { name: "order", says: "packets of a flow leave in the order of their arrival", check };

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let each = flows.iter().enumerate().map(|(place, flow)| match rng.chance(0.5) {
        true => conforming(place, flow, Span::from_secs(1), rng),
        false => flood(
            place,
            Time::ORIGIN + Span::from_ticks(rng.below(Span::from_secs(1).ticks())),
            Span::from_secs(1),
        )
        .collect(),
    });
    let each: Vec<_> = each.collect();
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(10)) else { return Outcome::Refused };
    let mut next = vec![0; flows.len()];
    let overtaken = run.sent.iter().find(|one| {
        let expected = std::mem::replace(&mut next[one.flow], one.number + 1);
        one.number != expected
    });
    Outcome::unless(overtaken, |one| format!("packet {} of a flow leaves before an earlier one", one.number))
}
