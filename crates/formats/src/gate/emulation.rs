//! The link that a gate emulates: slower, longer or worse than the real one.

use crate::error::{Complaint, Report};
use crate::reordering;
use crate::trace_file;
use crate::values::Values;
use std::path::Path;
use std::sync::Arc;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::link::{Loss, Reordering, Trace};
use tidegate_core::units::Span;

/// The properties of the link of one direction besides its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Emulation {
    /// Delivery opportunities, in place of a rate; `None` for always.
    pub trace: Option<Arc<Trace>>,
    /// Time from a frame's last bit out of the port to its end of the link.
    pub delay: Span,
    /// Its loss.
    pub loss: Loss,
    /// Its reordering.
    pub reordering: Reordering,
}

/// Both directions, up first.
pub(super) struct Links {
    /// In bit/s; of a trace, its mean.
    pub(super) rates: [u64; 2],
    pub(super) emulated: [Option<Emulation>; 2],
}

/// Reads the links; relative paths start at `base_dir`. `None` once a mistake has been reported.
pub(super) fn read(
    gate: &Values,
    emulate: Option<&Values>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Links> {
    let [up, down] = Direction::BOTH.map(|direction| {
        let name = direction.name();
        let emulated = emulate.and_then(|emulate| emulate.table(name));
        let traced = emulated.is_some_and(|emulated| emulated.given("trace"));
        let (rate, trace) = match (gate.rate(name), emulated.filter(|_| traced)) {
            (Some(rate), None) => (rate, None),
            (None, Some(emulated)) => {
                let read = trace_file::read(emulated, "trace", base_dir, report)?;
                (read.mean, Some(read.trace))
            }
            (Some(_), Some(emulated)) => {
                let message = format!("the link {name} has a rate and a trace");
                let help = format!("a link has one of them: leave out `gate.{name}` or `trace`");
                report.add(emulated.place_of("trace"), Complaint::new(message).help(help));
                return None;
            }
            (None, None) => {
                let complaint = Complaint::new(format!("`gate` needs `{name}`"));
                let help = format!(
                    "the rate of that direction, as in {name} = \"10mbit\", unless a trace is emulated"
                );
                report.add(gate.place, complaint.help(help));
                return None;
            }
        };
        let emulation = match emulated {
            None => None,
            Some(emulated) => Some(Emulation {
                trace,
                delay: emulated.time("delay")?,
                loss: Loss::new(emulated.number("loss")?).ok()?,
                reordering: reordering::read(emulated, report)?,
            }),
        };
        Some((rate, emulation))
    });
    let ((up_rate, up), (down_rate, down)) = (up?, down?);
    Some(Links { rates: [up_rate, down_rate], emulated: [up, down] })
}
