//! The table `groups`.

use super::run::{Run, count, greatest, mean, quantile};
use super::table::Table;
use crate::record::FlowRecord;
use crate::world::Checks;
use tidegate_core::endpoint::Counts;
use tidegate_core::units::Span;
use tidegate_formats::columns::GroupsRow;

/// Sums over the flows of a group.
#[derive(Clone, Default)]
struct Total {
    flows: u64,
    record: FlowRecord,
    lost: u64,
    due: u64,
    missed: u64,
    checks: Checks,
    counts: Counts,
    transfers: Vec<Span>,
    refused: u64,
    /// The bytes that each flow received, and their squares, summed over flows.
    received: (f64, f64),
}

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<GroupsRow<'_>>();
    for (ix, (group, total)) in run.network.groups.iter().zip(totals(run)).enumerate() {
        let Total { record, checks, counts, transfers, .. } = &total;
        let delays = run.world.group_delays(ix);
        let delay = |q| quantile(delays.as_ref().map(|delays| &delays.delay), q, &record.delay);
        rows.row(GroupsRow {
            group,
            flows: total.flows,
            jain: jain(total.flows, &total.received),
            sent_packets: record.sent.0,
            sent_bytes: record.sent.1,
            received_packets: record.received.0,
            received_bytes: record.received.1,
            marked_packets: record.marked,
            dropped_packets: record.dropped,
            lost_packets: total.lost,
            due_copies: total.due,
            missed_copies: total.missed,
            absorbed_packets: record.absorbed,
            discarded_packets: record.discarded,
            checks: checks.checks,
            warnings: checks.warnings,
            refused: total.refused,
            retransmissions: count(counts.retransmissions),
            timeouts: count(counts.timeouts),
            throughput: run.throughput(record.received.1),
            goodput: counts.delivered.and_then(|bytes| run.throughput(bytes)),
            delay_mean: mean(&record.delay),
            delay_max: greatest(&record.delay),
            delay_p50: delay(0.5),
            delay_p99: delay(0.99),
            delay_p999: delay(0.999),
            queueing_mean: mean(&record.queueing),
            queueing_p99: quantile(delays.as_ref().map(|delays| &delays.queueing), 0.99, &record.queueing),
            transfers: count((!transfers.is_empty()).then_some(transfers.len() as u64)),
            transfer_mean: mean_time(transfers),
            transfer_p95: time_quantile(transfers, 0.95),
            transfer_p99: time_quantile(transfers, 0.99),
        });
    }
    rows.finish()
}

/// Returns the sums over the flows of each group.
fn totals<Q>(run: &Run<'_, Q>) -> Vec<Total> {
    let mut totals = vec![Total::default(); run.network.groups.len()];
    let refused = run.refused();
    for (ix, (flow, record)) in run.network.flows.iter().zip(run.world.records()).enumerate() {
        let total = &mut totals[flow.group];
        total.flows += 1;
        total.record.merge(record);
        total.lost += run.world.lost(ix);
        total.due += record.sent.0 * u64::from(flow.destinations());
        total.missed += run.world.missed(ix);
        let received = record.received.1 as f64;
        total.received = (total.received.0 + received, total.received.1 + received * received);
        let checks = run.world.checks(ix);
        total.checks.checks += checks.checks;
        total.checks.warnings += checks.warnings;
        total.counts = total.counts.and(run.world.counts(ix));
        total.transfers.extend(run.world.transfers(ix).filter_map(|(_, transfer)| transfer.took()));
        total.refused += u64::from(refused.contains(&(ix as u32)));
    }
    totals.iter_mut().for_each(|total| total.transfers.sort_unstable());
    totals
}

/// Returns Jain's fairness index (Jain, Chiu and Hawe 1984) of the bytes received; `None` for fewer
/// than two flows, or if nothing was received.
fn jain(flows: u64, &(sum, squares): &(f64, f64)) -> Option<f64> {
    (flows > 1 && sum > 0.0).then(|| sum * sum / (flows as f64 * squares))
}

/// Returns the mean in seconds; `None` for no times.
fn mean_time(times: &[Span]) -> Option<f64> {
    let sum: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
    (!times.is_empty()).then(|| sum / times.len() as f64)
}

/// Returns the least of the sorted times that a share `q` of them does not exceed, in seconds;
/// `None` for no times.
fn time_quantile(sorted: &[Span], q: f64) -> Option<f64> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map(|time| time.as_secs_f64())
}
