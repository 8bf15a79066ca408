//! Schedulability of deadlines at a server with a strict service curve.

use super::{ArrivalCurve, Exact, ServiceCurve};
use alloc::vec::Vec;
use num_traits::Zero;

/// Traffic that is due within a time.
#[derive(Clone, Debug)]
pub struct Due {
    /// Bound on the traffic.
    pub arrivals: ArrivalCurve,
    /// The time from a packet's arrival until its last bit should have left.
    pub within: Exact,
    /// Its largest packet, in bytes.
    pub largest: Exact,
}

/// Returns true if earliest deadline first keeps all deadlines: `Σ α(t − d) + max {L : d > t} ≤ β(t)`
/// for all t at or above the least d, where L counts one packet in service that is due later
/// (Liebeherr, Wrege and Ferrari, "Exact admission control for networks with a bounded delay
/// service", IEEE/ACM ToN 4(6), 1996, theorem 1). `other` is the largest packet without a deadline.
pub fn are_schedulable(demands: &[Due], other: &Exact, service: &ServiceCurve) -> bool {
    let Some(first) = demands.iter().map(|due| &due.within).min() else { return true };
    let corners = |due: &Due| {
        let corners = due.arrivals.corners();
        corners.into_iter().map(|corner| corner + &due.within).chain([due.within.clone()]).collect::<Vec<_>>()
    };
    let mut times: Vec<Exact> = demands.iter().flat_map(corners).chain(service.corners()).collect();
    times.retain(|time| time >= first);
    times.sort();
    times.dedup();
    // Between two of these times both sides are linear. A burst counts from its deadline on, and a
    // later packet until then.
    let kept = |time: &Exact, with_bursts: bool| {
        let counts = |due: &Due| due.within < *time || (with_bursts && due.within == *time);
        let demand = demands.iter().filter(|due| counts(due));
        let demand: Exact = demand.map(|due| due.arrivals.at(&(time - &due.within))).sum();
        let later = demands.iter().filter(|due| !counts(due)).map(|due| &due.largest);
        let blocking = later.chain([other]).max().cloned().unwrap_or_else(Exact::zero);
        service.at(time).is_none_or(|served| demand + blocking <= served)
    };
    let sustained: Exact = demands.iter().map(|due| due.arrivals.sustained().rate.clone()).sum();
    let lasts = service.rate().is_none_or(|rate| sustained <= *rate);
    lasts && times.iter().all(|time| kept(time, true) && (time == first || kept(time, false)))
}
