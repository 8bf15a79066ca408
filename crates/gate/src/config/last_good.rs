//! Last good file: a copy of the file that a gate ran last. A gate can start with the copy when the
//! file itself has errors, so that a power cut after a bad edit does not leave the link unshaped.

use crate::config::source::Source;
use crate::sys::log::log;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tidegate_formats::GateFile;

/// The folder of the last good files.
pub(crate) struct LastGood {
    folder: PathBuf,
}

impl LastGood {
    pub(crate) fn in_folder(folder: &Path) -> LastGood {
        LastGood { folder: folder.to_owned() }
    }

    /// The copy of a source's file, with the source's overrides; `None` when no copy can be read.
    pub(crate) fn load(&self, source: &Source) -> Option<GateFile> {
        let path = self.path_of(&source.path)?;
        Source { path, text: None, overrides: source.overrides.clone() }.load().ok()
    }

    /// Copies the running file, and the lists and traces that it names by a relative path. A
    /// failure (such as a full disk) is logged.
    pub(crate) fn keep(&self, source: &Source, file: &GateFile) {
        if let Err(error) = self.copy(source, file) {
            log(&format!(
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
        // The gate file comes last, after the files that it names.
        match self.path_of(&source.path) {
            Some(copy) => replace(&source.path, &copy),
            None => Err(io::ErrorKind::InvalidFilename.into()),
        }
    }

    fn path_of(&self, path: &Path) -> Option<PathBuf> {
        Some(self.folder.join(path.file_name()?))
    }
}

/// Replaces a file with a copy in one step: a reader finds the old file or the new one, whole.
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
