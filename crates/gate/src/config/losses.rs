//! Differences from LibreQoS's files that a gate file accepts, as lines of text.

use tidegate_formats::{FormatError, GateFile};

/// A line for each, the first in the file first, and one for those beyond the limit.
pub(crate) fn warnings(file: &GateFile) -> Vec<String> {
    file.shown_losses().iter().map(line).collect()
}

fn line(loss: &FormatError) -> String {
    let FormatError { file, line, column, message, help, .. } = loss;
    let place = if *line > 0 { format!("{file}:{line}:{column}") } else { file.clone() };
    let help = help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
    format!("{place}: {message}{help}")
}
