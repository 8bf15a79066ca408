//! The table `transfers`.

use super::empty_path::EmptyPath;
use super::run::Run;
use super::table::Table;
use tidegate_core::units::{Span, Time};
use tidegate_formats::columns::TransfersRow;

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<TransfersRow<'_>>();
    let seconds = |at: Time| at.since(Time::ORIGIN).as_secs_f64();
    for (ix, flow) in run.network.flows.iter().enumerate() {
        let mut transfers = run.world.transfers(ix).peekable();
        if transfers.peek().is_none() {
            continue;
        }
        let path = EmptyPath::of(run.network, ix);
        for (number, transfer) in transfers {
            let took = transfer.took();
            let least = path.as_ref().and_then(|path| path.time(transfer.bytes));
            let slowdown = |(took, least): (Span, Span)| took.as_secs_f64() / least.as_secs_f64();
            rows.row(TransfersRow {
                connection: &flow.name,
                group: &run.network.groups[flow.group],
                number: number as u64,
                size: transfer.bytes,
                start: seconds(transfer.began),
                first_byte: transfer.first_sent.map(seconds),
                end: transfer.ended.map(seconds),
                completion: took.map(Span::as_secs_f64),
                slowdown: took.zip(least).map(slowdown),
                sent_again: transfer.sent_again,
            });
        }
    }
    rows.finish()
}
