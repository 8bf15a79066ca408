//! The traffic that leaves a server.

use super::{ArrivalCurve, Bucket, Exact, ServiceCurve, largest_backlog};
use alloc::vec;
use alloc::vec::Vec;

/// Bound on the traffic behind a server, in bits as they leave: the min-plus deconvolution `sup_u
/// [α(t + u) − β(u)]` (Le Boudec and Thiran 2001, theorem 1.4.3); `None` if the backlog may grow
/// without limit.
///
/// The greatest difference is at the time x at which α becomes slower than β. From there on, the
/// curve rises along the pieces of α behind x and those of β before x backwards, the steepest first.
pub fn output(arrivals: &ArrivalCurve, service: &ServiceCurve) -> Option<ArrivalCurve> {
    let burst = largest_backlog(arrivals, service)?;
    let slower = |time: &Exact| service.rate_after(time).is_none_or(|rate| arrivals.rate_after(time) <= rate);
    let mut times = [arrivals.corners(), service.corners(), vec![Exact::from_integer(0.into())]].concat();
    times.sort();
    let x = times.into_iter().find(slower)?;
    // Each with its length; `None` for the one without an end.
    let mut pieces: Vec<(Exact, Option<Exact>)> = Vec::new();
    let mut from = x.clone();
    for corner in arrivals.corners().into_iter().filter(|corner| *corner > x) {
        pieces.push((arrivals.rate_after(&from).clone(), Some(&corner - &from)));
        from = corner;
    }
    pieces.push((arrivals.sustained().rate.clone(), None));
    pieces.extend(service.pieces_until(&x).into_iter().map(|(length, rate)| (rate, Some(length))));
    pieces.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.is_none().cmp(&other.1.is_none())));
    let (mut at, mut height) = (Exact::from_integer(0.into()), burst);
    let mut buckets = Vec::new();
    for (rate, length) in pieces {
        buckets.push(Bucket { burst: &height - &rate * &at, rate: rate.clone() });
        let Some(length) = length else { break };
        height += &rate * &length;
        at += length;
    }
    ArrivalCurve::least(buckets)
}
