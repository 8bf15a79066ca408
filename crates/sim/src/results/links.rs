//! The table `links`.

use super::run::Run;
use super::table::Table;
use tidegate_core::stats::Lengths;
use tidegate_core::units::TICKS_PER_SECOND;
use tidegate_formats::columns::LinksRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<LinksRow<'_>>();
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
        rows.row(LinksRow {
            link: &link.name,
            from: &run.network.nodes[link.from].name,
            to: &run.network.nodes[link.to].name,
            rate: link.rate.bits_per_second().round() as u64,
            packets: report.sent.0 + control.packets,
            bytes: report.sent.1 + control.bytes,
            dropped_packets: report.dropped,
            marked_packets: report.marked,
            lost_packets: report.lost,
            utilisation,
            in_traffic: in_mean,
            in_traffic_max: in_most,
            queue_mean: stats.and_then(|stats| over_time(stats.area() as f64)),
            queue_max: stats.map_or(0, |stats| stats.longest),
            queue_seen_mean: seen.and_then(Lengths::mean),
            queue_seen_sd: seen.and_then(Lengths::sd),
            queue_seen_p99: seen_p99,
            wait_mean,
        });
    }
    rows.finish()
}
