//! The source of a gate's file, and the changes that a running gate can follow.

use crate::error::GateError;
use crate::sys::memory::is_there;
use std::path::{Path, PathBuf};
use tidegate_formats::{GateFile, KeyChange};

/// Keys whose change requires a restart.
const RESTART_KEYS: [&str; 8] =
    ["name", "gate.inside", "gate.outside", "gate.addressed", "gate.fail", "gate.io", "control", "metrics"];

/// Memory in bytes for reading any file.
const ROOM: usize = 8 << 20;
/// Memory in bytes for each byte of a file while it is read: short lines of a list take the most.
const PER_BYTE: usize = 48;
/// Length in bytes above which no file is read.
const MAX_FILE: u64 = 64 << 20;

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
    /// When the file cannot be read or has errors, or there is too little memory to read it.
    pub(crate) fn load(&self) -> Result<GateFile, GateError> {
        let needed = self.memory();
        if !is_there(needed) {
            return Err(GateError::Memory { file: self.path.clone(), needed });
        }
        Ok(match &self.text {
            Some(text) => GateFile::parse(text, &self.path.display().to_string(), &self.overrides)?,
            None => GateFile::load(&self.path, &self.overrides)?,
        })
    }

    /// Memory in bytes that reading takes at the most, by the sizes of the file and of those that it
    /// names. Files that cannot be read are the reader's to refuse.
    fn memory(&self) -> usize {
        let length =
            |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len().min(MAX_FILE)) as usize;
        let own = length(&self.path);
        let text = match &self.text {
            None if own < MAX_FILE as usize => std::fs::read_to_string(&self.path).unwrap_or_default(),
            _ => String::new(),
        };
        let beside = self.path.parent().unwrap_or(Path::new(""));
        let named: usize = GateFile::files_of(&text).iter().map(|file| length(&beside.join(file))).sum();
        ROOM + PER_BYTE * (own + named)
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
