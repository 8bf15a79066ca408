//! Files that a scenario names and a run reads.

use crate::error::{Complaint, Place, Report, in_words};
use std::path::{Path, PathBuf};

/// The file's path, after making sure that it can be opened.
pub(crate) fn file(named: &Path, place: Place, base_dir: &Path, report: &mut Report) -> Option<PathBuf> {
    let path = base_dir.join(named);
    let problem = match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => "it is a folder".to_owned(),
        // Opening a pipe would block until a writer appears.
        Ok(metadata) if !metadata.is_file() => "it is a pipe or a device, no regular file".to_owned(),
        Ok(_) => match std::fs::File::open(&path) {
            Ok(_) => return Some(path),
            Err(error) => in_words(&error),
        },
        Err(error) => in_words(&error),
    };
    let complaint = Complaint::new(format!("cannot read {}: {problem}", path.display()))
        .help("a relative path starts at the scenario file's folder");
    report.add(place, complaint);
    None
}
