//! Properties of every interval: ceilings, envelopes, reservations and the delays that they
//! promise.

use crate::history::{History, Visit};
use tidegate_core::bounds::{Hop, virtual_clock_delay};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::shaper::Excess;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

/// Ticks · bit/s of one byte.
const BYTE: i128 = 8 * TICKS_PER_SECOND as i128;

/// The most bytes, in units of [`BYTE`] and whole bits per second, by which packets exceed a rate
/// over any interval that begins and ends with one of them: the depth that a bucket needs. A tick
/// is allowed for each packet's rounding.
fn excess(rate: Rate, packets: impl IntoIterator<Item = (Time, u32)>) -> i128 {
    let bits = rate.bits_per_second().round() as i128;
    let (mut sum, mut least, mut most) = (0, i128::MAX, 0);
    for (at, len) in packets {
        let allowed = bits * i128::from(at.ticks());
        least = least.min(sum - allowed);
        sum += i128::from(len) * BYTE - bits;
        most = most.max(sum - allowed - least);
    }
    most
}

/// Checks that no flow, class or port sends more than its ceiling and two packets over any
/// interval; returns the number of ceilings.
///
/// # Errors
/// The first violation.
pub fn check_ceilings(history: &History<'_>) -> Result<u64, String> {
    let network = history.network;
    let mut checked = 0;
    for (ix, link) in network.links.iter().enumerate() {
        let mut within = |name: &str, rate: Rate, counts: &dyn Fn(u32) -> bool| {
            let packets: Vec<(Time, u32)> = history
                .sent(ix)
                .filter(|visit| counts(visit.packet.flow))
                .filter_map(|visit| Some((visit.started?, visit.len)))
                .collect();
            let largest = packets.iter().map(|(_, len)| *len).max().unwrap_or(0);
            checked += 1;
            match excess(rate, packets) > 2 * i128::from(largest) * BYTE {
                true => Err(format!("{name} exceeds its ceiling {rate:?} on {}", link.name)),
                false => Ok(()),
            }
        };
        if let Some(rate) = link.port.ceiling {
            within("the port", rate, &|_| true)?;
        }
        let plan = |flow: u32| {
            let setup = &network.flows[flow as usize];
            setup.route.iter().position(|other| *other == ix).map(|place| setup.plans[place])
        };
        for (class, at) in link.port.classes.iter().enumerate() {
            let is_in = |flow: u32| {
                let mut own = plan(flow).and_then(|plan| plan.class);
                while own.is_some_and(|own| usize::from(own) != class) {
                    own = own.and_then(|own| link.port.classes[usize::from(own)].parent);
                }
                own.is_some()
            };
            if let Some(rate) = at.ceiling {
                within(&format!("class {class}"), rate, &is_in)?;
            }
        }
        for (flow, setup) in network.flows.iter().enumerate() {
            if let Some(rate) = plan(flow as u32).and_then(|plan| plan.ceiling) {
                within(&setup.name, rate, &|other| other as usize == flow)?;
            }
        }
    }
    Ok(checked)
}

/// Checks that packets that pass an envelope conform to it over any interval; returns the number of
/// envelopes.
///
/// # Errors
/// The first flow that does not conform.
pub fn check_envelopes(history: &History<'_>) -> Result<u64, String> {
    let mut checked = 0;
    for (flow, setup) in history.network.flows.iter().enumerate() {
        let Some(envelope) = setup.envelope.filter(|envelope| envelope.excess != Excess::Mark) else {
            continue;
        };
        if setup.life.changes.is_empty() {
            checked += 1;
            let released = released(history, flow as u32);
            if excess(envelope.rate, released) > i128::from(envelope.burst) * BYTE {
                return Err(format!("{} exceeds its envelope", setup.name));
            }
        }
    }
    Ok(checked)
}

