//! Work-conserving: the link is never idle while a packet waits that may be sent.

use super::port::{Property, conforming, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property =
    Property { name: "work-conserving", says: "the link is never idle while a packet waits", check };

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let each = flows.iter().enumerate().map(|(place, flow)| conforming(place, flow, Span::from_secs(2), rng));
    let each: Vec<_> = each.collect();
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(5)) else { return Outcome::Refused };
    Outcome::unless(run.idle, |at: Time| {
        format!("the link is idle {at:?} after the start, and a packet waits")
    })
}
