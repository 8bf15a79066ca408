//! The results that a run reports, against the sums over its log.

use crate::history::{History, Visit};
use tidegate_core::context::Reason;
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::EventQueue;
use tidegate_sim::packet_log::PacketId;
use tidegate_sim::world::World;

/// Checks that a reported quantity equals that of the log.
fn equal<T: PartialEq + std::fmt::Debug>(
    whose: &str,
    what: &str,
    reported: T,
    logged: T,
) -> Result<(), String> {
    if reported == logged {
        Ok(())
    } else {
        Err(format!("{whose}: {what} is reported as {reported:?}, the log has {logged:?}"))
    }
}

/// Packets and bytes.
fn count<'v>(visits: impl Iterator<Item = &'v Visit>) -> (u64, u64) {
    visits.fold((0, 0), |(packets, bytes), visit| (packets + 1, bytes + u64::from(visit.len)))
}

/// Checks every reported quantity.
///
/// # Errors
/// The first that differs.
pub fn check<Q: EventQueue>(history: &History<'_>, world: &World<Q>) -> Result<(), String> {
    (0..history.network.flows.len()).try_for_each(|flow| check_flow(history, world, flow))?;
    (0..history.network.links.len()).try_for_each(|link| check_link(history, world, link))
}

/// A flow's record: packets that left their source since the warm-up.
fn check_flow<Q: EventQueue>(history: &History<'_>, world: &World<Q>, flow: usize) -> Result<(), String> {
    let network = history.network;
    let (setup, record) = (&network.flows[flow], &world.records()[flow]);
    let warm_at = Time::ORIGIN + network.warmup;
    if setup.envelope.is_some() && network.warmup > Span::ZERO {
        // The log does not say when an envelope lets a packet go.
        return Ok(());
    }
    let begins = history.begins(flow as u32);
    let born = |packet: PacketId| history.at(packet, begins[0]).map(|visit| visit.arrived);
    let all = history.visits.iter().filter(|visit| visit.packet.flow as usize == flow);
    let measured: Vec<Visit> = all.copied().filter(|visit| born(visit.packet) >= Some(warm_at)).collect();
    let of = |counts: &dyn Fn(&&Visit) -> bool| count(measured.iter().filter(counts));
    let discarded = |visit: &&Visit| {
        let by_shaper = visit.dropped.is_some_and(|(_, reason)| reason == Reason::Shaper);
        by_shaper && setup.envelope.is_some() && visit.link == begins[0]
    };
    let name = &setup.name;
    equal(name, "received", record.received, of(&|visit| visit.received.is_some()))?;
    equal(name, "discarded", record.discarded, of(&discarded).0)?;
    let dropped = of(&|visit| visit.dropped.is_some()).0 - of(&discarded).0;
    equal(name, "dropped", record.dropped, dropped)?;
    equal(name, "lost", world.lost(flow), of(&|visit| visit.lost.is_some()).0)?;
    let entered = of(&|visit| visit.link == begins[0]);
    if setup.envelope.is_none() {
        equal(name, "sent", record.sent, entered)?;
        let delays: Vec<Span> =
            measured.iter().filter_map(|visit| Some(visit.received?.since(born(visit.packet)?))).collect();
        let sum: u128 = delays.iter().map(|delay| u128::from(delay.ticks())).sum();
        let (reported, longest) = (record.delay.sum_ticks(), delays.iter().copied().max());
        if world.counts(flow).retransmissions.unwrap_or(0) > 0 {
            // A retransmission's delay counts from the first transmission, which the log does not
            // have.
            if reported < sum || record.delay.max() < longest {
                return Err(format!("{name}: delays of {reported} in all are reported, the log has {sum}"));
            }
            return Ok(());
        }
        equal(name, "the sum of delays", reported, sum as _)?;
        equal(name, "the largest delay", record.delay.max(), longest)?;
    } else {
        // A packet in the envelope is not sent yet.
        let gone = record.received.0 + record.dropped + world.lost(flow);
        let most = entered.0 - record.discarded;
        let copies = begins.len() > 1 || !setup.depths.is_empty();
        if record.sent.0 > most || (!copies && record.sent.0 < gone) {
            return Err(format!("{name}: {} are sent, of {most}, and {gone} are gone", record.sent.0));
        }
    }
    Ok(())
}

