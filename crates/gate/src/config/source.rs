//! The source of a gate's file, and the changes that a running gate can follow.

use crate::error::GateError;
use std::path::PathBuf;
use tidegate_formats::{GateFile, KeyChange};

/// Keys whose change requires a restart.
const RESTART_KEYS: [&str; 8] =
    ["name", "gate.inside", "gate.outside", "gate.addressed", "gate.fail", "gate.io", "control", "metrics"];

/// A gate file, and the values that `--set` changes each time it is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The file's path, or a name that stands for it in messages.
    pub(crate) path: PathBuf,
    /// The text, if there is no file.
    pub(crate) text: Option<String>,
    /// Keys and values in the order of the command line.
    pub(crate) overrides: Vec<(String, String)>,
}

impl Source {
    /// Parses the current content of the file, or `text`.
    ///
    /// # Errors
    /// When the file cannot be read or has errors.
    pub(crate) fn load(&self) -> Result<GateFile, GateError> {
        Ok(match &self.text {
            Some(text) => GateFile::parse(text, &self.path.display().to_string(), &self.overrides)?,
            None => GateFile::load(&self.path, &self.overrides)?,
        })
    }
}

/// The changes between two files.
///
/// # Errors
/// When one of them requires a restart.
pub(crate) fn changes(before: &GateFile, after: &GateFile) -> Result<Vec<KeyChange>, GateError> {
    let changes = before.changes_to(after);
    let takes_restart = |path: &str| {
        RESTART_KEYS
            .iter()
            .any(|key| path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    match changes.iter().find(|change| takes_restart(&change.path)) {
        Some(change) => Err(GateError::TakesRestart(change.to_string())),
        None => Ok(changes),
    }
}
