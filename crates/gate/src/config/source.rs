//! Where a gate's file comes from, and which of its changes a running gate can follow.

use crate::error::GateError;
use std::path::PathBuf;
use tidegate_spec::{Change, GateFile};

/// Keys that take a restart.
const RESTART_KEYS: [&str; 8] =
    ["name", "gate.inside", "gate.outside", "gate.addressed", "gate.fail", "gate.io", "control", "metrics"];

/// A gate file, and the values that `--set` changes each time it is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its path, or what stands for it in messages.
    pub(crate) path: PathBuf,
    /// Its text, where there is no file.
    pub(crate) text: Option<String>,
    /// Keys and values in the order of the command line.
    pub(crate) overrides: Vec<(String, String)>,
}

impl Source {
    /// Reads the file as it is now; a text stays what it is.
    ///
    /// # Errors
    /// When it cannot be read or holds mistakes.
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
/// When one of them takes a restart.
pub(crate) fn changes(before: &GateFile, after: &GateFile) -> Result<Vec<Change>, GateError> {
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
