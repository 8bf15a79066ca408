//! Where a gate's file comes from, and which of its changes a running gate can follow.

use crate::error::GateError;
use std::path::PathBuf;
use tidegate_spec::{Change, GateFile};

/// Keys that take a restart.
const RESTART_KEYS: [&str; 7] =
    ["name", "gate.inside", "gate.outside", "gate.fail", "gate.io", "control", "metrics"];

/// The path of a gate file, and the values that `--set` changes each time it is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// Keys and values in the order of the command line.
    pub(crate) overrides: Vec<(String, String)>,
}

impl Source {
    /// Reads the file as it is now.
    ///
    /// # Errors
    /// When it cannot be read or holds mistakes.
    pub(crate) fn load(&self) -> Result<GateFile, GateError> {
        Ok(GateFile::load(&self.path, &self.overrides)?)
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
