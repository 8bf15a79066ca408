//! The table `flows`.

use super::run::{Run, count, greatest, mean, quantile};
use super::table::Table;
use crate::world::lives;
use tidegate_core::endpoint::Counts;
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};
use tidegate_formats::columns::FlowsRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<FlowsRow<'_>>();
    let refused = run.refused();
    let node = |ix: usize| run.network.nodes[ix].name.as_str();
    let lives = lives(run.network, run.seed);
    for (ix, ((flow, record), life)) in
        run.network.flows.iter().zip(run.world.records()).zip(lives).enumerate()
    {
        let seconds = |time: Time| time.since(Time::ORIGIN).as_secs_f64();
        let stop = Some(life.1).filter(|stop| *stop != Time::NEVER);
        let (first, last) = (flow.route[0], flow.route[flow.route.len() - 1]);
        let delays = run.world.flow_delays(ix);
        let delay = |q| quantile(delays.as_ref().map(|delays| &delays.delay), q, &record.delay);
        let checks = run.world.checks(ix);
        let counts = run.world.counts(ix);
        rows.row(FlowsRow {
            flow: &flow.name,
            group: &run.network.groups[flow.group],
            from: node(run.network.links[first].from),
            to: node(run.network.links[last].to),
            hops: flow.path_length() as u64,
            start: seconds(life.0),
            stop: stop.map(seconds),
            sent_packets: record.sent.0,
            sent_bytes: record.sent.1,
            received_packets: record.received.0,
            received_bytes: record.received.1,
            marked_packets: record.marked,
            dropped_packets: record.dropped,
            lost_packets: run.world.lost(ix),
            due_copies: record.sent.0 * u64::from(flow.destinations()),
            missed_copies: run.world.missed(ix),
            absorbed_packets: record.absorbed,
            discarded_packets: record.discarded,
            envelope_mean: run.world.envelope_wait(ix).and_then(mean),
            checks: checks.checks,
            warnings: checks.warnings,
            refused: u64::from(refused.contains(&(ix as u32))),
            retransmissions: count(counts.retransmissions),
            timeouts: count(counts.timeouts),
            throughput: run.throughput(record.received.1),
            goodput: counts.delivered.and_then(|bytes| run.throughput(bytes)),
            delay_mean: mean(&record.delay),
            delay_sd: record.delay.sd_seconds(),
            delay_max: greatest(&record.delay),
            delay_p50: delay(0.5),
            delay_p99: delay(0.99),
            delay_p999: delay(0.999),
            jitter: run.world.jitter(ix),
            delay_variation_p99: delay(0.99).zip(record.delay.min()).map(beyond),
            delay_variation_p999: delay(0.999).zip(record.delay.min()).map(beyond),
            rtt_mean: round_trip(&counts),
            queueing_mean: mean(&record.queueing),
            queueing_sd: record.queueing.sd_seconds(),
            queueing_p99: quantile(delays.as_ref().map(|delays| &delays.queueing), 0.99, &record.queueing),
            queueing_max: greatest(&record.queueing),
        });
    }
    rows.finish()
}

/// Returns a delay in seconds as far as it is beyond the least.
fn beyond((delay, least): (f64, Span)) -> f64 {
    (delay - least.as_secs_f64()).max(0.0)
}

/// Returns the mean of the round trips that a sender has measured, in seconds.
fn round_trip(counts: &Counts) -> Option<f64> {
    let (count, ticks) = counts.round_trips.zip(counts.round_trip_ticks)?;
    (count > 0).then(|| ticks as f64 / count as f64 / TICKS_PER_SECOND as f64)
}
