//! Life of flows: their start, their end, and changes of their contracts in between.

use super::ChangeSpec;
use crate::error::{Complaint, Report};
use crate::keys::flow::{Change, Flow, Life};
use crate::source::Source;
use tidegate_core::units::Span;

/// Checks that a flow starts before it ends, and that one key states its end.
pub(super) fn check(life: &Life, report: &mut Report) {
    let Life { start, stop, every, lasts } = life;
    if stop.is_some_and(|stop| stop <= **start) {
        report.add(stop.place, Complaint::new("`stop` is not later than `start`"));
    }
    if stop.given && lasts.given {
        let complaint = Complaint::new("`stop` and `lasts` both say when the flow ends");
        report.add(lasts.place, complaint.help("leave out one of them"));
    }
    for time in [every, lasts] {
        if **time == Some(Span::ZERO) {
            report.add(time.place, Complaint::new(format!("`{}` is zero", time.key)));
        }
    }
}

/// Checks that a flow is torn down after it starts.
pub(super) fn check_hangup(flow: &Flow, report: &mut Report) {
    if flow.hangup.is_some_and(|at| at <= *flow.life.start) {
        report.add(flow.hangup.place, Complaint::new("`hangup` is not later than `start`"));
    }
}

/// Reports a change of rate for a source without a rate.
pub(super) fn check_paces(flow: &Flow, source: &Source, report: &mut Report) {
    let has_rate = matches!(
        source,
        Source::Cbr { .. } | Source::Poisson { .. } | Source::OnOff { .. } | Source::PacketTrain { .. }
    );
    for change in flow.change.iter().filter(|change| !has_rate && change.rate.given) {
        let complaint = Complaint::new("`rate` has no effect: the source has no rate of its own")
            .help("leave it out: greedy sources and recordings send as before, within what is reserved then");
        report.add(change.rate.place, complaint);
    }
}

/// The changes of a flow's reservation.
pub(super) fn changes(flow: &Flow, report: &mut Report) -> Vec<ChangeSpec> {
    let mut changes = Vec::new();
    let mut before = *flow.life.start;
    for change in flow.change.iter() {
        let Change { at, reserve, interval, rate } = &**change;
        if **at <= before {
            let complaint =
                Complaint::new("`at` is not later than the flow's `start` and the previous change");
            report.add(at.place, complaint);
        }
        before = **at;
        changes.push(ChangeSpec { at: **at, reserve: **reserve, interval: **interval, rate: **rate });
    }
    changes
}
