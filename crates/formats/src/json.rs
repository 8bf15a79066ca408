//! Mistakes in JSON that other programs wrote.

use crate::error::{Complaint, FormatError, Origin, Place};

/// The mistake that serde found in the text of `origin`, at its place.
pub(crate) fn mistake(origin: &Origin, text: &str, error: &serde_json::Error, help: &str) -> FormatError {
    let message = error.to_string();
    let at = format!(" at line {} column {}", error.line(), error.column());
    let complaint = Complaint::new(message.strip_suffix(&at).unwrap_or(&message)).help(help);
    origin.error(place(text, error.line(), error.column()), complaint)
}

/// The place of the column of a line, both from 1.
fn place(text: &str, line: usize, column: usize) -> Place {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = u32::try_from(start + column.saturating_sub(1)).unwrap_or(u32::MAX);
    Place::Text { start: at, end: at.saturating_add(1) }
}
