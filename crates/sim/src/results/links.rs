//! The table `links`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Number, Text, Whole};
use tidegate_core::stats::Lengths;
use tidegate_core::units::TICKS_PER_SECOND;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("links");
    for (ix, link) in run.network.links.iter().enumerate() {
        let report = run.world.link(ix);
        let ticks = report.measured.ticks() as f64;
        let over_time = |amount: f64| (ticks > 0.0).then(|| amount / ticks);
        let stats = report.stats.as_ref();
        let seen = stats.map(|stats| &stats.seen);
        let (packets, waited) = report.waited;
        let (control, control_busy) = report.control;
        let utilisation = match report.used {
            Some((used, offered)) => (offered > 0).then(|| used as f64 / offered as f64),
            None => stats.and_then(|stats| over_time((stats.busy() + control_busy).ticks() as f64)),
        };
        let wait_mean = (packets > 0).then(|| waited as f64 / packets as f64 / TICKS_PER_SECOND as f64);
        let (in_mean, in_most) = report.in_traffic.unwrap_or_default();
        let seen_p99 = seen.and_then(|seen| seen.quantile(99, 100)).map(|packets| packets as f64);
        rows.row([
            ("link", Text(&link.name)),
            ("from", Text(&run.network.nodes[link.from].name)),
            ("to", Text(&run.network.nodes[link.to].name)),
            ("rate", Whole(link.rate.bits_per_second().round() as u64)),
            ("packets", Whole(report.sent.0 + control.packets)),
            ("bytes", Whole(report.sent.1 + control.bytes)),
            ("dropped_packets", Whole(report.dropped)),
            ("marked_packets", Whole(report.marked)),
            ("lost_packets", Whole(report.lost)),
            ("utilisation", Number(utilisation)),
            ("in_traffic", Number(in_mean)),
            ("in_traffic_max", Number(in_most)),
            ("queue_mean", Number(stats.and_then(|stats| over_time(stats.area() as f64)))),
            ("queue_max", Whole(stats.map_or(0, |stats| stats.longest))),
            ("queue_seen_mean", Number(seen.and_then(Lengths::mean))),
            ("queue_seen_sd", Number(seen.and_then(Lengths::sd))),
            ("queue_seen_p99", Number(seen_p99)),
            ("wait_mean", Number(wait_mean)),
        ]);
    }
    rows.finish()
}
