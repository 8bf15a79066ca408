//! Input and output of a gate's frames.

use super::Fail;
use crate::error::{Complaint, Report};
use crate::keys::gate::Gate;
pub use crate::keys::gate::Io;

/// Checks that traffic can pass without the gate where it is to do so.
pub(super) fn check(gate: &Gate, report: &mut Report) {
    if *gate.io == Io::Tap && *gate.fail == Fail::Open {
        let complaint =
            Complaint::new("a TAP device disappears with its gate, so no traffic can pass without one")
                .help("write fail = \"closed\" beside it");
        report.add(gate.io.place, complaint);
    }
}
