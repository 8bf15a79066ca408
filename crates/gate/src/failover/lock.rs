//! Interface locks: only one gate at a time uses an interface.

use crate::sys::run_folder::{LOCK, Naming, own_folder};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions, metadata, remove_file};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// A locked interface. The lock file is in the gates' folder, where no other user can make or open
/// one. The lock is released however the process ends. The file is removed with it, or after a gate
/// that was killed by the next one that starts.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks the interface with this index, which is unique in a network namespace.
    ///
    /// # Errors
    /// `WouldBlock` when another gate holds the lock; otherwise a system error.
    pub(super) fn take(interface: u32) -> io::Result<Lock> {
        let _naming = Naming::take()?;
        let namespace = metadata("/proc/self/ns/net")?.ino();
        let path = own_folder().join(format!("{namespace}-{interface}.{LOCK}"));
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            let lock = Lock { file, path: path.clone() };
            // A gate that ends may have removed the file between its opening and its locking.
            if lock.is_there() {
                return Ok(lock);
            }
        }
    }

    /// Returns true if the file at the path is the one that is locked.
    fn is_there(&self) -> bool {
        let number = |file: std::fs::Metadata| (file.dev(), file.ino());
        let own = self.file.metadata().map(number);
        own.is_ok_and(|own| metadata(&self.path).is_ok_and(|there| number(there) == own))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // It is still locked here.
        if self.is_there() {
            let _ = remove_file(&self.path);
        }
    }
}
