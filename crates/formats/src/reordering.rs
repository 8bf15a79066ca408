//! The reordering of a link, of a scenario or of a gate that emulates one.

use crate::error::{Complaint, Report};
use crate::keys::network as keys;
use tidegate_core::link::Reordering;
use tidegate_core::units::Span;

/// Reads `reorder` and `reorder_delay`; `None` once a mistake has been reported.
pub(crate) fn read(keys: &keys::Reordering, report: &mut Report) -> Option<Reordering> {
    let keys::Reordering { reorder, reorder_delay } = keys;
    let (probability, longer) = (**reorder, **reorder_delay);
    if probability > 0.0 && longer.is_none_or(|longer| longer == Span::ZERO) {
        let complaint = Complaint::new("`reorder` needs a `reorder_delay` above zero");
        report.add(
            reorder.place,
            complaint.help("add the extra delay of an overtaken packet, as in reorder_delay = \"5ms\""),
        );
        return None;
    }
    if probability == 0.0 && reorder_delay.given {
        let complaint = Complaint::new("`reorder_delay` without `reorder`: no packet is delayed");
        report.add(reorder_delay.place, complaint);
        return None;
    }
    Reordering::new(probability, longer.unwrap_or(Span::ZERO)).ok()
}
