//! Deviations of an arrival curve from a service curve: the longest delay and the largest backlog
//! (Le Boudec and Thiran 2001, theorems 1.4.1 and 1.4.2).

use super::{ArrivalCurve, Exact, ServiceCurve};
use alloc::vec;
use alloc::vec::Vec;
use num_traits::Zero;

/// The longest delay of traffic that is served in its order: the horizontal deviation; `None` if
/// delays may grow without limit.
///
/// `sup_t [β⁻¹(α(t)) − t]`. The term is concave in t, and linear between the corners of α and the
/// times at which α reaches a corner of β.
pub fn longest_delay(arrivals: &ArrivalCurve, service: &ServiceCurve) -> Option<Exact> {
    let sustained = arrivals.sustained();
    if sustained.burst.is_zero() && sustained.rate.is_zero() {
        return Some(Exact::zero());
    }
    if service.rate().is_some_and(|rate| *rate < sustained.rate) {
        return None;
    }
    let mut times = arrivals.corners();
    times.push(Exact::zero());
    for corner in service.corners() {
        let height = service.at(&corner)?;
        for bucket in arrivals.buckets() {
            if bucket.rate > Exact::zero() && bucket.burst < height {
                times.push((&height - &bucket.burst) / &bucket.rate);
            }
        }
    }
    let delay = |time: Exact| Some(service.time_for(&arrivals.at(&time))? - time);
    let delays: Option<Vec<Exact>> = times.into_iter().map(delay).collect();
    Some(delays?.into_iter().fold(Exact::zero(), Exact::max))
}

/// The largest backlog: the vertical deviation, `sup_t [α(t) − β(t)]`; `None` if it may grow
/// without limit. In whole packets it is that from [`ServiceCurve::in_packets`].
pub fn largest_backlog(arrivals: &ArrivalCurve, service: &ServiceCurve) -> Option<Exact> {
    if service.rate().is_some_and(|rate| *rate < arrivals.sustained().rate) {
        return None;
    }
    let times = [arrivals.corners(), service.corners(), vec![Exact::zero()]].concat();
    let backlogs = times.into_iter().filter_map(|time| Some(arrivals.at(&time) - service.at(&time)?));
    Some(backlogs.fold(Exact::zero(), Exact::max))
}
