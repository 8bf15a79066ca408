//! The file that a gate runs, and what its start changed in it.

use crate::error::GateError;
use std::path::PathBuf;
use tidegate_spec::{Change, GateFile};

/// Keys that a running gate cannot follow.
const FIXED: [&str; 7] =
    ["name", "gate.inside", "gate.outside", "gate.fail", "gate.io", "control", "metrics"];

/// A gate file, with what `--set` changes in it each time it is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) sets: Vec<(String, String)>,
}

impl Source {
    /// Reads the file as it is now.
    ///
    /// # Errors
    /// When it cannot be read or holds mistakes.
    pub(crate) fn load(&self) -> Result<GateFile, GateError> {
        Ok(GateFile::load(&self.path, &self.sets)?)
    }
}

/// What a running gate would change to follow `after`.
///
/// # Errors
/// When it could not.
pub(crate) fn changes(before: &GateFile, after: &GateFile) -> Result<Vec<Change>, GateError> {
    let changes = before.changes_to(after);
    let is_fixed = |path: &str| {
        FIXED
            .iter()
            .any(|key| path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    match changes.iter().find(|change| is_fixed(&change.path)) {
        Some(change) => Err(GateError::Fixed(change.to_string())),
        None => Ok(changes),
    }
}
