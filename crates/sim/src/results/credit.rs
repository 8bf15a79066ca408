//! The tables `credit`, `credit_vcs` and `stalls`.

use super::Run;
use super::table::{Cell, Table};
use Cell::{Number, Text, Whole};
use tidegate_core::units::{Span, Time};

pub(super) fn links<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("credit");
    for report in run.world.credit_links() {
        let link = &run.network.links[report.link as usize];
        let (_, data) = run.world.link(report.link as usize).sent;
        let own = report.credit_cells.bytes + report.check_cells.bytes;
        rows.row([
            ("link", Text(&link.name)),
            ("vcs", Whole(report.vcs as u64)),
            ("memory", Whole(report.memory)),
            ("queue_max", Whole(report.queue_max)),
            ("rtt", Number(Some(report.plan.rtt.as_secs_f64()))),
            ("credit_cells", Whole(report.credit_cells.packets)),
            ("check_cells", Whole(report.check_cells.packets)),
            ("overhead", Number((data > 0).then(|| own as f64 / data as f64))),
            ("lost_cells", Whole(report.lost_cells)),
            ("duplicated_cells", Whole(report.duplicated_cells)),
            ("found_lost_packets", Whole(report.found_lost)),
            ("dropped_packets", Whole(report.dropped)),
        ]);
    }
    rows.finish()
}

pub(super) fn vcs<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("credit_vcs");
    let measured = run.world.measured();
    for report in run.world.credit_vcs() {
        let share = report.without_credit.as_secs_f64() / measured.as_secs_f64();
        rows.row([
            ("link", Text(&run.network.links[report.link as usize].name)),
            ("vc", Whole(report.vc.0.into())),
            ("flow", Text(run.flow_name(report.flow))),
            ("buf_alloc", Whole(report.buf_alloc.into())),
            ("n2", Whole(report.n2.into())),
            ("queue_max", Whole(report.queue_max.into())),
            ("without_credit", Number((measured > Span::ZERO).then_some(share))),
        ]);
    }
    rows.finish()
}

pub(super) fn stalls<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows("stalls");
    let seconds = |at: Time| at.since(Time::ORIGIN).as_secs_f64();
    for report in run.world.stalls() {
        rows.row([
            ("link", Text(&run.network.links[report.link as usize].name)),
            ("vc", Whole(report.stall.vc.0.into())),
            ("flow", Text(run.flow_name(report.flow))),
            ("round_trips", Whole(report.stall.round_trips)),
            ("since", Number(Some(seconds(report.stall.since)))),
            ("until", Number(report.until.map(seconds))),
            ("what", Text(&report.stall.to_string())),
        ]);
    }
    rows.finish()
}
