//! Bounds on the delay over a whole route.

use super::network::Network;
use super::served::Served;
use super::total_flow::Found;
use crate::curves::{ArrivalCurve, Exact, ServiceCurve, longest_delay, whole};
use alloc::vec::Vec;
use num_traits::Zero;

/// The delay of a flow over all its ports, each of which leaves it a service curve: it pays its burst
/// once (Le Boudec and Thiran 2001, section 1.4.3). All but the last hand over whole packets. `None`
/// if there is no bound.
///
/// A port may have two service curves, that of the shorter delay there and the scheduler's promise.
/// The former need not be the better one of the route, so that the route is looked at with either.
pub(super) fn separated_flow(arrivals: &ArrivalCurve, largest: u32, hops: &[&Served]) -> Option<Exact> {
    let soonest: Option<Vec<_>> = hops.iter().map(|hop| hop.service.as_ref()).collect();
    let promised: Option<Vec<_>> =
        hops.iter().map(|hop| hop.promised.as_ref().or(hop.service.as_ref())).collect();
    let delays = [soonest, promised].into_iter().flatten();
    delays.filter_map(|services| paid_once(arrivals, largest, &services)).min()
}

/// The delay of a flow over ports in a row, each with a service curve.
fn paid_once(arrivals: &ArrivalCurve, largest: u32, services: &[&ServiceCurve]) -> Option<Exact> {
    let (last, before) = services.split_last()?;
    let mut service = (*last).clone();
    for hop in before {
        service = hop.in_packets(&whole(largest)).then(&service);
    }
    longest_delay(arrivals, &service)
}

/// The delay of a flow over all its ports, in each of which it waits in a line in the order of arrival:
/// the line has the rate C after the latency T, and others bring a burst b and the rate r. For any
/// times θ ≥ T + b / C the line leaves the flow nothing until θ, then `C (θ − T) − b` bytes at once and
/// the rate `R = C − r` (Cruz 1995; Le Boudec and Thiran 2001, proposition 6.2.1). In a row these
/// are one such server, with the sum of the θ and the least of the rest. With a burst σ of its own no
/// packet is later than
///
/// > x + Σ (T + (b + l + (σ − R x)⁺) / C)
///
/// for any x ≥ 0, where l is the flow's largest packet at all ports but the last, which hand over whole
/// packets; the least is at zero or at one of the σ / R. `None` if there is no bound.
pub(super) fn in_order_of_arrival(arrivals: &ArrivalCurve, largest: u32, hops: &[&Served]) -> Option<Exact> {
    let own = arrivals.sustained();
    let mut fixed = Exact::zero();
    let mut lines = Vec::new();
    for (place, hop) in hops.iter().enumerate() {
        let others = hop.queue.others.as_ref()?.sustained();
        let (rate, latency) = hop.queue.service.in_the_long_run()?;
        let left = &rate - &others.rate;
        if left <= Exact::zero() || left < own.rate {
            return None;
        }
        let packet = if place + 1 < hops.len() { whole(largest) } else { Exact::zero() };
        fixed += latency + (&others.burst + packet) / &rate;
        lines.push((rate, left));
    }
    let delay = |x: Exact| {
        let of_line = |(rate, left): &(Exact, Exact)| (&own.burst - left * &x).max(Exact::zero()) / rate;
        lines.iter().map(of_line).sum::<Exact>() + x
    };
    let corners = lines.iter().map(|(_, left)| &own.burst / left).chain([Exact::zero()]);
    Some(fixed + corners.map(delay).min()?)
}

/// Another flow's passage through ports that follow each other on the route.
struct Crossing {
    burst: Exact,
    rate: Exact,
    /// Places of these ports on the route.
    from: usize,
    to: usize,
}

/// The delay of a flow over all its ports when these are never idle while a packet waits, in any
/// order of service: with rates C and latencies T, and others with a burst b and the rate r over some
/// ports in a row, the route is a server of the rate `R = min (C − Σr)` after `ΣT + Σ (b + r ΣT of
/// their ports) / R` (Schmitt, Zdarsky and Martinovic 2008, theorem 1). `None` if there is no bound.
///
/// In whole packets, a port has the latency of a largest packet; the last one hands over bits.
///
/// Why it holds: let t₀ ≤ t₁ ≤ … be times such that port i has had packets from tᵢ₋₁ to tᵢ, and none
/// before. It has served C (tᵢ − tᵢ₋₁ − T)⁺ of all flows meanwhile, and of each other flow what came
/// to the first port that it shares since the t before that port, less what left the last one. The
/// sum over all ports is the flow's own service since t₀.
pub(super) fn multiplexing_once(network: &Network<'_>, flow: usize, found: &Found) -> Option<Exact> {
    let terms = &network.flows[flow];
    let members = network.members();
    let mut latencies = Vec::new();
    let mut rates = Vec::new();
    for (place, port) in terms.route.iter().enumerate() {
        if !network.is_plain(*port) || !network.is_never_idle(*port) {
            return None;
        }
        if network.has_ceilings(*port, &members) || found.held.any_of(&members[*port]) {
            return None;
        }
        let largest = whole(network.largest_at(&members[*port]));
        let (rate, latency) = network.ports[*port].server(&largest).in_the_long_run()?;
        let packet = if place + 1 < terms.route.len() { largest / &rate } else { Exact::zero() };
        latencies.push(latency + packet);
        rates.push(rate);
    }
    let crossings = crossings(network, flow, found)?;
    for crossing in &crossings {
        rates[crossing.from..=crossing.to].iter_mut().for_each(|rate| *rate -= &crossing.rate);
    }
    let rate = rates.into_iter().min().filter(|rate| *rate > Exact::zero())?;
    let mut behind: Exact = Exact::zero();
    for crossing in &crossings {
        let meanwhile: Exact = latencies[crossing.from..=crossing.to].iter().sum();
        behind += &crossing.burst + &crossing.rate * meanwhile;
    }
    let latency = latencies.iter().sum::<Exact>() + behind / &rate;
    longest_delay(terms.arrivals.as_ref()?, &ServiceCurve::rate_latency(rate, latency))
}

/// The passages of all other flows; `None` if one of them is not bounded.
fn crossings(network: &Network<'_>, flow: usize, found: &Found) -> Option<Vec<Crossing>> {
    let route = &network.flows[flow].route;
    let mut crossings: Vec<Crossing> = Vec::new();
    for (other, terms) in network.flows.iter().enumerate().filter(|(other, _)| *other != flow) {
        let mut open = false;
        for (hop, port) in terms.route.iter().enumerate() {
            let Some(place) = route.iter().position(|on_way| on_way == port) else {
                open = false;
                continue;
            };
            match crossings.last_mut() {
                Some(last) if open && last.to + 1 == place => last.to = place,
                _ => {
                    let sustained = found.arrivals[other][hop].as_ref()?.sustained();
                    let (burst, rate) = (sustained.burst.clone(), sustained.rate.clone());
                    crossings.push(Crossing { burst, rate, from: place, to: place });
                }
            }
            open = true;
        }
    }
    Some(crossings)
}
