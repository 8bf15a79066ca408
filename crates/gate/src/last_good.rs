//! The last file that a gate ran, kept for a start at which the file itself holds mistakes: a link that was
//! shaped yesterday is shaped after a power cut, whatever was typed since.

use crate::error::GateError;
use crate::say::say;
use crate::source::Source;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tidegate_spec::GateFile;

/// Where the last good file is kept.
pub(crate) struct LastGood {
    folder: PathBuf,
}

impl LastGood {
    pub(crate) fn in_folder(folder: &Path) -> LastGood {
        LastGood { folder: folder.to_owned() }
    }

    /// The file that was kept of this source, with the source's `--set`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub(crate) fn load(&self, source: &Source) -> Result<GateFile, GateError> {
        let path = self.place(&source.path).ok_or(GateError::Silent)?;
        Source { path, sets: source.sets.clone() }.load()
    }

    /// Keeps the file that runs, and the lists and traces that it names by a relative path. What cannot be
    /// kept, on a full disk say, is told of; the gate goes on.
    pub(crate) fn keep(&self, source: &Source, file: &GateFile) {
        if let Err(error) = self.copy(source, file) {
            say(&format!(
                "{}: warning: {} is not kept in {}: {error}",
                file.name,
                source.path.display(),
                self.folder.display()
            ));
        }
    }

    fn copy(&self, source: &Source, file: &GateFile) -> io::Result<()> {
        let beside = source.path.parent().unwrap_or(Path::new(""));
        for other in file.files().iter().map(Path::new).filter(|other| other.is_relative()) {
            let to = self.folder.join(other);
            replace(&beside.join(other), &to)?;
        }
        // Last, so that what it names is there.
        match self.place(&source.path) {
            Some(place) => replace(&source.path, &place),
            None => Err(io::ErrorKind::InvalidFilename.into()),
        }
    }

    fn place(&self, path: &Path) -> Option<PathBuf> {
        Some(self.folder.join(path.file_name()?))
    }
}

/// Puts a copy in place at once: whoever reads it finds the old one or the new one, whole.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".new");
    let draft = PathBuf::from(name);
    fs::copy(from, &draft).and_then(|_| fs::rename(&draft, to)).inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}