/// The packets of a flow that were sent by its first port: when they joined its queue, and their
/// sizes.
fn released(history: &History<'_>, flow: u32) -> Vec<(Time, u32)> {
    let first = history.network.flows[flow as usize].route[0];
    let own = history.sent(first).filter(|visit| visit.packet.flow == flow);
    let mut released: Vec<(Time, u32)> = own.filter_map(|visit| Some((visit.queued?, visit.len))).collect();
    released.sort_unstable();
    released
}

/// Checks that packets of flows that reserve at VirtualClock ports all along their way are as early
/// as is promised to a flow with
/// their burst; returns the number of such packets.
///
/// # Errors
/// The first late packet.
pub fn check_bounds(history: &History<'_>) -> Result<u64, String> {
    let network = history.network;
    let mut checked = 0;
    for (flow, setup) in network.flows.iter().enumerate() {
        let Some(reserve) = promised(history, flow) else { continue };
        // Every packet that came to the first port, dropped or not: its burst.
        let first = setup.route[0];
        let came =
            history.visits.iter().filter(|visit| visit.link == first && visit.packet.flow as usize == flow);
        let came: Vec<&Visit> = came.collect();
        let joined = |visit: &Visit| match setup.envelope {
            Some(_) => visit.queued,
            None => Some(visit.arrived),
        };
        if setup.envelope.is_some() && came.iter().any(|visit| visit.dropped.is_some()) {
            // The time of release is not known.
            continue;
        }
        let packets: Vec<(Time, u32)> =
            came.iter().filter_map(|visit| Some((joined(visit)?, visit.len))).collect();
        let largest = packets.iter().map(|(_, len)| *len).max().unwrap_or(0);
        let rounding = packets.len() as i128 * reserve.bits_per_second().round() as i128;
        let burst = ((excess(reserve, packets) + rounding + BYTE - 1) / BYTE) as u64;
        let hops: Vec<Hop> = setup
            .route
            .iter()
            .map(|link| Hop {
                rate: network.links[*link].rate,
                largest: history.sent(*link).map(|visit| visit.len).max().unwrap_or(0),
                delay: network.links[*link].delay,
            })
            .collect();
        // Each hop's rounding of stamps and of transmission times: a tick a packet.
        let slack = Span::from_ticks(hops.len() as u64 * (came.len() as u64 + 1));
        let bound = virtual_clock_delay(burst, reserve, largest, &hops) + slack;
        for last in history.visits.iter().filter(|visit| visit.packet.flow as usize == flow) {
            let Some(received) = last.received else { continue };
            let way = history.way_to(last);
            let Some(from) = way.last().and_then(joined) else { continue };
            checked += 1;
            let took = received.since(from);
            if took > bound {
                return Err(format!(
                    "{} took {took:?} of {bound:?} promised (burst {burst} B): {last:?}",
                    setup.name
                ));
            }
        }
    }
    Ok(checked)
}

/// Rate that a flow reserves at every port of its way; `None` where that promises no delay.
fn promised(history: &History<'_>, flow: usize) -> Option<Rate> {
    let network = history.network;
    let setup = &network.flows[flow];
    let reserve = setup.plans[0].contract.reserve?;
    let plain = |link: &usize| {
        let plan = &network.links[*link];
        let stamps = SchedulerKind::named("virtual-clock").as_ref() == Some(&plan.port.scheduler);
        let members = || network.flows.iter().filter(|other| other.route.contains(link));
        let contracts = || members().map(|other| other.plans[0].contract);
        // The flows of a group that come and go cannot be promised more together than the link has.
        let reserved: f64 =
            contracts().filter_map(|contract| contract.reserve).map(Rate::bits_per_second).sum();
        stamps
            && plan.port.classes.is_empty()
            && plan.port.ceiling.is_none()
            && plan.pace.is_steady()
            && contracts().all(|contract| contract.head_start == Span::ZERO)
            && reserved <= plan.rate.bits_per_second()
    };
    let own_ceiling = setup.plans.iter().any(|plan| plan.ceiling.is_some());
    let own_changes = !setup.life.changes.is_empty();
    (!own_ceiling && !own_changes && setup.route.iter().all(plain)).then_some(reserve)
}
