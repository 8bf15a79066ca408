//! Interface locks: only one gate at a time uses an interface.

use crate::sys::run_folder::{self, own_folder};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// A locked interface. The lock file is in the gates' folder, where no other user can make or open
/// one. The lock is released however the process ends. The file stays: if it were removed, two
/// gates could each hold a lock.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the interface with this index, which is unique in a network namespace.
    ///
    /// # Errors
    /// `WouldBlock` when another gate holds the lock; otherwise a system error.
    pub(super) fn take(interface: u32) -> io::Result<Lock> {
        run_folder::make()?;
        let namespace = std::fs::metadata("/proc/self/ns/net")?.ino();
        let path = own_folder().join(format!("{namespace}-{interface}.lock"));
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Lock { _file: file })
    }
}
