//! The table `signals`.

use super::run::Run;
use super::table::Table;
use crate::world::Answer;
use tidegate_core::admission::Refusal;
use tidegate_core::units::Time;
use tidegate_formats::columns::SignalsRow;
use tidegate_formats::units::{show_rate, show_time};

pub(super) fn table<Q>(run: &Run<'_, Q>) -> Table {
    let mut rows = run.rows::<SignalsRow<'_>>();
    for signal in run.world.signals() {
        let flow = &run.network.flows[signal.flow as usize];
        let (link, reason) = match signal.answer {
            Answer::Refused(link, refusal) | Answer::ChangeRefused(link, refusal) => {
                (run.network.links[link].name.as_str(), reason(refusal))
            }
            _ => ("", String::new()),
        };
        rows.row(SignalsRow {
            time: signal.at.since(Time::ORIGIN).as_secs_f64(),
            flow: &flow.name,
            group: &run.network.groups[flow.group],
            answer: signal.answer.name(),
            link,
            reason: &reason,
        });
    }
    rows.finish()
}

/// Returns a refusal in a scenario's units.
fn reason(refusal: Refusal) -> String {
    match refusal {
        Refusal::TooMuch { asked, left, reservable } => {
            format!("{} asked for, {} of {} left", show_rate(asked), show_rate(left), show_rate(reservable))
        }
        Refusal::IntervalTooShort { least } => {
            format!("the average interval is shorter than a packet's time, {}", show_time(least))
        }
        Refusal::IntervalTooLong { most } => {
            format!("the average interval is longer than {}", show_time(most))
        }
        Refusal::UnderWay | Refusal::Unknown => refusal.to_string(),
    }
}
