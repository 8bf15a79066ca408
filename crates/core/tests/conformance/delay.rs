//! Delay bound: where all flows keep to their contracts, no packet is late.

use super::port::{EARLY, LARGEST, LATENCY, LINK, Property, conforming, flows, in_order, run};
use super::{Outcome, SchedulerKind};
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;

pub const PROPERTY: Property = Property {
    name: "delay",
    says: "every packet has bounded delay where all flows keep to their token buckets",
    check,
};

fn check(kind: &SchedulerKind, rng: &mut Rng) -> Outcome {
    let flows = flows(rng);
    let each = flows.iter().enumerate().map(|(place, flow)| conforming(place, flow, Span::from_secs(6), rng));
    let each: Vec<_> = each.collect();
    let Ok(run) = run(kind, &flows, &in_order(each), Span::from_secs(20)) else { return Outcome::Refused };
    // All bursts together on a tenth of the link, or a flow's own on its reservation.
    let all: u32 = flows.iter().map(|flow| flow.burst).sum();
    let shared = 10.0 * 8.0 * f64::from(all) / LINK as f64;
    let late = (0..flows.len()).find_map(|flow| {
        let own = flows[flow].seconds(f64::from(flows[flow].burst + LARGEST)) + LATENCY;
        let allowed = own.max(shared) + EARLY.as_secs_f64();
        run.delays(flow).find(|delay| *delay > allowed)
    });
    Outcome::unless(late, |delay| format!("a packet waits {delay:.2} s though all flows conform"))
}
