//! Absent: a flow that comes back gains nothing by having been away.

use super::port::{LARGEST, LATENCY, Property, What, flood, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "absent: gains nothing",
    says: "a flow that was absent for four seconds, its packets waiting, is served by no more than a newcomer would be",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let (away, back) = (Time::ORIGIN + Span::from_secs(1), Time::ORIGIN + Span::from_secs(5));
    let others = |place| flood(place, Time::ORIGIN, Span::from_secs(60)).collect();
    let with = |own: Vec<_>| {
        let mut each: Vec<Vec<_>> = (1..flows.len()).map(others).collect();
        each.push(own);
        run(kind, &flows, &in_order(each), Span::from_secs(12))
    };
    let mut absent: Vec<_> = flood(0, Time::ORIGIN, Span::from_secs(60)).collect();
    absent.push((away, 0, What::Takes(Participation::Absent)));
    absent.push((back, 0, What::Takes(Participation::Active)));
    let (Ok(absent), Ok(newcomer)) = (with(absent), with(flood(0, back, Span::from_secs(60)).collect()))
    else {
        return Outcome::Refused;
    };
    let more = (1..=16).map(|quarter| {
        let until = back + Span::from_millis(250 * quarter);
        flows[0].seconds(absent.served(0, back, until) - newcomer.served(0, back, until))
    });
    let allowed = LATENCY + flows[0].seconds(f64::from(LARGEST));
    let most = more.fold(0.0, f64::max);
    Outcome::unless((most > allowed).then_some(most), |most| {
        format!("a flow that was away is served {most:.2} s of its reservation more than a newcomer")
    })
}
