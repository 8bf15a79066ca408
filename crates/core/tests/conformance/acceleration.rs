//! Bounded acceleration: a flow is served ahead of its reservation by no more than its maximum
//! workahead, while others that send at their reservations use all the rest of the link.

use super::port::{LARGEST, LATENCY, LINK, Property, What, flood, flows_with, in_order, run};
use super::{Outcome, SchedulerKind};
use crate::common::rate;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

pub const PROPERTY: Property = Property {
    name: "bounded acceleration",
    says: "a burst of any length is served ahead of its flow's reservation by no more than the maximum workahead, while \
           others that send at their reservations use all the rest of the link (Pincheira 1994)",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let mut flows = flows_with(LINK, rng);
    flows.iter_mut().for_each(|flow| flow.peak = LINK);
    let burst = Time::ORIGIN + Span::from_secs(2);
    let mut each: Vec<Vec<_>> = vec![flood(0, burst, Span::from_secs(4)).collect()];
    for (place, flow) in flows.iter().enumerate().skip(1) {
        let gap = rate(flow.reserve).time_for(LARGEST);
        let times = std::iter::successors(Some(Time::ORIGIN), |at| Some(*at + gap));
        let until = burst + Span::from_secs(8);
        each.push(times.take_while(|at| *at < until).map(|at| (at, place, What::Packet(LARGEST))).collect());
    }
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(8)) else { return Outcome::Refused };
    let allowed = LATENCY + flows[0].seconds(f64::from(flows[0].burst + LARGEST));
    let ahead = (1..=16).map(|quarter| {
        let until = burst + Span::from_millis(250 * quarter);
        flows[0].seconds(run.served(0, burst, until)) - until.since(burst).as_secs_f64()
    });
    let most = ahead.fold(0.0, f64::max);
    Outcome::unless((most > allowed).then_some(most), |most| {
        format!("a burst is served {most:.2} s ahead of its reservation")
    })
}
