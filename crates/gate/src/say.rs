//! Messages for whoever watches: standard error, and never a reason to stop.

use std::io::Write;

/// One line. A log that cannot be written (a full disk, a closed pipe) does not stop a gate.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
