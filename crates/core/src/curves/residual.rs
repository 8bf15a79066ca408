//! Service that is left for a flow beside others.

use super::service::Line;
use super::{ArrivalCurve, Exact, ServiceCurve, longest_delay};
use alloc::vec::Vec;
use num_traits::Zero;

/// The service that others leave when all of theirs may be served first: `[β − α]⁺`, for a strict
/// service curve β.
///
/// For arbitrary multiplexing, α is the traffic of all others. For strict priority without
/// preemption it is that of more urgent flows and a burst of the largest packet of less urgent ones
/// (Le Boudec and Thiran 2001, section 6.2).
pub fn left_by(others: &ArrivalCurve, service: &ServiceCurve) -> ServiceCurve {
    minus(others, service, &Exact::zero())
}

/// The service of a flow in one line with others, in the order of arrival: `[β(t) − α(t − θ)]⁺` for
/// t > θ, which holds for every θ (Le Boudec and Thiran 2001, section 6.2), θ being the
/// longest delay of the others alone. For a rate-latency curve and a token bucket this is the rate
/// left after the latency and the time for the burst (the same section). `None` if the others
/// alone have no bound on their delay.
pub fn beside_fifo(others: &ArrivalCurve, service: &ServiceCurve) -> Option<ServiceCurve> {
    let theta = longest_delay(others, service)?;
    Some(minus(others, service, &theta))
}

/// A convex curve that is zero up to `theta`, and behind it not above `β(t) − α(t − theta)`.
///
/// The difference is convex: it is the greatest of the differences of all pairs of pieces that
/// overlap. Those that do not rise are left out, and those that are above zero at `theta` are
/// lowered to zero there.
fn minus(others: &ArrivalCurve, service: &ServiceCurve, theta: &Exact) -> ServiceCurve {
    let mut starts: Vec<Exact> = others.corners().iter().map(|corner| corner + theta).collect();
    starts.extend(service.corners());
    starts.push(theta.clone());
    starts.retain(|start| start >= theta);
    starts.sort();
    starts.dedup();
    let wall = service.wall();
    let mut lines = Vec::new();
    for start in starts {
        let (Some(rate), Some(served)) = (service.rate_after(&start), service.at(&start)) else { continue };
        let since = &start - theta;
        let rate = rate - others.rate_after(&since);
        if rate > Exact::zero() {
            let height = served - others.at(&since);
            let from = (&start - height / &rate).max(theta.clone());
            lines.push(Line { rate, from });
        }
    }
    ServiceCurve::greatest(&lines, wall.map(|wall| wall.max(theta.clone())))
}
