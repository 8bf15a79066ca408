//! The files of captures: written beside their places, and put there once they are whole.

use super::{CaptureError, CaptureFile, CapturedPacket};
use crate::network::Network;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A capture to make: its links, by index, and the path of its file.
pub type Wanted = (Vec<u32>, PathBuf);

/// The error for a file of captures.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct FileError {
    path: PathBuf,
    error: CaptureError,
}

/// The files of a run's captures. Files that are not finished are removed.
#[derive(Default)]
pub struct CaptureFiles {
    open: Vec<Open>,
}

struct Open {
    path: PathBuf,
    file: CaptureFile<BufWriter<File>>,
}

impl CaptureFiles {
    /// Starts the files.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn create(network: &Arc<Network>, wanted: &[Wanted]) -> Result<CaptureFiles, FileError> {
        let mut files = CaptureFiles::default();
        for (links, path) in wanted {
            let out = File::create(part(path)).map_err(at(path))?;
            let started = CaptureFile::new(Arc::clone(network), links, BufWriter::new(out));
            let file = started.map_err(|error| {
                remove(path);
                FileError { path: path.clone(), error }
            })?;
            files.open.push(Open { path: path.clone(), file });
        }
        Ok(files)
    }

    /// Writes packets to the files of their links.
    ///
    /// # Errors
    /// When a packet is no IP packet, or a file cannot be written.
    pub fn write(&mut self, packets: &[CapturedPacket]) -> Result<(), FileError> {
        for packet in packets {
            for Open { path, file } in self.open.iter_mut().filter(|open| open.file.captures(packet.link)) {
                file.write(packet).map_err(|error| FileError { path: path.clone(), error })?;
            }
        }
        Ok(())
    }

    /// Removes the files, which are not finished.
    pub fn abandon(&mut self) {
        self.open.drain(..).for_each(|open| remove(&open.path));
    }

    /// Puts the files in their places.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn finish(&mut self) -> Result<(), FileError> {
        while let Some(Open { path, file }) = self.open.pop() {
            let put = || file.into_inner().flush().and_then(|()| fs::rename(part(&path), &path));
            if let Err(error) = put() {
                remove(&path);
                return Err(at(&path)(error));
            }
        }
        Ok(())
    }
}

impl Drop for CaptureFiles {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Returns the path of a file while it is written.
fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn remove(path: &Path) {
    // The run has failed for another reason already.
    _ = fs::remove_file(part(path));
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> FileError {
    move |error| FileError { path: path.to_owned(), error: CaptureError::File(error) }
}
