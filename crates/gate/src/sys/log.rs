//! The log: lines on standard error.

use std::io::Write;

/// Writes one line. A log that cannot be written (a full disk, a closed pipe) does not stop a gate.
pub(crate) fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
