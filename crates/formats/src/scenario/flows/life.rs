//! Life of flows: their start, their end, and changes of their contracts in between.

use super::ChangeSpec;
use crate::error::{Complaint, Report};
use crate::source::Source;
use crate::values::Values;
use tidegate_core::units::Span;

/// The start, and the stop if one is stated; `None` once a mistake has been reported.
pub(super) fn start_and_stop(values: &Values, report: &mut Report) -> Option<(Span, Option<Span>)> {
    let (start, stop) = (values.time("start")?, values.time("stop"));
    if stop.is_some_and(|stop| stop <= start) {
        report.add(values.place_of("stop"), Complaint::new("`stop` is not later than `start`"));
    }
    Some((start, stop))
}

pub(super) fn check_comings_and_goings(values: &Values, report: &mut Report) {
    if values.given("stop") && values.given("lasts") {
        let complaint = Complaint::new("`stop` and `lasts` both say when the flow ends");
        report.add(values.place_of("lasts"), complaint.help("leave out one of them"));
    }
    for key in ["every", "lasts"] {
        if values.time(key) == Some(Span::ZERO) {
            report.add(values.place_of(key), Complaint::new(format!("`{key}` is zero")));
        }
    }
    if values.time("hangup").is_some_and(|at| Some(at) <= values.time("start")) {
        report.add(values.place_of("hangup"), Complaint::new("`hangup` is not later than `start`"));
    }
}

/// Reports a change of rate for a source without a rate.
pub(super) fn check_paces(values: &Values, source: &Source, report: &mut Report) {
    let has_rate = matches!(
        source,
        Source::Cbr { .. } | Source::Poisson { .. } | Source::OnOff { .. } | Source::PacketTrain { .. }
    );
    for change in values.tables("change").iter().filter(|change| !has_rate && change.given("rate")) {
        let complaint = Complaint::new("`rate` has no effect: the source has no rate of its own")
            .help("leave it out: greedy sources and recordings send as before, within what is reserved then");
        report.add(change.place_of("rate"), complaint);
    }
}

pub(super) fn changes(values: &Values, start: Span, report: &mut Report) -> Option<Vec<ChangeSpec>> {
    let mut changes = Vec::new();
    let mut before = start;
    for change in values.tables("change") {
        let at = change.time("at")?;
        if at <= before {
            let complaint =
                Complaint::new("`at` is not later than the flow's `start` and the previous change");
            report.add(change.place_of("at"), complaint);
        }
        before = at;
        let (interval, rate) = (change.time("interval"), change.rate("rate"));
        changes.push(ChangeSpec { at, reserve: change.rate("reserve")?, interval, rate });
    }
    Some(changes)
}