/// A link's report: events there since the warm-up.
fn check_link<Q: EventQueue>(history: &History<'_>, world: &World<Q>, link: usize) -> Result<(), String> {
    let network = history.network;
    let (plan, report) = (&network.links[link], world.link(link));
    let (name, warm_at) = (&plan.name, Time::ORIGIN + network.warmup);
    let until = Time::ORIGIN + network.duration;
    let here: Vec<&Visit> = history.visits.iter().filter(|visit| visit.link == link).collect();
    let departed = here.iter().copied().filter(|visit| visit.departed >= Some(warm_at));
    let sent = count(departed.clone());
    equal(name, "sent", report.sent, sent)?;
    equal(name, "lost", report.lost, departed.filter(|visit| visit.lost.is_some()).count() as u64)?;
    let enveloped = |visit: &Visit| {
        let setup = &network.flows[visit.packet.flow as usize];
        setup.envelope.is_some() && setup.route[0] == link
    };
    let dropped = here.iter().filter(|visit| {
        let Some((at, reason)) = visit.dropped else { return false };
        at >= warm_at && !(reason == Reason::Shaper && enveloped(visit))
    });
    equal(name, "dropped", report.dropped, dropped.count() as u64)?;
    let stats = report.stats.ok_or("a port without statistics")?;
    let within = |from: Time, to: Option<Time>| to.unwrap_or(until).since(from.max(warm_at)).ticks();
    let busy: u64 = here.iter().filter_map(|visit| Some(within(visit.started?, visit.departed))).sum();
    let left = |visit: &Visit| visit.departed.or(visit.dropped.map(|(at, _)| at));
    equal(name, "busy", stats.busy().ticks(), busy)?;
    if busy > until.since(warm_at).ticks() {
        return Err(format!("{name}: busy for longer than was measured"));
    }
    if let Some((used, offered)) = report.used
        && used > offered
    {
        return Err(format!("{name}: {used} bytes are used, and {offered} were offered"));
    }
    // A packet in an envelope is not queued, and the log does not say how long it waits there.
    if here.iter().any(|visit| enveloped(visit)) {
        return Ok(());
    }
    let queued: Vec<&Visit> = here.into_iter().filter(|visit| joined(visit)).collect();
    let area: u128 = queued.iter().map(|visit| u128::from(within(visit.arrived, left(visit)))).sum();
    equal(name, "the area under the queue", stats.area(), area)?;
    let waits = queued.iter().filter_map(|visit| {
        let started = visit.started.filter(|at| *at >= warm_at)?;
        Some(u128::from(started.since(visit.arrived).ticks()))
    });
    equal(name, "the waits", report.waited, (waits.clone().count() as u64, waits.sum()))?;
    equal(name, "the longest queue", stats.longest, longest(&queued, warm_at))
}

/// Returns true if a packet was in the queue. Packets that were pushed out at once count, and so do
/// those that a dropper took later, at the head.
fn joined(visit: &Visit) -> bool {
    visit.dropped.is_none_or(|(at, reason)| reason == Reason::PushedOut || at > visit.arrived)
}

/// The most packets at once since the warm-up: for some time, until one of them departed at the
/// same instant, or as an arriving packet saw them. A push-out by an arrival leaves the queue
/// length unchanged.
fn longest(queued: &[&Visit], warm_at: Time) -> u64 {
    let mut steps: Vec<(usize, Time, i64)> = Vec::new();
    for visit in queued {
        let left = visit.departed.or(visit.dropped.map(|(at, _)| at));
        if left.is_some_and(|at| at < warm_at) {
            continue;
        }
        // A packet that was queued when the warm-up ended counts from that time.
        let place = if visit.arrived < warm_at { 0 } else { visit.places.0 };
        steps.push((place, visit.arrived.max(warm_at), 1));
        if let (Some(place), Some(at)) = (visit.places.1, left) {
            steps.push((place, at, if visit.departed.is_some() { -2 } else { -1 }));
        }
    }
    steps.sort_unstable();
    let (mut now, mut most, mut before) = (0, 0, Time::ORIGIN);
    for (place, at, step) in steps {
        if at > before || step == -2 || step == 1 && place > 0 {
            most = most.max(now);
        }
        (now, before) = (now + step.max(-1), at);
    }
    most.max(now) as u64
}
