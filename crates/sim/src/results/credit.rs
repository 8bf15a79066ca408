//! The tables `credit`, `credit_vcs`, `credit_outputs` and `stalls`.

use super::run::Run;
use super::table::Table;
use tidegate_core::units::{Span, Time};
use tidegate_formats::columns::{CreditOutputsRow, CreditRow, CreditVcsRow, StallsRow};

pub(super) fn links<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<CreditRow<'_>>();
    for report in run.world.credit_links() {
        let link = &run.network.links[report.link as usize];
        let (_, data) = run.world.link(report.link as usize).sent;
        let own = report.credit_cells.bytes + report.check_cells.bytes;
        rows.row(CreditRow {
            link: &link.name,
            vcs: report.vcs as u64,
            memory: report.memory,
            queue_max: report.queue_max,
            rtt: report.plan.rtt.as_secs_f64(),
            credit_cells: report.credit_cells.packets,
            check_cells: report.check_cells.packets,
            overhead: (data > 0).then(|| own as f64 / data as f64),
            lost_cells: report.lost_cells,
            duplicated_cells: report.duplicated_cells,
            found_lost_packets: report.found_lost,
            dropped_packets: report.dropped,
        });
    }
    rows.finish()
}

pub(super) fn vcs<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<CreditVcsRow<'_>>();
    let measured = run.world.measured();
    for report in run.world.credit_vcs() {
        let share = report.without_credit.as_secs_f64() / measured.as_secs_f64();
        rows.row(CreditVcsRow {
            link: &run.network.links[report.link as usize].name,
            vc: report.vc.0.into(),
            flow: run.flow_name(report.flow),
            buf_alloc: report.buf_alloc.into(),
            n2: report.n2.into(),
            queue_max: report.queue_max.into(),
            without_credit: (measured > Span::ZERO).then_some(share),
        });
    }
    rows.finish()
}

pub(super) fn outputs<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<CreditOutputsRow<'_>>();
    for report in run.world.credit_outputs() {
        rows.row(CreditOutputsRow {
            node: &run.network.nodes[report.node as usize].name,
            port: report.port.map_or("", |link| &run.network.links[link as usize].name),
            links: report.links.len() as u64,
            vcs: report.vcs as u64,
            memory: report.plan.adaptation.pool.into(),
            queue_max: report.queue_max,
            rtt: report.plan.rtt.as_secs_f64(),
        });
    }
    rows.finish()
}

pub(super) fn stalls<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<StallsRow<'_>>();
    let seconds = |at: Time| at.since(Time::ORIGIN).as_secs_f64();
    for report in run.world.stalls() {
        rows.row(StallsRow {
            link: &run.network.links[report.link as usize].name,
            vc: report.stall.vc.0.into(),
            flow: run.flow_name(report.flow),
            round_trips: report.stall.round_trips,
            since: seconds(report.stall.since),
            until: report.until.map(seconds),
            what: &report.stall.to_string(),
        });
    }
    rows.finish()
}
