//! The link that a gate emulates: slower, longer or worse than the real one.

use crate::error::{Complaint, Place, Report};
use crate::keys::gate::{Emulate, Emulated, Gate};
use crate::section::Placed;
use crate::trace_file;
use crate::wire;
use std::path::Path;
use tidegate_core::link::{LinePlan, Pace};

/// Both directions, up first.
pub(super) struct Links {
    /// In bit/s; of a trace, its mean.
    pub(super) rates: [u64; 2],
    pub(super) emulated: [Option<LinePlan>; 2],
}

/// Reads the links; relative paths start at `base_dir`. `None` once a mistake has been reported.
pub(super) fn read(
    gate: &Placed<Gate>,
    emulate: Option<&Emulate>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Links> {
    let up = direction(&gate.up, emulate.and_then(|both| both.up.as_ref()), gate.place, base_dir, report);
    let down =
        direction(&gate.down, emulate.and_then(|both| both.down.as_ref()), gate.place, base_dir, report);
    let ((up_rate, up), (down_rate, down)) = (up?, down?);
    Some(Links { rates: [up_rate, down_rate], emulated: [up, down] })
}

/// Reads the link of one direction, whose rate the key has that is named after it.
fn direction(
    stated: &Placed<Option<u64>>,
    emulated: Option<&Emulated>,
    gate: Place,
    base_dir: &Path,
    report: &mut Report,
) -> Option<(u64, Option<LinePlan>)> {
    let name = stated.key;
    let recorded = emulated.map(|emulated| &emulated.recorded).filter(|recorded| recorded.trace.given);
    let (rate, pace) = match (**stated, recorded) {
        (Some(rate), None) => (rate, Pace::Steady),
        (None, Some(recorded)) => {
            let read = trace_file::read(recorded, base_dir, report)?;
            (read.mean, Pace::Trace(read.trace))
        }
        (Some(_), Some(recorded)) => {
            let message = format!("the link {name} has a rate and a trace");
            let help = format!("a link has one of them: leave out `gate.{name}` or `trace`");
            report.add(recorded.trace.place, Complaint::new(message).help(help));
            return None;
        }
        (None, None) => {
            let complaint = Complaint::new(format!("`gate` needs `{name}`"));
            let help =
                format!("the rate of that direction, as in {name} = \"10mbit\", unless a trace is emulated");
            report.add(gate, complaint.help(help));
            return None;
        }
    };
    let line = match emulated {
        None => None,
        Some(Emulated { delay, wire, .. }) => Some(wire::read(rate, pace, **delay, wire, report)?),
    };
    Some((rate, line))
}
