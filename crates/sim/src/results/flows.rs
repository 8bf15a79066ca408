//! The table `flows`.

use super::table::{Cell, Table};
use super::{Run, count, greatest, mean, quantile};
use crate::world::lives;
use Cell::{Number, Text, Whole};
use tidegate_core::units::Time;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("flows");
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
        rows.row([
            ("flow", Text(&flow.name)),
            ("group", Text(&run.network.groups[flow.group])),
            ("from", Text(node(run.network.links[first].from))),
            ("to", Text(node(run.network.links[last].to))),
            ("hops", Whole(flow.route.len() as u64)),
            ("start", Number(Some(seconds(life.0)))),
            ("stop", Number(stop.map(seconds))),
            ("sent_packets", Whole(record.sent.0)),
            ("sent_bytes", Whole(record.sent.1)),
            ("received_packets", Whole(record.received.0)),
            ("received_bytes", Whole(record.received.1)),
            ("marked_packets", Whole(record.marked)),
            ("dropped_packets", Whole(record.dropped)),
            ("lost_packets", Whole(run.world.lost(ix))),
            ("due_copies", Whole(record.sent.0 * u64::from(flow.destinations()))),
            ("missed_copies", Whole(run.world.missed(ix))),
            ("absorbed_packets", Whole(record.absorbed)),
            ("discarded_packets", Whole(record.discarded)),
            ("envelope_mean", run.world.envelope_wait(ix).map_or(Number(None), mean)),
            ("checks", Whole(checks.checks)),
            ("warnings", Whole(checks.warnings)),
            ("refused", Whole(u64::from(refused.contains(&(ix as u32))))),
            ("retransmissions", count(counts.retransmissions)),
            ("timeouts", count(counts.timeouts)),
            ("throughput", run.throughput(record.received.1)),
            ("goodput", counts.delivered.map_or(Number(None), |bytes| run.throughput(bytes))),
            ("delay_mean", mean(&record.delay)),
            ("delay_sd", Number(record.delay.sd_seconds())),
            ("delay_max", greatest(&record.delay)),
            ("delay_p50", delay(0.5)),
            ("delay_p99", delay(0.99)),
            ("delay_p999", delay(0.999)),
            ("queueing_mean", mean(&record.queueing)),
            ("queueing_sd", Number(record.queueing.sd_seconds())),
            (
                "queueing_p99",
                quantile(delays.as_ref().map(|delays| &delays.queueing), 0.99, &record.queueing),
            ),
            ("queueing_max", greatest(&record.queueing)),
        ]);
    }
    rows.finish()
}
